// Questions of running calls to humans: asked, answered, withdrawn, or dropped with a stop or an end.
#include <cassert>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"
#include "controller/local_reading.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::live {

bool live_ledger::ask(const operation_id& id, paused_question what, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].is_over() || operations_[x].now != status::running || stop_of(x)) return false;
  if (!set_status(x, status::paused)) return false;
  details(x).question = std::make_unique<paused_question>(std::move(what));
  operations_.wait_for(x, answer_reason());
  write_row(x);
  write_event(event_type::operation_paused, x, now);
  return true;
}

bool live_ledger::take_back(const operation_id& id, const operation_id& question, moment now) {
  const index x = find(id);
  if (x == none || operations_[x].now != status::paused || stop_of(x)) return false;
  if (!asks(x) || operations_[x].details->question->id != question) return false;
  tell_dropped(x, now);
  go_on(x);
  write_row(x);
  write_event(event_type::operation_resumed, x, now);
  return true;
}

outcome<operation_id> live_ledger::answer(const operation_id& id, const human_answer& what, moment now) {
  const index x = find(id);
  if (x == none) return refused_with(error_code::operation_not_found, "there is no live operation " + id.text());
  if (operations_[x].now != status::paused || stop_of(x) || !asks(x) ||
      operations_[x].details->question->id != what.question)
    return refused_with(error_code::not_paused, "operation " + id.text() + " does not ask this (any more)");
  go_on(x);
  write_event_data(event_type::approval_resolved, what.event_data, x, now);
  write_row(x);
  write_event(event_type::operation_resumed, x, now);
  return id;
}

/// Marks the call as waiting for nobody.
void live_ledger::go_on(index x) {
  operation_node& n = operations_[x];
  assert(n.waiting != none); // only a paused call goes on
  operations_.wait_no_more(x);
  if (n.details) n.details->question.reset();
  set_status(x, status::running);
}

void live_ledger::tell_dropped(index x, moment now) {
  std::optional<operation_id> question;
  if (asks(x)) question = operations_[x].details->question->id;
  write_event_data(event_type::approval_resolved, dropped_question(operations_[x].id, question), x, now);
  if (question) operations_[x].details->question.reset();
}

} // namespace quell::controller::live

namespace quell::controller {

open_questions& questions_of(ledger& l) { return static_cast<live::live_ledger&>(l); }

std::optional<paused_question> question_in(const records::operation_hot& row) {
  return row.now == status::paused ? live::read_question_row(row.result) : std::nullopt;
}

std::optional<paused_question> agents_question(const records::operation_hot& row) {
  auto open = question_in(row);
  return open && open->who == question_source::agent ? std::move(open) : std::nullopt;
}

bool waits_for_answer(const records::operation_hot& row, const operation_id& question) {
  const auto open = question_in(row);
  return open && open->id == question;
}

const local_operations& local_of(const ledger& l) { return static_cast<const live::live_ledger&>(l); }

} // namespace quell::controller
