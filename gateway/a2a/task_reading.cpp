// From rows to tasks: which agent is meant, what its stop has come to, and the wait for the end.
#include "gateway/a2a/task_reading.hpp"

#include <algorithm>
#include <iterator>

#include "gateway/a2a/context_id.hpp"
#include "gateway/a2a_error.hpp"
#include "gateway/compat/client_turn.hpp"
#include "gateway/compat/turn_translator.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http::a2a {

namespace {

using records::operation_record;

constexpr std::uint32_t page_rows = 500;

/// True for the end without proof of an operation that was live when the stop with this seq came.
bool is_unproven(const records::operation_hot& hot, std::uint64_t stop_seq, receipt how) {
  return is_terminal(hot.now) && hot.ended_seq > stop_seq && hot.stop && hot.stop->how == how;
}

/// True for work that its start detached from the turn, and that lived when the turn ended: what becomes of it later
/// changes nothing for the task, whose end is final.
bool is_detached_from(const operation_record& row, const operation_record& turn) {
  return row.detached && row.id != turn.id && row.seq < turn.hot.ended_seq &&
         (row.hot.ended_seq == 0 || row.hot.ended_seq > turn.hot.ended_seq);
}

/// Counts what below the turn has ended without proof since its stop, whoever stopped that, and what was detached and
/// nobody was stopping when the turn ended. Notes whether anything that was being stopped then still is.
awaitable<> look_below(thread_context& gw, const operation_record& turn, const std::string& base, stop_facts& into) {
  records::operation_filter filter;
  filter.below = turn.id; // the completed ones, too: a task's state must not change when detached work completes
  filter.ascending = true;
  filter.limit = page_rows;
  bool is_stopping = false;
  const auto count = [&](const operation_record& row) {
    const auto& hot = row.hot;
    const bool is_awaited = hot.stop && hot.stop->seq < turn.hot.ended_seq;
    if (is_awaited && !is_terminal(hot.now)) is_stopping = true;
    if (!is_awaited && is_detached_from(row, turn)) ++into.left;
    if (is_unproven(hot, turn.hot.stop->seq, receipt::unconfirmed)) ++into.unconfirmed;
    if (is_unproven(hot, turn.hot.stop->seq, receipt::declared)) ++into.declared;
  };
  while (true) {
    auto job = [filter](store_reader& q) { return q.operations(filter); };
    list_share share{"tasks of A2A below /" + base, nullptr, std::numeric_limits<std::size_t>::max()};
    auto part = co_await gw.list<operation_record>(std::move(share), job);
    const bool is_last = !part.cut_at && part.rows.size() < filter.limit;
    if (part.cut_at)
      filter.after_seq = *part.cut_at;
    else if (!part.rows.empty())
      filter.after_seq = part.rows.back().seq;
    const auto first_live = std::partition(part.rows.begin(), part.rows.end(),
                                           [](const operation_record& row) { return is_terminal(row.hot.now); });
    std::vector<operation_record> live(std::make_move_iterator(first_live), std::make_move_iterator(part.rows.end()));
    part.rows.erase(first_live, part.rows.end());
    for (const auto& row : part.rows) count(row);
    const auto shown = co_await present(gw, std::move(live)); // the store does not know that they are being stopped
    for (const auto& op : shown) count(op.row);
    if (is_last) break;
  }
  if (is_stopping) into.is_settled = false;
}

/// A cancel of this turn is settled when its report is, which also counts what is no longer kept. One of a whole scope
/// can have more to do elsewhere: for it, the part below the turn counts.
awaitable<> look_at_cancel(thread_context& gw, const operation_id& turn, stop_facts& into) {
  if (!into.cancel) co_return;
  const auto view = co_await find_cancel(gw, *into.cancel);
  if (!view) co_return;
  const auto* target = std::get_if<records::target_operation>(&view->record.target);
  if (!target || target->id != turn) co_return;
  into.is_settled = into.is_settled && view->record.status == cancel_status::settled;
  const auto& receipts = view->record.report.receipts;
  into.unconfirmed = std::max(into.unconfirmed, receipts.at(static_cast<std::size_t>(receipt::unconfirmed)));
  into.declared = std::max(into.declared, receipts.at(static_cast<std::size_t>(receipt::declared)));
}

/// The questions on disk of the agents of this turn to its caller, oldest first.
awaitable<std::vector<caller_question>> questions_of_turn(thread_context& gw, const operation_record& turn) {
  std::vector<caller_question> open;
  if (!gw.options.turns) co_return open;
  const auto entries = gw.options.turns->runtime()->questions.open_in(turn.scope);
  for (const auto& [question, entry] : entries) {
    if (entry.turn != turn.id) continue;
    const auto call = co_await find_row(gw, entry.call);
    if (call && waits_for_answer(call->hot, question))
      open.push_back(
          {question.text(), words_of_question(entry.message, nlohmann::json::parse(entry.form, nullptr, false))});
  }
  co_return open;
}

wall_time newest_change(const operation_record& row) {
  if (row.hot.ended_at) return *row.hot.ended_at;
  if (row.hot.stop && row.hot.stop->signalled_at) return *row.hot.stop->signalled_at;
  return row.hot.started_at.value_or(row.created_at);
}

} // namespace

