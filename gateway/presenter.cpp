// Combines rows, live views and reasons for answers.
#include "gateway/presenter.hpp"

#include "actors/turns/turn_scheduler.hpp"

#include <algorithm>

namespace quell::controller::http {

namespace {

using records::cancel_record;

/// Output smaller than this is never pruned.
constexpr std::uint64_t may_be_pruned_bytes = 1 << 20;
using records::operation_record;

/// The row gets the size of a task's output when the task ends; until then the files have it. Of a large output they
/// can have dropped old parts. The files are looked at by a reader's thread, since a disk can be slow.
awaitable<> measure_outputs(thread_context& gw, std::vector<shown_operation>& shown) {
  std::vector<operation_id> sought;
  const auto needs_files = [](const operation_record& row) {
    const auto& known = row.hot.output;
    return row.kind == kind::task && row.hot.started_at &&
           (!is_terminal(row.hot.now) || known.stdout_bytes + known.stderr_bytes >= may_be_pruned_bytes);
  };
  for (const auto& op : shown)
    if (needs_files(op.row)) sought.push_back(op.row.id);
  if (sought.empty()) co_return;
  auto job = [&files = gw.output, sought](store_reader&) -> result<std::vector<output_counts>> {
    std::vector<output_counts> found;
    for (const auto& id : sought) found.push_back(files.counts(id));
    return found;
  };
  const auto counts = co_await gw.read<std::vector<output_counts>>(job);
  std::size_t next = 0;
  for (auto& op : shown) {
    if (next == counts.size()) break;
    if (op.row.id != sought[next]) continue;
    auto& output = op.row.hot.output;
    if (is_terminal(op.row.hot.now))
      output.dropped_bytes = std::max(output.dropped_bytes, counts[next].dropped_bytes);
    else
      output = counts[next];
    ++next;
  }
}

/// Reads reason and author of the cancels that stop these operations.
awaitable<> learn_reasons(thread_context& gw, const std::vector<shown_operation>& shown) {
  std::vector<cancel_id> unknown;
  for (const auto& op : shown)
    if (op.row.hot.stop && op.row.hot.stop->cancel && !gw.cancel_reasons.find(*op.row.hot.stop->cancel))
      unknown.push_back(*op.row.hot.stop->cancel);
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  if (unknown.empty()) co_return;
  auto job = [unknown](store_reader& q) -> result<std::vector<cancel_record>> {
    std::vector<cancel_record> found;
    for (const auto& id : unknown) {
      auto row = q.cancel(id);
      if (!row) return tl::unexpected(row.error());
      if (*row) found.push_back(std::move(**row));
    }
    return found;
  };
  auto rows = co_await gw.read<std::vector<cancel_record>>(job);
  for (auto& row : rows) gw.cancel_reasons.put(row.id, {row.reason, row.by});
  for (const auto& id : unknown) {
    if (gw.cancel_reasons.find(id)) continue; // not on disk: a cancel performed while the disk was full
    auto open = co_await gw.answer<std::optional<cancel_view>>(
        [&gw, id](auto reply) { gw.controller.view_cancel(id, std::move(reply)); });
    if (open) gw.cancel_reasons.put(id, {open->record.reason, open->record.by});
  }
}

} // namespace

awaitable<std::optional<operation_record>> find_row(thread_context& gw, operation_id id, lane where) {
  if (const auto* known = gw.known.find(id)) co_return known->row;
  const auto changes = gw.known.changes_of(id);
  auto job = [id](store_reader& q) { return q.operation(id); };
  auto row = co_await gw.read<std::optional<operation_record>>(job, where);
  if (row) gw.known.keep(*row, changes);
  co_return row;
}

awaitable<std::vector<operation_record>> find_rows(thread_context& gw, std::vector<operation_id> ids) {
  if (ids.empty()) co_return std::vector<operation_record>{};
  auto job = [ids = std::move(ids)](store_reader& q) -> result<std::vector<operation_record>> {
    std::vector<operation_record> rows;
    rows.reserve(ids.size());
    for (const auto& id : ids) {
      auto row = q.operation(id);
      if (!row) return tl::unexpected(row.error());
      if (*row) rows.push_back(std::move(**row));
    }
    return rows;
  };
  co_return co_await gw.read<std::vector<operation_record>>(job);
}

awaitable<std::vector<shown_operation>> present(thread_context& gw, std::vector<operation_record> rows) {
  std::vector<shown_operation> shown;
  shown.reserve(rows.size());
  std::vector<operation_id> live;
  for (auto& row : rows) {
    if (!is_terminal(row.hot.now)) live.push_back(row.id);
    shown.push_back({.row = std::move(row),
                     .waiting = {},
                     .unreachable_since = {},
                     .dead_by = {},
                     .stop_reason = {},
                     .stop_by = {},
                     .kind_data = {}});
  }
  if (!live.empty()) {
    auto call = [&gw, live](auto reply) { gw.controller.views(live, std::move(reply)); };
    const auto views = co_await gw.answer<std::vector<std::optional<live_view>>>(call);
    std::vector<operation_id> ended;
    std::size_t next = 0;
    for (auto& op : shown) {
      if (is_terminal(op.row.hot.now)) continue;
      if (next < views.size() && views[next])
        overlay(op, *views[next]);
      else
        ended.push_back(op.row.id);
      ++next;
    }
    auto again = co_await find_rows(gw, ended);
    for (auto& row : again) {
      const auto at = std::find_if(shown.begin(), shown.end(), [&](const auto& op) { return op.row.id == row.id; });
      if (at != shown.end()) at->row = std::move(row);
    }
  }
  co_await learn_reasons(gw, shown);
  co_await measure_outputs(gw, shown);
  for (auto& op : shown)
    if (op.row.kind == kind::turn && turns::counts_resumes(op.row.hot.result)) op.row.hot.result.clear();
  for (auto& op : shown)
    if (op.row.kind == kind::turn)
      op.kind_data = turns::shown_turn_block(op.row.kind_data, op.row.hot.result,
                                             gw.options.turns ? gw.options.turns->look(op.row.id) : std::nullopt);
    else if (op.row.kind == kind::exchange)
      op.kind_data = turns::shown_exchange_block(op.row.kind_data, op.row.hot.result);
  for (auto& op : shown) {
    if (op.row.kind != kind::tool_call) continue;
    if (!op.row.call_change.empty()) op.kind_data = turns::with_changed(op.row.kind_data, op.row.call_change);
    if (op.row.hot.now != status::paused) continue;
    op.kind_data =
        turns::shown_call_block(turns::with_changed(op.row.kind_data, op.row.call_change), op.row.hot.result);
    op.row.hot.result.clear(); // a live operation has no result yet
  }
  for (auto& op : shown) {
    if (!op.row.hot.stop) continue;
    if (op.row.hot.stop->by || op.row.hot.stop->cause == stop_cause::budget) {
      op.stop_reason = op.row.hot.stop->reason;
      op.stop_by = op.row.hot.stop->by;
    }
    if (!op.row.hot.stop->cancel) continue;
    const auto* words = gw.cancel_reasons.find(*op.row.hot.stop->cancel);
    if (!words) continue;
    op.stop_reason = words->reason;
    op.stop_by = words->by;
  }
  co_return shown;
}

awaitable<shown_operation> present_one(thread_context& gw, operation_record row) {
  std::vector<operation_record> rows;
  rows.push_back(std::move(row));
  auto shown = co_await present(gw, std::move(rows));
  co_return std::move(shown.front());
}

bool depends_on_row_alone(const shown_operation& op) {
  const auto& row = op.row;
  const auto& output = row.hot.output;
  return is_terminal(row.hot.now) && (row.kind == kind::task || row.kind == kind::external) &&
         output.stdout_bytes + output.stderr_bytes < may_be_pruned_bytes &&
         (!row.hot.stop || !row.hot.stop->cancel || op.stop_by);
}

bool depends_on_core_alone(const shown_operation& op) {
  const auto& row = op.row;
  const bool has_output = row.kind == kind::task && row.hot.started_at;
  return !is_terminal(row.hot.now) && (row.kind == kind::task || row.kind == kind::external) && !has_output &&
         !row.hot.stop;
}

std::string operation_text(const thread_context& gw, const shown_operation& op) {
  json_writer to;
  write_operation(to, op, gw.options.worker_lease);
  return to.take();
}

cancel_view view_of_row(cancel_record row) {
  cancel_view view;
  const auto count = [&](receipt r) { return row.report.receipts[static_cast<std::size_t>(r)]; };
  std::uint64_t receipts = 0;
  for (const auto n : row.report.receipts) receipts += n;
  view.unproven_total = row.report.operations > receipts ? row.report.operations - receipts : 0;
  view.proven =
      row.status == cancel_status::settled && count(receipt::unconfirmed) == 0 && count(receipt::declared) == 0;
  view.record = std::move(row);
  return view;
}

awaitable<std::optional<cancel_view>> find_cancel(thread_context& gw, cancel_id id, lane where) {
  auto open = co_await gw.answer<std::optional<cancel_view>>(
      [&gw, id](auto reply) { gw.controller.view_cancel(id, std::move(reply)); });
  if (open) co_return open;
  auto job = [id](store_reader& q) { return q.cancel(id); };
  auto row = co_await gw.read<std::optional<cancel_record>>(job, where);
  if (!row) co_return std::nullopt;
  co_return view_of_row(std::move(*row));
}

awaitable<> fill_titles(thread_context& gw, cancel_view& view, std::size_t most) {
  std::vector<operation_id> unknown;
  for (std::size_t i = 0; i < view.unproven.size() && i < most; ++i)
    if (!gw.titles.find(view.unproven[i].operation)) unknown.push_back(view.unproven[i].operation);
  if (!unknown.empty()) {
    const auto rows = co_await find_rows(gw, std::move(unknown));
    for (const auto& row : rows) gw.titles.put(row.id, row.title);
  }
  for (std::size_t i = 0; i < view.unproven.size() && i < most; ++i)
    if (const auto* title = gw.titles.find(view.unproven[i].operation)) view.unproven[i].title = *title;
}

awaitable<std::string> cancel_text(thread_context& gw, cancel_view view, std::size_t most_unproven) {
  co_await fill_titles(gw, view, most_unproven);
  json_writer to;
  write_cancel(to, view, most_unproven);
  co_return to.take();
}

/// A cancel as events show it. The store is asked first: many streams that catch up show settled cancels only, and must
/// not keep the controller busy.
static awaitable<std::optional<cancel_view>> cancel_of_event(thread_context& gw, cancel_id id) {
  auto job = [id](store_reader& q) { return q.cancel(id); };
  auto row = co_await gw.read<std::optional<cancel_record>>(job);
  if (row && row->status == cancel_status::settled) co_return view_of_row(std::move(*row));
  co_return co_await find_cancel(gw, id);
}

std::vector<operation_id> operations_of(const std::vector<records::event_record>& events) {
  std::vector<operation_id> ids;
  for (const auto& event : events)
    if (event.operation && text_of(event).starts_with("operation_")) ids.push_back(*event.operation);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

awaitable<std::vector<rendered_event>> render_events(thread_context& gw, std::vector<records::event_record> events) {
  std::vector<operation_record> rows;
  if (auto ids = operations_of(events); !ids.empty()) rows = co_await find_rows(gw, std::move(ids));
  co_return co_await render_events(gw, std::move(events), std::move(rows));
}

awaitable<std::vector<rendered_event>> render_events(thread_context& gw, std::vector<records::event_record> events,
                                                     std::vector<operation_record> rows) {
  std::vector<shown_operation> shown;
  if (!rows.empty()) shown = co_await present(gw, std::move(rows));
  std::sort(shown.begin(), shown.end(), [](const auto& a, const auto& b) { return a.row.id < b.row.id; });
  std::vector<rendered_event> rendered;
  for (auto& event : events) {
    std::string data = event.data;
    const auto type = text_of(event); // one that is not listed is shown like its neighbours
    if (event.operation && type.starts_with("operation_")) {
      const auto at =
          std::lower_bound(shown.begin(), shown.end(), *event.operation,
                           [](const shown_operation& op, const operation_id& id) { return op.row.id < id; });
      if (at != shown.end() && at->row.id == *event.operation) {
        const auto event_status = parse_name<status>(type.substr(sizeof("operation_") - 1));
        if (event_status && is_terminal(*event_status)) at->row.hot.now = *event_status;
        data = operation_text(gw, *at);
      }
    } else if (event.cancel && type.starts_with("cancel_")) {
      auto view = co_await cancel_of_event(gw, *event.cancel);
      if (view) data = co_await cancel_text(gw, std::move(*view), max_unproven_listed);
    } else if (event.worker && type.starts_with("worker_") && data.empty()) {
      const auto name = *event.worker;
      auto call = [&gw, name](auto reply) { gw.controller.worker(name, std::move(reply)); };
      const auto worker = co_await gw.answer<std::optional<worker_view>>(call);
      if (worker) {
        json_writer to;
        write_worker(to, *worker);
        data = to.take();
      }
    }
    auto json = std::make_shared<const std::string>(event_json(event, data));
    rendered.push_back({std::move(event), std::move(json)});
  }
  co_return rendered;
}

} // namespace quell::controller::http
