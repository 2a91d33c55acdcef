// Questions of running calls to humans: asked, answered, withdrawn, or dropped with a stop or an end.
#include "controller/ledger/core.hpp"
#include "controller/ledger/sentences.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::heart {

bool core::ask(const operation_id& id, asked_question what, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].has_own_end || operations_[x].now != status::running || stop_of(x)) return false;
  details(x).question = std::make_unique<asked_question>(std::move(what));
  set_status(x, status::paused);
  operations_[x].waiting = reasons_.hold(answer_reason());
  write_row(x);
  write_event("operation_paused", x, now);
  return true;
}

bool core::take_back(const operation_id& id, const operation_id& question, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].now != status::paused || stop_of(x)) return false;
  if (!asks(x) || operations_[x].more->question->id != question) return false;
  tell_dropped(x, now);
  go_on(x);
  write_row(x);
  write_event("operation_resumed", x, now);
  return true;
}

outcome<operation_id> core::answer(const operation_id& id, const human_answer& what, moment now) {
  const index x = find(id);
  if (x == none) return refused_with("operation_not_found", "there is no live operation " + id.text());
  if (operations_[x].now != status::paused || stop_of(x) || !asks(x) ||
      operations_[x].more->question->id != what.question)
    return refused_with("not_paused", "operation " + id.text() + " does not ask this (any more)");
  go_on(x);
  write_told("approval_resolved", what.told, x, now);
  write_row(x);
  write_event("operation_resumed", x, now);
  return id;
}

/// Marks the call as waiting for nobody.
void core::go_on(index x) {
  operation_node& n = operations_[x];
  reasons_.release(n.waiting);
  n.waiting = none;
  if (n.more) n.more->question.reset();
  set_status(x, status::running);
}

void core::tell_dropped(index x, moment now) {
  std::optional<operation_id> question;
  if (asks(x)) question = operations_[x].more->question->id;
  write_told("approval_resolved", dropped_question(operations_[x].id, question), x, now);
  if (question) operations_[x].more->question.reset();
}

} // namespace quell::controller::heart

namespace quell::controller {

question_books& questions_of(ledger& l) { return static_cast<heart::core&>(l); }

} // namespace quell::controller
