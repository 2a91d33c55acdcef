// POST /v1/operations/{id}/start, complete, fail, stopped, and POST /v1/operations/end: the table of SURFACE 9. The
// ledger decides for live operations, the row for ended ones.
#include <map>

#include "gateway/admin_body.hpp"
#include "gateway/external_body.hpp"
#include "gateway/external_json.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

std::string shown_text(gateway_context& gw, const shown_operation& op) { return operation_text(gw, op); }

problem not_external(const records::operation_record& row) {
  return {.code = error_code::not_external,
          .detail = "operation " + row.id.text() + " is a " + std::string(name_of(row.kind)) +
                    ": quell runs it and knows itself how it goes"};
}

problem has_ended(gateway_context& gw, const shown_operation& op) {
  const bool is_over = is_terminal(op.row.hot.now);
  return {.code = error_code::already_terminal,
          .detail = "operation " + op.row.id.text() + " is " + std::string(name_of(op.row.hot.now)) +
                    (op.row.hot.ended_at ? " since " + instant_text(*op.row.hot.ended_at) : std::string()) +
                    (is_over ? "; nothing was changed"
                             : ": its own work has ended, and it waits for what it has started; nothing was changed"),
          .members = {{"operation", shown_text(gw, op)}}};
}

/// It was cancelled before it had started: the same answer to a start, whether or not that is recorded already.
awaitable<problem> was_stale(gateway_context& gw, shown_operation op) {
  problem p{.code = error_code::stale_start,
            .detail = "operation " + op.row.id.text() + " was cancelled before it was started. Nothing was started.",
            .members = {{"operation", shown_text(gw, op)}}};
  if (!op.row.hot.stop || !op.row.hot.stop->cancel) co_return p;
  const auto cancel = co_await find_cancel(gw, *op.row.hot.stop->cancel);
  if (cancel) {
    p.cancel = cancel->record;
    p.detail = "operation " + op.row.id.text() + " was cancelled at " + instant_text(cancel->record.created_at) +
               " by " + (cancel->record.by.name.empty() ? cancel->record.by.id : cancel->record.by.name) +
               (cancel->record.reason.empty() ? "" : ": " + cancel->record.reason) + ". Nothing was started.";
  }
  co_return p;
}

/// The rows that the caller sees, in their client form, by id.
awaitable<std::map<operation_id, shown_operation>> shown_rows(exchange& x, std::vector<operation_id> ids) {
  auto& gw = x.gw;
  auto rows = co_await find_rows(gw, std::move(ids));
  std::vector<records::operation_record> visible;
  for (auto& row : rows) {
    const bool may = co_await sees(x, row);
    if (may) visible.push_back(std::move(row));
  }
  auto shown = co_await present(gw, std::move(visible));
  std::map<operation_id, shown_operation> found;
  for (auto& op : shown) {
    const auto id = op.row.id;
    found.insert_or_assign(id, std::move(op));
  }
  co_return found;
}

/// It ended on our side without a word of its owner: whatever its owner says then is kept beside the end.
bool ended_unreported(const records::operation_hot& hot) {
  return (hot.stop && hot.stop->evidence == proof::none) ||
         (hot.error && records::has_code(*hot.error, failure_code::heartbeat_lost));
}

problem lost_between(const operation_id& id) {
  return {.code = error_code::storage_unavailable,
          .detail = "operation " + id.text() + " is being written; repeat the request",
          .headers = {{"Retry-After", "1"}}};
}

/// The answer to one report, from the ledger's outcome and the row.
item_answer item_answer_of(gateway_context& gw, const owner_report& report, const outcome<operation_id>& ended,
                           const std::map<operation_id, shown_operation>& rows) {
  const auto at = rows.find(report.operation);
  if (at == rows.end()) return refused(no_such_operation(report.operation));
  const auto& op = at->second;
  if (op.row.kind != kind::external) return refused(not_external(op.row));
  if (ended) return {.status = 200, .operation = op, .id = {}, .error = {}};
  const auto& why = ended.error();
  const bool is_over =
      why.error.code == error_code::operation_not_found || why.error.code == error_code::already_terminal;
  if (!is_over) {
    auto p = from_fault(why.error);
    p.cancel = why.cancel;
    return refused(std::move(p));
  }
  if (!is_terminal(op.row.hot.now))
    return refused(why.error.code == error_code::already_terminal ? has_ended(gw, op) : lost_between(report.operation));
  if (op.row.hot.late.empty() && ended_unreported(op.row.hot)) gw.controller.note_late_report(report);
  if (op.row.hot.now == wanted_by(report.what)) return {.status = 200, .operation = op, .id = {}, .error = {}};
  return refused(has_ended(gw, op));
}

