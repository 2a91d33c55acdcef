// The outcome of a stopped call is kept within a minute of its end, if only as `ignored`. A call without one was
// stopped by a life that ended too early, or interrupted by that end: it is told now, again perhaps, which changes
// nothing for a task that is over.
#include "actors/turns/left_stops.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "actors/turns/left_work.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/mcp_tools.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/note_call_outcome.hpp"
#include "protocol/failure_code.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::hours oldest_stop{7 * 24}; ///< a cancel of before that is told to nobody any more
constexpr milliseconds between_looks{1'000};
constexpr milliseconds waits_for_late{60'000}; ///< the time to wait for a cancelled call's true end
constexpr std::uint32_t calls_per_read = 1'000;

struct left_task {
  operation_id call;
  std::string server, task;
};

std::vector<records::operation_record> calls_of(store_reader& store, const std::string& tool, bool is_live,
                                                wall_time since) {
  records::operation_filter f;
  f.kinds = {kind::tool_call};
  f.names = {tool};
  f.want_live = is_live;
  f.want_ended = !is_live;
  f.ascending = true;
  f.limit = calls_per_read;
  if (!is_live) {
    f.ended_statuses = {status::cancelled, status::failed}; // by its time or its budget, or with its turn
    f.ended_since = since;
  }
  std::vector<records::operation_record> all;
  while (true) {
    auto page = store.operations(f);
    if (!page || page->empty()) return all;
    f.after_seq = page->back().seq;
    for (auto& row : *page) all.push_back(std::move(row));
    if (page->size() < f.limit) return all;
  }
}

std::string reason_of(const records::operation_record& row, store_reader& store) {
  const auto& stop = row.hot.stop;
  if (!stop) return {};
  if (!stop->cancel) return stop->reason;
  const auto cancel = store.cancel(*stop->cancel);
  return cancel && *cancel ? (*cancel)->reason : std::string();
}

bool is_untold(const records::operation_record& row) {
  const bool is_interrupted = row.hot.error && has_code(*row.hot.error, failure_code::interrupted);
  return (row.hot.stop || is_interrupted) && row.hot.late.empty();
}

void tell(const std::shared_ptr<agent_runtime>& runtime, const left_task& of, const std::string& reason) {
  const auto note = [runtime, call = of.call, title = server_title(of.server)](const std::string& late) {
    spdlog::info("{} was told by this life to stop call {}: {}", title, call.text(), late);
    runtime->core.execute(
        {commands::note_call_outcome{call, R"({"server":")" + late + R"("})", commands::noted_call::any}, {}});
  };
  const auto reached = [runtime, note, task = of.task, reason](const std::shared_ptr<integrations::mcp_server>& server,
                                                               const std::string&) {
    const std::shared_ptr<integrations::mcp_call> running = server ? server->follow(task, {}) : nullptr;
    if (!running) return note("ignored");
    running->cancel(reason.empty() ? "cancelled by user" : reason, note);
    runtime->background_reads->run_after(waits_for_late, [running](store_reader&) { running->stop_waiting(); });
  };
  runtime->mcp->when_ready(of.server, of.call, reach_to::stop, reached);
}

void look_after(const std::shared_ptr<agent_runtime>& runtime, std::vector<left_task> open) {
  if (open.empty()) return;
  runtime->background_reads->run_after(between_looks, [runtime, open = std::move(open)](store_reader& store) {
    std::vector<left_task> still;
    for (const auto& one : open) {
      if (runtime->who.agent_of_call(one.call)) continue; // which tells it whatever comes
      const auto row = store.operation(one.call);
      if (!row || !*row) continue;
      if (is_untold(**row))
        tell(runtime, one, reason_of(**row, store));
      else if (!is_terminal((*row)->hot.now))
        still.push_back(one);
    }
    look_after(runtime, std::move(still));
  });
}

} // namespace

void tell_left_stops(const std::shared_ptr<agent_runtime>& runtime, store_reader& store) {
  const auto settings = runtime->settings.get();
  const auto since = runtime->core.now().wall - oldest_stop;
  std::vector<left_task> open;
  for (const auto& server : settings->mcp) {
    if (!is_remote_agent(server.name)) continue;
    const auto tool = a2a_offered_name(server.name);
    for (const bool is_live : {true, false})
      for (const auto& row : calls_of(store, tool, is_live, since)) {
        if (!is_live && !is_untold(row)) continue;
        const auto task = named_task_of(store, row.id);
        if (!task || task->name.empty()) continue;
        left_task one{row.id, server.name, task->name};
        if (is_untold(row))
          tell(runtime, one, reason_of(row, store));
        else
          open.push_back(std::move(one));
      }
  }
  look_after(runtime, std::move(open));
}

} // namespace quell::controller::turns
