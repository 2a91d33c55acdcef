// An agent port's output: events for watchers, questions to humans, the end.
#include <algorithm>

#include "actors/turns/approval.hpp"
#include "actors/turns/ask_user.hpp"
#include "actors/turns/decisions.hpp"
#include "actors/turns/given_up_attempt.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/turn_port.hpp"
#include "controller/commands/ask_question.hpp"
#include "controller/commands/await_approval.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/end_local.hpp"
#include "controller/commands/note_call_outcome.hpp"
#include "controller/commands/publish_event.hpp"
#include "controller/commands/take_back_question.hpp"

namespace quell::controller::turns {

void turn_port::ask_human(const operation_id& call, const tool_call& what, const std::string& rule) {
  runtime_->core.execute({commands::await_approval{call, event_about(call, approval_required(call, what, rule))}, {}});
  const auto settings = runtime_->settings.get();
  for (const auto& one : settings->approvals)
    if (rule_text(one) == rule && one.timeout.count() > 0) return expire_approval(call, one.timeout);
}

/// A restart does not extend the wait: it counts from the event that asked. A decision that came first stands.
void turn_port::expire_approval(const operation_id& call, milliseconds wait) {
  runtime_->background_reads->run([runtime = runtime_, call, wait](store_reader& store) {
    records::event_filter f;
    f.below = call;
    f.types = {event_type::approval_required};
    f.limit = 1;
    const auto required = store.events(f);
    const auto now = runtime->core.now().wall;
    const auto since = required && !required->empty() ? required->front().at : now;
    const auto left = std::max(since + wait - now, milliseconds{0});
    runtime->background_reads->run_after(left, [runtime, call, wait](store_reader&) {
      decision late;
      late.outcome = approval_outcome::undecided;
      late.reason = undecided_reason(wait);
      late.by = {"quell", "quell"};
      decide_call(runtime, call, std::move(late), [](const outcome<operation_id>&) {});
    });
  });
}

void turn_port::ask_question(const operation_id& call, const tool_call& what, const shown_question& question,
                             std::function<void()> refused) {
  const auto waits = [runtime = runtime_, call, refused = std::move(refused)](bool is_requested) {
    if (!is_requested && refused) refused();
    if (!is_requested) return;
    if (const auto agent = runtime->registry.agent_of_call(call)) agent->waits(call, actors::human_wait::begins);
  };
  runtime_->core.execute({commands::ask_question{call,
                                                 {question.id, question_text(question), question.who},
                                                 event_about(call, question_event(call, what, question))},
                          waits});
}

void turn_port::read_end(const operation_id& call, std::function<void(const std::optional<std::string>& result)> done) {
  runtime_->background_reads->run([call, done = std::move(done)](store_reader& store) {
    const auto row = store.operation(call);
    const bool has_answer = row && *row && (*row)->hot.now == status::completed;
    done(has_answer ? std::optional((*row)->hot.result) : std::nullopt);
  });
}

void turn_port::take_question_back(const operation_id& call, const operation_id& question, std::function<void()> done) {
  runtime_->core.execute(
      {commands::take_back_question{call, question}, [runtime = runtime_, call, done = std::move(done)](bool was_open) {
         if (!was_open) return;
         if (const auto agent = runtime->registry.agent_of_call(call)) agent->waits(call, actors::human_wait::ends);
         done();
       }});
}

std::unique_ptr<actors::tool_work> turn_port::work_for(const operation_id& call, const tool_call& what,
                                                       const actors::turn& so_far) {
  const auto* tool = who_.tools.find(what.name);
  if (!tool)
    return make_answer({false, runtime_->texts->failed(failure_code::unknown_tool, "there is no tool " + what.name)});
  if (auto adopted = adopted_work_for(call, what, *tool)) return adopted;
  switch (tool->how) {
  case tool_definition::runs::task:
    return make_task_work(runtime_, who_, call, *tool, what, files_);
  case tool_definition::runs::sub_agent:
    return make_sub_agent_work(runtime_, shared_from_this(), call, what);
  case tool_definition::runs::session_status:
    return make_answer({true, ok_result(session_status(so_far, facts(), runtime_->core.now().boot))});
  case tool_definition::runs::background:
    return make_background_tool(runtime_, who_, call, *tool, what);
  case tool_definition::runs::web_search:
    return make_web_search_work(runtime_, *tool, what);
  case tool_definition::runs::question:
    return make_ask_user_work(shared_from_this(), call, *tool, what);
  case tool_definition::runs::mcp:
    return runtime_->mcp->work_for(shared_from_this(), call, *tool, what);
  }
  return make_answer({false, runtime_->texts->failed(failure_code::unknown_tool, "there is no tool " + what.name)});
}

session_facts turn_port::facts() const {
  const auto now = runtime_->core.now();
  const std::lock_guard lock(guard_);
  const auto& tree = *who_.tree;
  return {std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(now.boot - who_.began)),
          who_.agent.budget,
          sub_agents_,
          tree.limits(),
          tree.cost(),
          tree.sub_agents(),
          tree.width()};
}

