// The ledger decides whether the call may still ask and whose answer is the first; this file decides which question
// comes next.
//
// The stop of a call can come between any two steps here. The ledger handles it: a question after the stop is not
// asked, an answer after it is refused, and the server receives only its cancel.
#include "actors/turns/call_questions.hpp"

namespace quell::controller::turns {

void call_questions::ask(integrations::mcp_call_events::question what, const operation_id& id) {
  {
    const std::lock_guard lock(guard_);
    if (is_closed_) return;
    waiting_.push_back({id, std::move(what)});
  }
  ask_next();
}

void call_questions::ask_next() {
  open_question next;
  {
    const std::lock_guard lock(guard_);
    if (is_closed_ || open_ || waiting_.empty()) return;
    open_ = std::move(waiting_.front());
    waiting_.pop_front();
    next = *open_;
    const auto& who = port_->who();
    // Added here, so that a close cannot come before it.
    port_->questions().add(
        next.id, {call_, next.what.form,
                  [self = shared_from_this(), id = next.id](const human_answer& given) { self->answered(id, given); },
                  who_, who.scope, who.tree->turn(), who.owner.id, next.what.message});
  }
  port_->ask_question(call_, what_, {next.id, server_, next.what.message, next.what.form, who_}, refused_);
}

bool call_questions::over(const operation_id& question) {
  const std::lock_guard lock(guard_);
  if (!open_ || open_->id != question) return false;
  port_->questions().drop(question);
  open_.reset();
  return true;
}

void call_questions::answered(const operation_id& question, const human_answer& given) {
  using action = integrations::mcp_answer::action;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(guard_);
    if (is_closed_ || !open_ || open_->id != question) return;
    number = open_->what.number;
  }
  if (!over(question)) return;
  tell_(number, {given.accepts        ? action::accept
                 : given.is_dismissed ? action::cancel
                                      : action::decline,
                 given.accepts ? given.values : std::string()});
  ask_next();
}

void call_questions::take_back(std::uint64_t number) {
  operation_id open;
  {
    const std::lock_guard lock(guard_);
    std::erase_if(waiting_, [&](const auto& q) { return q.what.number == number; });
    if (!open_ || open_->what.number != number) return;
    open = open_->id;
  }
  port_->take_question_back(call_, open, [self = shared_from_this(), open] {
    if (self->over(open)) self->ask_next();
  });
}

void call_questions::close() {
  const std::lock_guard lock(guard_);
  is_closed_ = true;
  waiting_.clear();
  if (open_) port_->questions().drop(open_->id);
  open_.reset();
}

void asking_call::finish(actors::work_end how) {
  std::function<void(actors::work_end)> tell;
  std::shared_ptr<call_questions> open_questions;
  {
    const std::lock_guard lock(guard);
    tell.swap(done);
    open_questions = std::move(questions);
  }
  if (open_questions) open_questions->close();
  if (tell) tell(std::move(how));
}

} // namespace quell::controller::turns
