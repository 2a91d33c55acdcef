// A sub-agent below a call: an operation, a conversation and an actor of its own; or a command with the same duties. A
// stop of the call reaches it directly and at once.
#include <utility>

#include "actors/turns/project_reading.hpp"
#include "actors/turns/start_agent.hpp"
#include "actors/turns/sub_agent.hpp"
#include "actors/turns/sub_agent_place.hpp"
#include "actors/turns/task_work.hpp"
#include "actors/turns/turn_port.hpp"
#include "actors/turns/turn_workspaces.hpp"

namespace quell::controller::turns {

namespace {

class sub_agent_work final : public actors::tool_work {
 public:
  sub_agent_work(std::shared_ptr<agent_runtime> runtime, std::shared_ptr<turn_port> above, const operation_id& call,
                 agent_settings settings, std::string task)
      : runtime_(std::move(runtime)), above_(std::move(above)), call_(call), settings_(std::move(settings)),
        task_(std::move(task)) {}

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    if (!above_->take_place())
      return done({false, runtime_->texts->failed(
                              failure_code::too_many_sub_agents,
                              "as many sub-agents run as may at once (" +
                                  std::to_string(above_->who().agent.budget.width) + ", of the whole turn " +
                                  std::to_string(above_->who().tree->width()) + "); wait for one to end")});
    const auto place = std::make_shared<sub_agent_place>(above_);
    auto finished = [above = above_, place, done = std::move(done)](actors::work_end how) {
      place->give_back();
      above->add_usage_below(how.used);
      done(std::move(how));
    };
    if (settings_.is_command())
      run_command(std::move(post), std::move(finished));
    else
      run_agent(std::move(post), std::move(finished));
  }

  void stop(const std::string& reason) override {
    is_stopped_ = true;
    reason_ = reason;
    if (agent_) agent_->stop(actors::abort_reason::parent, reason);
  }

 private:
  void run_command(actors::step_poster post, std::function<void(actors::work_end)> done) {
    auto request = task_for_command(settings_, task_);
    if (!request) return done({false, runtime_->texts->failed(request.error().code, request.error().detail)});
    request->follows = predecessor{above_->who().scope, above_->who().root, call_};
    request->writes_into = project_key(settings_, above_->who().scope);
    if (above_->who().workspaces) request->workspace = above_->who().workspaces->placer(settings_);
    create_order order;
    order.by = agent_runtime::acting_for(above_->who().owner);
    order.parent = call_;
    order.name = settings_.name;
    order.title = "sub-agent " + settings_.name;
    auto run = std::make_shared<task_run>(runtime_, std::move(*request), std::move(post));
    run->start(std::move(order), [done = std::move(done), settings = settings_, texts = runtime_->texts](
                                     const task_end& end) { done(end_of_command(end, settings, *texts)); });
  }

  void run_agent(actors::step_poster post, std::function<void(actors::work_end)> done) {
    start_sub_agent(
        runtime_, above_->who(), call_, settings_, task_,
        [this, post = std::move(post)](const std::shared_ptr<actors::agent_handle>& agent) {
          post([this, agent] { runs(agent); });
        },
        std::move(done));
  }

  void runs(const std::shared_ptr<actors::agent_handle>& agent) {
    agent_ = agent;
    if (is_stopped_) agent_->stop(actors::abort_reason::parent, reason_); // stopped while it was starting
  }

  std::shared_ptr<agent_runtime> runtime_;
  std::shared_ptr<turn_port> above_;
  operation_id call_;
  agent_settings settings_;
  std::string task_;
  std::shared_ptr<actors::agent_handle> agent_; ///< nullptr: none is known to run
  bool is_stopped_ = false;
  std::string reason_;
};

} // namespace

actors::work_end end_of_command(const task_end& end, const agent_settings& settings, const json_result_texts& texts) {
  if (!end.refused && end.how.as == status::cancelled) return {false, texts.cancelled(), true};
  if (!end.how.exit) {
    const auto& why = end.refused ? end.refused->detail : end.how.error ? end.how.error->message : "it was stopped";
    return {false, texts.failed(failure_code::error, why)};
  }
  if (end.how.error && has_code(*end.how.error, failure_code::start_failed))
    return {false, texts.failed(failure_code::start_failed,
                                "agent " + settings.name + " cannot be started: " + end.how.error->message)};
  auto outcome = command_outcome_of(settings, *end.how.exit, end.out, end.err, end.dropped_bytes);
  return {outcome.ok, std::move(outcome.result)};
}

std::unique_ptr<actors::tool_work> make_sub_agent_work(std::shared_ptr<agent_runtime> runtime,
                                                       std::shared_ptr<turn_port> above, const operation_id& call,
                                                       const tool_call& what) {
  const auto refused = [&](const fault& why) {
    return make_answer({false, runtime->texts->failed(why.code, why.detail)});
  };
  const auto request = read_sub_agent_request(what.input);
  if (!request) return refused(request.error());
  auto settings = sub_agent_settings(*runtime->settings.get(), above->who().agent, *request);
  if (!settings) return refused(settings.error());
  if (settings->acp) return make_acp_work(std::move(runtime), std::move(above), call, *settings, request->task);
  return std::make_unique<sub_agent_work>(std::move(runtime), std::move(above), call, std::move(*settings),
                                          request->task);
}

} // namespace quell::controller::turns