std::string turn_port::failed_text(const std::string& code, const std::string& message) const {
  return runtime_->texts->failed(code, message);
}

void turn_port::say_progress(const operation_id& call, const tool_call& what, const std::string& message,
                             double progress, std::optional<double> total) {
  const auto now = runtime_->core.now().boot;
  milliseconds elapsed{0};
  {
    const std::lock_guard lock(guard_);
    for (const auto& begun : begun_)
      if (begun.call == call) elapsed = std::chrono::duration_cast<milliseconds>(now - begun.at);
    if (now < progress_not_before_) return; // a server can send progress as often as it likes
    progress_not_before_ = now + std::chrono::milliseconds{100};
  }
  publish(call_progress(what, elapsed, message, progress, total), {});
}

void turn_port::keep_remote_task(const operation_id& call, const tool_call& what, const std::string& task) {
  runtime_->core.execute({commands::publish_event{event_about(call, call_named(what, task))}, {}});
}

/// The late outcome can arrive before the end that it is kept beside, so this waits for that end.
void turn_port::record_late(const operation_id& call, const std::string& late, int tries) {
  runtime_->core.execute(
      {commands::note_call_outcome{call, R"({"server":")" + late + R"("})",
                                   tries == 0 ? commands::noted_call::any : commands::noted_call::ended},
       [self = shared_from_this(), call, late, tries](bool is_kept) {
         if (is_kept) return;
         self->later(std::chrono::milliseconds{100},
                     [self, call, late, tries] { self->record_late(call, late, tries - 1); });
       }});
}

void turn_port::later(std::chrono::milliseconds wait, std::function<void()> what) {
  runtime_->background_reads->run_after(wait, [what = std::move(what)](store_reader&) { what(); });
}

/// With the newest of what its command printed, which is read first.
void turn_port::say_running(const operation_id& call, const tool_call& what, milliseconds elapsed) {
  const auto tell = [self = shared_from_this(), call](const event_text& news_text) {
    // Under the lock, so that it comes before whatever the end of the call says.
    const std::lock_guard lock(self->guard_);
    const auto is_it = [&](const begun_call& begun) { return begun.call == call; };
    if (std::any_of(self->begun_.begin(), self->begun_.end(), is_it)) self->publish(news_text, {});
  };
  if (what.name != "exec" || !runtime_->output) return tell(call_running(what, elapsed, std::nullopt));
  runtime_->background_reads->run([self = shared_from_this(), call, what, elapsed, tell](store_reader& store) {
    tell(call_running(what, elapsed, printing_of(call, store, *self->runtime_->output)));
  });
}