bool is_task_of(const operation_record& row, const served_agent& agent) {
  return row.kind == kind::turn && row.name == agent.name;
}

served_agent agent_of_path(exchange& x) {
  if (!x.gw.options.turns) throw problem{.code = error_code::not_found, .detail = "this quelld answers no messages"};
  const auto& name = x.arguments.at(0);
  const auto settings = x.gw.options.turns->runtime()->settings.get();
  const auto* agent = settings->agent(name);
  const auto base = agent && !agent->is_command() ? base_for(*agent, x.who) : std::nullopt;
  if (!base)
    throw problem{.code = error_code::not_found,
                  .detail = "there is no agent " + name.substr(0, 64) +
                            " that this token may use; GET /openai/v1/models lists those that there are"};
  return {name, *base};
}

awaitable<task_facts> facts_of(thread_context& gw, shown_operation shown, const served_agent& agent) {
  const auto& row = shown.row;
  task_facts facts;
  facts.id = row.id;
  facts.root = row.root;
  facts.scope = row.scope.text();
  facts.context = context_of_scope(row.scope, agent.base);
  facts.now = row.hot.now;
  facts.at = newest_change(row);
  if (row.hot.error) facts.error_code = row.hot.error->code, facts.error_message = row.hot.error->message;
  facts.text = value_at<std::string>(nlohmann::json::parse(shown.kind_data, nullptr, false), "text");
  if (!row.hot.stop) {
    if (row.hot.now == status::running) facts.asks = co_await questions_of_turn(gw, row);
    co_return facts;
  }
  stop_facts stop;
  stop.cause = row.hot.stop->cause;
  stop.cancel = row.hot.stop->cancel;
  stop.reason = shown.stop_reason.value_or(row.hot.stop->reason);
  stop.is_settled = true;
  if (row.hot.now == status::cancelled) {
    co_await look_below(gw, row, agent.base, stop);
    co_await look_at_cancel(gw, row.id, stop);
  }
  facts.stop = std::move(stop);
  co_return facts;
}

awaitable<std::optional<task_facts>> find_task(thread_context& gw, operation_id id, const served_agent& agent) {
  auto row = co_await find_row(gw, id);
  if (!row) co_return std::nullopt;
  auto shown = co_await present_one(gw, std::move(*row));
  co_return co_await facts_of(gw, std::move(shown), agent);
}

awaitable<operation_id> visible_task(exchange& x, const served_agent& agent, std::string_view id) {
  const auto unknown = a2a_error{task_not_found, "there is no task " + std::string(id.substr(0, 64)) + " of agent " +
                                                     agent.name + " that this token may see"};
  const auto parsed = operation_id::parse(id);
  if (!parsed) throw unknown;
  const auto row = co_await find_row(x.gw, *parsed, lane::urgent);
  bool visible = row && is_task_of(*row, agent);
  if (visible) visible = co_await sees(x, *row);
  if (!visible) throw unknown;
  co_return *parsed;
}

awaitable<task_facts> wait_until_over(exchange& x, operation_id id, const served_agent& agent) {
  auto& gw = x.gw;
  x.begin_watching();
  auto wake = std::make_shared<signal>(*gw.io);
  const auto end_ticket = gw.hub.watch(id, wake); // before the row is read, so that no end is missed
  std::shared_ptr<void> cancel_ticket;
  while (true) {
    auto facts = co_await find_task(gw, id, agent);
    if (!facts) throw no_such_operation(id);
    if (is_answerable(status_of(*facts).state) || gw.stopping || x.is_abandoned()) co_return std::move(*facts);
    if (!cancel_ticket && facts->stop && facts->stop->cancel) {
      cancel_ticket = gw.hub.watch(*facts->stop->cancel, wake);
      continue; // it can have settled between the two
    }
    co_await x.wait(wake, std::chrono::steady_clock::now() + gw.options.comment_interval);
  }
}

} // namespace quell::controller::http::a2a
