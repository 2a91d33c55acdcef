// The outcome of a stopped call is kept within a minute of its end, if only as `ignored`. A call without one was
// stopped by a life that ended too early, or interrupted by that end: it is told now; if it was told
// before, that changes nothing for a task that is over. A call that had lost its agent was ended without a stop: its
// task is only asked for. The outcome is kept as soon as an agent tells one; until then each further life asks again.
#include "actors/turns/left_stops.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/turns/left_work.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/mcp_tools.hpp"
#include "actors/turns/operation_pages.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/note_call_outcome.hpp"
#include "protocol/failure_code.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::hours oldest_stop{7 * 24}; ///< an end of before that concerns no agent any more
constexpr milliseconds between_looks{1'000};
constexpr milliseconds waits_for_late{60'000}; ///< the time to wait for a cancelled call's true end

struct left_task {
  operation_id call;
  std::string server, task;
};

enum class calls_that : std::uint8_t { live, ended };

records::operation_filter calls_of(const std::string& tool, calls_that which, wall_time since) {
  records::operation_filter f;
  f.kinds = {kind::tool_call};
  f.names = {tool};
  f.want_live = which == calls_that::live;
  f.want_ended = which == calls_that::ended;
  if (which == calls_that::ended) {
    f.ended_statuses = {status::cancelled, status::failed}; // by its time or its budget, or with its turn
    f.ended_since = since;
  }
  return f;
}

std::string reason_of(const records::operation_record& row, store_reader& store) {
  const auto& stop = row.hot.stop;
  if (!stop) return {};
  if (!stop->cancel) return stop->reason;
  const auto cancel = store.cancel(*stop->cancel);
  return cancel && *cancel ? (*cancel)->reason : std::string();
}

bool ended_as(const records::operation_record& row, failure_code code) {
  return row.hot.error && has_code(*row.hot.error, code);
}

bool is_untold(const records::operation_record& row) {
  return (row.hot.stop || ended_as(row, failure_code::interrupted)) && row.hot.late.empty();
}

/// Its agent could not be asked for so long that it was given up: the task may have ended since.
bool is_unasked(const records::operation_record& row) {
  return !row.hot.stop && ended_as(row, failure_code::outcome_unknown) && row.hot.late.empty();
}

/// Keeps an outcome; `ignored` is none.
auto keeping(const std::shared_ptr<agent_runtime>& runtime, const left_task& of, const char* what) {
  return [runtime, call = of.call, title = server_title(of.server), what](const std::string& late) {
    spdlog::info("{} was {} by this life for call {}: {}", title, what, call.text(), late);
    if (late == "ignored") return;
    runtime->core.execute(
        {commands::note_call_outcome{call, R"({"server":")" + late + R"("})", commands::noted_call::any}, {}});
  };
}

void tell(const std::shared_ptr<agent_runtime>& runtime, const left_task& of, const std::string& reason) {
  const auto note = keeping(runtime, of, "told to stop");
  const auto reached = [runtime, note, task = of.task, reason](const std::shared_ptr<integrations::mcp_server>& server,
                                                               const std::string&) {
    const std::shared_ptr<integrations::mcp_call> running = server ? server->follow(task, {}) : nullptr;
    if (!running) return note("ignored");
    running->cancel(reason.empty() ? "cancelled by user" : reason, note);
    runtime->background_reads->run_after(waits_for_late, [running](store_reader&) { running->stop_waiting(); });
  };
  runtime->mcp->when_ready(of.server, of.call, reach_to::stop, reached);
}

void ask(const std::shared_ptr<agent_runtime>& runtime, const left_task& of) {
  const auto note = keeping(runtime, of, "asked for the end of a task");
  const auto reached = [note, task = of.task](const std::shared_ptr<integrations::mcp_server>& server,
                                              const std::string&) {
    if (!server) return note("ignored");
    server->ask_end(task, note);
  };
  runtime->mcp->when_ready(of.server, of.call, reach_to::work, reached);
}

void look_after(const std::shared_ptr<agent_runtime>& runtime, std::vector<left_task> open) {
  if (open.empty()) return;
  runtime->background_reads->run_after(between_looks, [runtime, open = std::move(open)](store_reader& store) {
    std::vector<left_task> still;
    for (const auto& one : open) {
      if (runtime->registry.agent_of_call(one.call)) continue; // which tells it whatever comes
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
    for (const auto which : {calls_that::live, calls_that::ended}) {
      const auto take = [&](const records::operation_record& row) {
        if (which == calls_that::ended && !is_untold(row) && !is_unasked(row)) return;
        const auto task = named_task_of(store, row.id);
        if (!task || task->name.empty()) return;
        left_task one{row.id, server.name, task->name};
        if (is_untold(row))
          tell(runtime, one, reason_of(row, store));
        else if (which == calls_that::ended)
          ask(runtime, one);
        else
          open.push_back(std::move(one));
      };
      if (const auto why = for_each_operation(store, calls_of(tool, which, since), take))
        spdlog::warn("stops of calls of the {} cannot be passed on: {}", server_title(server.name), why->detail);
    }
  }
  look_after(runtime, std::move(open));
}

} // namespace quell::controller::turns
