// An agent port's output: events for watchers, questions to humans, the end.
#include <algorithm>

#include "actors/turns/mcp_host.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

void turn_port::ask_human(const operation_id& call, const tool_call& what, const std::string& rule) {
  parts_->core.ask([self = shared_from_this(), call, what, rule](ledger& l, moment now) -> std::function<void()> {
    if (l.actors()->start_local(call, now) && l.actors()->pause(call, now)) {
      auto said = approval_required(call, what, rule);
      auto event = agent_runtime::event_of(self->who_, std::move(said.type), std::move(said.data));
      event.operation = call;
      l.add_event(std::move(event), now);
    }
    return [] {};
  });
}

void turn_port::ask_question(const operation_id& call, const tool_call& what, const shown_question& question) {
  parts_->core.ask([self = shared_from_this(), call, what, question](ledger& l, moment now) -> std::function<void()> {
    if (!questions_of(l).ask(call, {question.id, question_text(question)}, now)) return [] {};
    auto said = question_asked(call, what, question);
    auto event = agent_runtime::event_of(self->who_, std::move(said.type), std::move(said.data));
    event.operation = call;
    l.add_event(std::move(event), now);
    return [self, call] {
      if (const auto agent = self->parts_->who.agent_of_call(call)) agent->waits(call, true);
    };
  });
}

void turn_port::take_question_back(const operation_id& call, const operation_id& question, std::function<void()> done) {
  parts_->core.ask([self = shared_from_this(), call, question,
                    done = std::move(done)](ledger& l, moment now) -> std::function<void()> {
    if (!questions_of(l).take_back(call, question, now)) return [] {};
    return [self, call, done] {
      if (const auto agent = self->parts_->who.agent_of_call(call)) agent->waits(call, false);
      done();
    };
  });
}

std::unique_ptr<actors::tool_work> turn_port::work_for(const operation_id& call, const tool_call& what,
                                                       const actors::turn& so_far) {
  const auto* tool = who_.tools.find(what.name);
  if (!tool) return make_answer({false, parts_->texts->failed("unknown_tool", "there is no tool " + what.name)});
  switch (tool->how) {
  case tool_definition::runs::task:
    return make_task_work(parts_, who_, call, *tool, what, files_);
  case tool_definition::runs::sub_agent:
    return make_sub_agent_work(parts_, shared_from_this(), call, what);
  case tool_definition::runs::session_status:
    return make_answer({true, ok_result(session_status(so_far, facts(), parts_->core.now().boot))});
  case tool_definition::runs::mcp:
    return parts_->mcp->work_for(shared_from_this(), call, *tool, what);
  }
  return make_answer({false, parts_->texts->failed("unknown_tool", "there is no tool " + what.name)});
}

session_facts turn_port::facts() const {
  const auto now = parts_->core.now();
  const std::lock_guard lock(guard_);
  return {std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(now.boot - who_.began)), who_.agent.budget,
          sub_agents_};
}

std::string turn_port::failed_text(const std::string& code, const std::string& message) const {
  return parts_->texts->failed(code, message);
}

void turn_port::say_progress(const operation_id& call, const tool_call& what, const std::string& message,
                             double progress, std::optional<double> total) {
  const auto now = parts_->core.now().boot;
  milliseconds elapsed{0};
  {
    const std::lock_guard lock(guard_);
    for (const auto& begun : begun_)
      if (begun.call == call) elapsed = std::chrono::duration_cast<milliseconds>(now - begun.at);
    if (now < progress_not_before_) return; // a server can send progress as often as it likes
    progress_not_before_ = now + std::chrono::milliseconds{100};
  }
  auto said = call_progress(what, elapsed, message, progress, total);
  parts_->core.ask([self = shared_from_this(), said = std::move(said)](ledger& l, moment at) -> std::function<void()> {
    l.add_event(agent_runtime::event_of(self->who_, said.type, said.data), at);
    return [] {};
  });
}

/// The late outcome can arrive before the end that it is kept beside, so this waits for that end.
void turn_port::record_late(const operation_id& call, const std::string& late, int tries) {
  parts_->core.ask([self = shared_from_this(), call, late, tries](ledger& l, moment now) -> std::function<void()> {
    const auto seen = l.view(call, now);
    if (!seen || is_terminal(seen->hot.now) || tries == 0) {
      l.actors()->note_outcome(call, R"({"server":")" + late + R"("})");
      return [] {};
    }
    return [self, call, late, tries] {
      self->later(std::chrono::milliseconds{100},
                  [self, call, late, tries] { self->record_late(call, late, tries - 1); });
    };
  });
}

void turn_port::later(std::chrono::milliseconds wait, std::function<void()> what) {
  parts_->background_reads->run_after(wait, [what = std::move(what)](store_reader&) { what(); });
}

void turn_port::say(const operation_id& call, const tool_call& what, const actors::agent_news& news) {
  {
    const std::lock_guard lock(guard_);
    if (std::holds_alternative<actors::turn_effects::say_call_started>(news))
      begun_.push_back({call, what.name, parts_->core.now().boot});
    else
      std::erase_if(begun_, [&](const begun_call& begun) { return begun.call == call; });
    now_.current_tool = begun_.empty() ? std::string() : begun_.back().name; // the newest call that still runs
  }
  parts_->core.ask(
      [self = shared_from_this(), said = call_news(call, what, news)](ledger& l, moment now) -> std::function<void()> {
        l.add_event(agent_runtime::event_of(self->who_, said.type, said.data), now);
        return [] {};
      });
}

void turn_port::say_text(std::uint64_t offset, const std::string& text, std::function<void()> done) {
  {
    const std::lock_guard lock(guard_);
    now_.text += text;
  }
  parts_->core.ask([self = shared_from_this(), said = text_said(offset, text),
                    done = std::move(done)](ledger& l, moment now) -> std::function<void()> {
    l.add_event(agent_runtime::event_of(self->who_, said.type, said.data), now);
    return done;
  });
}

void turn_port::end(const actors::turn_effects::end& how, std::uint64_t tool_calls, std::function<void()> done) {
  {
    const std::lock_guard lock(guard_);
    end_ = how;
    agent_.reset(); // the agent owns this port
  }
  parts_->core.ask([self = shared_from_this(), how, tool_calls,
                    done = std::move(done)](ledger& l, moment now) -> std::function<void()> {
    own_outcome end;
    end.result = turn_result(how.text, how.usage, tool_calls);
    if (how.aborted) {
      end.as = status::failed;
      end.error = how.error ? records::operation_error{how.error->code, how.error->detail}
                            : records::operation_error{"error", "it was stopped"};
      end.abort_reason = name_of_reason(*how.aborted);
    } else {
      end.completed_data = completed_data(how);
    }
    l.actors()->finish_local(self->who_.operation, end, now);
    return done;
  });
}

} // namespace quell::controller::turns
