// A sub-agent goes on below the call that began it: from its own conversation, with its own calls, as its turn does.
#include <atomic>
#include <mutex>
#include <utility>

#include "actors/turns/adopted_work.hpp"
#include "actors/turns/endings.hpp"
#include "actors/turns/guarded_step.hpp"
#include "actors/turns/left_work.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/start_agent.hpp"
#include "actors/turns/sub_agent.hpp"
#include "actors/turns/sub_agent_place.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/end_local.hpp"

namespace quell::controller::turns {

namespace {

/// The call's result for a sub-agent that had ended before its call did.
actors::work_end end_of_row(const agent_runtime& runtime, const records::operation_record& row) {
  const auto used = usage_of(row.hot.result);
  if (row.hot.now == status::completed) return {true, ok_result(row.hot.result), false, used};
  if (row.hot.now == status::cancelled) return {false, runtime.texts->cancelled(), true, used};
  const auto why = row.hot.error.value_or(records::own_error(failure_code::error, "it was stopped"));
  return {false, runtime.texts->failed(why.code, why.message), false, used};
}

/// One sub-agent on its way back. Its steps follow each other on the threads of reads, the MCP host and the core, so
/// that it comes back, or ends, even if its call's actor dies; the call's end alone is a step of that actor.
class returning : public std::enable_shared_from_this<returning> {
 public:
  returning(std::shared_ptr<agent_runtime> runtime, std::shared_ptr<turn_port> above, const operation_id& call,
            agent_settings settings, records::operation_record row)
      : runtime_(std::move(runtime)), above_(std::move(above)), call_(call), settings_(std::move(settings)),
        row_(std::move(row)),
        // If the configured width is smaller now, it goes on all the same.
        place_(above_, above_->take_place()) {}

  /// Until it has its agent, a stop finds it through the registry, also if its call's actor dies before it has begun:
  /// then nobody else knows it.
  void enter() {
    if (!is_terminal(row_.hot.now))
      runtime_->registry.add_agent(row_.id, std::make_shared<early_stop>(shared_from_this()));
  }

  /// `tell` gets its end, on any thread; the first one stands.
  void start(std::function<void(actors::work_end)> tell) {
    if (is_given_up_) return tell(cancelled());
    {
      const std::lock_guard lock(guard_);
      if (!is_over_) std::swap(tell_, tell);
    }
    if (tell) return tell(cancelled()); // an early stop has ended it meanwhile
    if (is_terminal(row_.hot.now)) return finish(end_of_row(*runtime_, row_));
    runtime_->background_reads->run([self = shared_from_this()](store_reader& store) { self->read(store); });
  }

  /// The registry knows who runs it now. Before the start of the call nobody does, and it is ended all the same.
  void stop(const std::string& reason) {
    if (const auto runs = runtime_->registry.agent(row_.id)) return runs->stop(actors::abort_reason::parent, reason);
    if (!is_over_) give_up(reason);
  }

 private:
  /// A stop that comes before it has its agent: nobody else would end it and its calls, because its tools can be long
  /// in coming.
  class early_stop final : public actors::agent_handle {
   public:
    explicit early_stop(std::shared_ptr<returning> it) : it_(std::move(it)) {}
    void stop(actors::abort_reason, const std::string& reason) override { it_->give_up(reason); }
    void stop_call(const operation_id&, const std::string&) override {}
    void decide(const operation_id&, approval_outcome, const std::string&, const std::optional<std::string>&) override {
    }
    void waits(const operation_id&, actors::human_wait) override {}
    void die() override {}

   private:
    const std::shared_ptr<returning> it_; ///< the registry forgets it with the end of the operation
  };

  void read(store_reader& store) {
    auto kept = read_aside(store, row_);
    if (!kept) return fail(kept.error());
    // It reads what its stopped commands had printed, and which outcomes are unknown, as before the restart.
    auto facts = facts_of(*kept, row_.id, store);
    if (runtime_->output) find_printed(facts, *kept, store, *runtime_->output);
    auto reported = history_for(*kept, row_.id, facts);
    auto left = read_left_work(store, row_, reported);
    if (!left) return fail(left.error());
    const auto model = model_of(*runtime_->settings.get(), settings_);
    if (!model)
      return fail(failure_of(failure_code::unknown_model, "there is no model " + settings_.model + " configured"));
    auto who = std::make_shared<agent_context>(context_below(above_->who(), row_.id, settings_, *model));
    who->scope = row_.scope;
    who->owner = row_.owner;
    find_tools(runtime_, settings_, {row_.id, call_, who->owner},
               [self = shared_from_this(), who, reported = std::move(reported),
                left = std::move(*left)](tool_set tools) mutable {
                 run_guarded(
                     "the return of sub-agent " + self->row_.id.text(),
                     [&] {
                       who->agent.instructions += tools.notice;
                       who->tools = std::move(tools);
                       self->launch(who, std::move(reported), left);
                     },
                     [&] {
                       self->runtime_->mcp->user_over(self->row_.id);
                       self->fail(failure_of(failure_code::interrupted, "its return broke down"));
                     });
               });
  }