void turn_port::say(const operation_id& call, const tool_call& what, const actors::agent_news& original) {
  if (const auto* progress = std::get_if<actors::turn_effects::say_call_progress>(&original))
    return say_running(call, what, progress->elapsed);
  auto news = original;
  if (auto* result = std::get_if<actors::turn_effects::say_result>(&news)) take_printed(result->what);
  {
    const std::lock_guard lock(guard_);
    if (std::holds_alternative<actors::turn_effects::say_call_started>(news))
      begun_.push_back({call, what.name, runtime_->core.now().boot});
    else
      std::erase_if(begun_, [&](const begun_call& begun) { return begun.call == call; });
    now_.current_tool = begun_.empty() ? std::string() : begun_.back().name; // the newest call that still runs
  }
  publish(call_news(call, what, news), {});
}

void turn_port::say_text(std::uint64_t offset, const std::string& text, std::function<void()> done) {
  {
    const std::lock_guard lock(guard_);
    now_.text += text;
    now_.model_wait.clear();
  }
  publish(text_event(offset, text), std::move(done));
}

void turn_port::say_thinking(std::uint64_t offset, const std::string& text, std::function<void()> done) {
  publish(thinking_event(offset, text), std::move(done));
}

void turn_port::say_model_note(const actors::model_note& what) {
  const auto* other = std::get_if<model_events::fell_back>(&what);
  const auto* again = std::get_if<model_events::retrying>(&what);
  const auto spent = other ? other->spent : again ? again->spent : model_usage{};
  std::optional<operation_id> call;
  std::string model;
  {
    const std::lock_guard lock(guard_);
    if (again && !again->model.empty()) requested_model_ = again->model;
    model = other ? other->from : requested_model_;
    if (other) requested_model_ = other->to;
    call = open_call_;
    if (call) counted_ += spent;
    now_.model_wait = std::holds_alternative<model_events::queued>(what) ? "queued" : again ? "retry" : "";
  }
  if (call && spent != model_usage{}) {
    auto news_text = model_used(*call, model, spent);
    count_attempt(*runtime_, {who_.scope, who_.owner.id, who_.agent.name, model, spent},
                  agent_runtime::event_of(who_, news_text.type, std::move(news_text.data)), who_.tree);
  }
  publish(model_noted(what), {});
}

void turn_port::end(const actors::turn_effects::end& own, const std::optional<actors::last_answer>& answer,
                    std::uint64_t tool_calls, std::function<void()> done) {
  auto how = own;
  const bool is_stored = answer && !runtime_->core.is_low();
  if (answer && !is_stored && !how.aborted) how.aborted = actors::abort_reason::error, how.error = low_on_space();
  {
    const std::lock_guard lock(guard_);
    how.usage += below_;
    end_ = how;
    agent_.reset(); // the agent owns this port
  }
  own_outcome end;
  end.result = turn_result(how.text, how.usage, tool_calls, how.aborted ? std::nullopt : std::optional(how.why));
  if (how.aborted) {
    end.as = status::failed;
    end.error = how.error ? records::operation_error{how.error->code, how.error->detail}
                          : records::own_error(failure_code::error, "it was stopped");
    end.abort_reason = name_of_reason(*how.aborted);
  } else {
    end.completed_data = completed_data(how);
  }
  commands::end_local step{who_.operation, std::move(end)};
  if (is_stored) step.last_answer = answer_message(answer->what, answer->usage);
  runtime_->core.execute({std::move(step), [self = shared_from_this(), done = std::move(done)](bool) { done(); }});
}

void turn_port::publish(event_text news_text, std::function<void()> done) {
  auto event = agent_runtime::event_of(who_, news_text.type, std::move(news_text.data));
  runtime_->core.execute({commands::publish_event{std::move(event)},
                          [self = shared_from_this(), done = std::move(done)](commands::nothing) {
                            if (done) done();
                          }});
}

records::event_record turn_port::event_about(const operation_id& call, event_text news_text) const {
  auto event = agent_runtime::event_of(who_, news_text.type, std::move(news_text.data));
  event.operation = call;
  return event;
}

} // namespace quell::controller::turns