/// Ends them in one commit and answers in order. To a caller that wants no operations back, rows are read only where
/// they tell why an end was refused; those ends take the share of the caller's token alone.
awaitable<std::vector<item_answer>> end_all(exchange& x, std::vector<owner_report> reports) {
  auto& gw = x.gw;
  auto call = [&gw, &x, &reports](auto reply) { gw.controller.end_externals(reports, x.who, std::move(reply)); };
  const auto ended = co_await gw.answer<std::vector<outcome<operation_id>>>(call);
  std::vector<operation_id> ids;
  const bool is_minimal = x.req.wants_minimal();
  for (std::size_t i = 0; i < reports.size() && i < ended.size(); ++i)
    if (!is_minimal || !ended[i]) ids.push_back(reports[i].operation);
  const auto rows = co_await shown_rows(x, std::move(ids));
  std::vector<item_answer> answers;
  for (std::size_t i = 0; i < reports.size() && i < ended.size(); ++i) { // a report that ended nothing takes no share
    const auto at = rows.find(reports[i].operation);
    if (ended[i] && at != rows.end())
      x.note_brought(at->second.row.scope, x.who.owner.id, x.body_bytes / reports.size());
  }
  for (std::size_t i = 0; i < reports.size() && i < ended.size(); ++i) {
    if (is_minimal && ended[i]) {
      answers.push_back(named_only(reports[i].operation, 200));
      continue;
    }
    auto answer = item_answer_of(gw, reports[i], ended[i], rows);
    if (is_minimal && !answer.error) answer = named_only(reports[i].operation, answer.status);
    answers.push_back(std::move(answer));
  }
  co_return answers;
}

awaitable<response> end_one(exchange& x, owner_word what) {
  need(x, right::create_external);
  const auto id = path_id<operation_id>(x);
  auto report = value_or_throw(read_report(what, id, x.req.body));
  std::vector<owner_report> one;
  one.push_back(std::move(report));
  auto answers = co_await end_all(x, std::move(one));
  co_return item_response(x.gw, answers.at(0));
}

} // namespace

awaitable<response> complete_external(exchange& x) { co_return co_await end_one(x, owner_word::complete); }
awaitable<response> fail_external(exchange& x) { co_return co_await end_one(x, owner_word::fail); }
awaitable<response> external_stopped(exchange& x) { co_return co_await end_one(x, owner_word::stopped); }

awaitable<response> end_externals(exchange& x) {
  need(x, right::create_external);
  auto items = co_await checked_body(x, read_reports);
  std::vector<owner_report> reports;
  for (auto& item : items)
    if (item) reports.push_back(std::move(*item));
  std::vector<item_answer> ended;
  if (!reports.empty()) ended = co_await end_all(x, std::move(reports));
  std::vector<item_answer> answers;
  std::size_t next = 0;
  for (auto& item : items) {
    if (!item)
      answers.push_back(refused(std::move(item.error())));
    else
      answers.push_back(std::move(ended.at(next++)));
  }
  auto answer = json_answer(results_json(x.gw, answers, x.req.id));
  if (x.req.wants_minimal()) co_return with_preference(std::move(answer));
  co_return answer;
}

awaitable<response> start_external(exchange& x) {
  auto& gw = x.gw;
  need(x, right::create_external);
  const auto id = path_id<operation_id>(x);
  value_or_throw(read_nothing(x.req.body));
  if (gw.controller.storage_low())
    throw problem{.code = error_code::storage_unavailable,
                  .detail = "the state directory is low on space, so nothing is started; free some space",
                  .headers = {{"Retry-After", "5"}}};
  auto call = [&gw, &x, id](auto reply) { gw.controller.start_external(id, x.who, std::move(reply)); };
  const auto ended = co_await gw.answer<outcome<operation_id>>(call);
  if (ended && x.req.wants_minimal()) co_return minimal_answer(id, 200);
  std::vector<operation_id> requested(1, id);
  const auto rows = co_await shown_rows(x, std::move(requested));
  const auto at = rows.find(id);
  if (at == rows.end()) throw no_such_operation(id);
  const auto& op = at->second;
  if (op.row.kind != kind::external) throw not_external(op.row);
  if (ended) co_return json_answer(operation_text(gw, op));
  const auto& why = ended.error();
  const bool never_began = is_terminal(op.row.hot.now) && op.row.hot.stop && !op.row.hot.started_at;
  if (why.error.code == error_code::stale_start || (why.error.code == error_code::operation_not_found && never_began)) {
    auto stale = co_await was_stale(gw, op);
    if (why.cancel && !stale.cancel) stale.cancel = why.cancel;
    throw stale;
  }
  if (why.error.code == error_code::already_terminal ||
      (why.error.code == error_code::operation_not_found && is_terminal(op.row.hot.now)))
    throw has_ended(gw, op);
  if (why.error.code == error_code::operation_not_found) throw lost_between(id);
  throw from_fault(why.error);
}

} // namespace quell::controller::http