  void launch(const std::shared_ptr<agent_context>& who, model_history reported, const left_work& left) {
    auto plan = plan_resume(reported, left, who->tools, runtime_->core.now());
    auto stated = turn_resumed(resumed_from(reported));
    auto step = resuming(row_.id, reported, plan, agent_runtime::event_of(*who, stated.type, std::move(stated.data)));
    const auto refused = [self = shared_from_this()](const commands::turn_begun& begun) {
      if (begun.may_run) return;
      self->runtime_->mcp->user_over(self->row_.id);
      self->runtime_->registry.drop(self->row_.id);
      self->finish(self->cancelled());
    };
    // Starts at once, like a turn: a stop must find it.
    auto begins = [self = shared_from_this(), who, reported = std::move(reported),
                   plan = std::move(plan)](const commands::turn_begun& begun) mutable {
      if (!begun.may_run) return;
      who->began = begun.began;
      actors::agent_start start;
      start.so_far = std::move(reported.messages);
      start.resumes = true;
      start.known = std::move(reported.known);
      start.calls = std::move(reported.calls);
      start.past = std::move(reported.past);
      const auto over = [self](actors::agent_exit how, const std::shared_ptr<turn_port>& port) {
        self->finish(end_of_sub_agent(self->runtime_, how, *port));
      };
      kept_context context(std::move(reported.begins), std::move(reported.summary), std::move(reported.people));
      auto running = start_agent(self->runtime_, *who, std::move(start), over, std::move(context), std::move(plan));
      for (const auto& call : begun.stopped) running.handle->stop_call(call, {});
    };
    runtime_->core.execute({std::move(step), refused, std::move(begins)});
  }

  actors::work_end cancelled() const { return {false, runtime_->texts->cancelled(), true}; }

  void give_up(const std::string& reason) {
    give_up(cancelled(), {status::failed, records::own_error(failure_code::error, "it was stopped")}, reason);
  }
  void fail(const fault& why) {
    give_up({false, runtime_->texts->failed(why.code, why.detail)},
            {status::failed, records::operation_error{why.code, why.detail}}, {});
  }

  /// It ends with everything below it before it has an agent. If the agent has begun meanwhile, it is stopped.
  void give_up(actors::work_end how, own_outcome end, const std::string& reason) {
    if (is_given_up_.exchange(true)) return;
    using reach = commands::end_local::reach;
    runtime_->core.execute({commands::end_local{row_.id, std::move(end), reach::with_all_below},
                            [self = shared_from_this(), how = std::move(how), reason](bool) {
                              if (const auto runs = self->runtime_->registry.agent(self->row_.id))
                                runs->stop(actors::abort_reason::parent, reason);
                              self->finish(how);
                            }});
  }

  void finish(actors::work_end how) {
    std::function<void(actors::work_end)> tell;
    {
      const std::lock_guard lock(guard_);
      if (is_over_.exchange(true)) return;
      std::swap(tell_, tell);
    }
    place_.give_back();
    above_->add_usage_below(how.used);
    if (tell) tell(std::move(how));
  }

  const std::shared_ptr<agent_runtime> runtime_;
  const std::shared_ptr<turn_port> above_;
  const operation_id call_;
  const agent_settings settings_;
  const records::operation_record row_;
  sub_agent_place place_;
  std::mutex guard_;                           ///< of `tell_`: an early stop ends it on the core's thread
  std::function<void(actors::work_end)> tell_; ///< empty: not started, or told
  std::atomic<bool> is_given_up_{false}, is_over_{false};
};

class adopted_sub_agent final : public actors::tool_work {
 public:
  explicit adopted_sub_agent(std::shared_ptr<returning> it) : it_(std::move(it)) {}
  void start(actors::step_poster, std::function<void(actors::work_end)> done) override { it_->start(std::move(done)); }
  void stop(const std::string& reason) override { it_->stop(reason); }

 private:
  std::shared_ptr<returning> it_;
};

} // namespace

std::unique_ptr<actors::tool_work> adopt_sub_agent(std::shared_ptr<agent_runtime> runtime,
                                                   std::shared_ptr<turn_port> above, const operation_id& call,
                                                   const tool_call& what, const records::operation_record& sub_agent) {
  const auto request = read_sub_agent_request(what.input);
  auto settings = request ? sub_agent_settings(*runtime->settings.get(), above->who().agent, *request)
                          : result<agent_settings>(tl::unexpected(request.error()));
  // An agent that the configuration lacks now runs nothing; the sub-agent ends as soon as it is asked to go on.
  if (!settings) {
    settings = agent_settings{};
    settings->name = sub_agent.name;
  }
  auto it = std::make_shared<returning>(std::move(runtime), std::move(above), call, std::move(*settings), sub_agent);
  it->enter();
  return std::make_unique<adopted_sub_agent>(std::move(it));
}

} // namespace quell::controller::turns
