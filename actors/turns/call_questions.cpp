// The ledger decides whether the call may still ask and whose answer is the first; this file decides which question
// comes next.
//
// The stop of a call can come between any two steps here. The ledger handles it: a question after the stop is not
// asked, an answer after it is refused, and the server receives only its cancel.
#include "actors/turns/call_questions.hpp"

#include <utility>

namespace quell::controller::turns {

void call_questions::ask(integrations::mcp_call_events::question what, const operation_id& id) {
  if (is_closed_) return;
  waiting_.push_back({id, std::move(what)});
  ask_next();
}

void call_questions::ask_next() {
  if (is_closed_ || open_ || waiting_.empty()) return;
  open_ = std::move(waiting_.front());
  waiting_.pop_front();
  const auto& who = port_->who();
  // An answer that counts closes the question for people at once, on the thread that brings it.
  const auto answered = [self = shared_from_this(), id = open_->id](const human_answer& given) {
    self->port_->questions().drop(id);
    self->post_([self, id, given] { self->answered(id, given); });
  };
  port_->questions().add(open_->id, {call_, open_->what.form, answered, who_, who.scope, who.tree->turn(), who.owner.id,
                                     open_->what.message, who.is_by_chat});
  port_->ask_question(call_, what_, {open_->id, server_, open_->what.message, open_->what.form, who_}, refused_);
}

bool call_questions::over(const operation_id& question) {
  if (!open_ || open_->id != question) return false;
  port_->questions().drop(question);
  open_.reset();
  return true;
}

void call_questions::answered(const operation_id& question, const human_answer& given) {
  using action = integrations::mcp_answer::action;
  if (is_closed_ || !open_ || open_->id != question) return;
  const auto number = open_->what.number;
  over(question);
  tell_(number, {given.accepts        ? action::accept
                 : given.is_dismissed ? action::cancel
                                      : action::decline,
                 given.accepts ? given.values : std::string()});
  ask_next();
}

void call_questions::take_back(std::uint64_t number) {
  std::erase_if(waiting_, [&](const auto& q) { return q.what.number == number; });
  if (!open_ || open_->what.number != number) return;
  port_->take_question_back(call_, open_->id, [self = shared_from_this(), id = open_->id] {
    self->post_([self, id] {
      if (self->over(id)) self->ask_next();
    });
  });
}

void call_questions::close() {
  is_closed_ = true;
  waiting_.clear();
  if (open_) port_->questions().drop(open_->id);
  open_.reset();
}

void asking_call::close() {
  if (const auto open = std::exchange(questions, nullptr)) open->close();
}

void asking_call::finish(actors::work_end how) {
  close();
  if (const auto tell = std::exchange(done, nullptr)) tell(std::move(how));
}

} // namespace quell::controller::turns
