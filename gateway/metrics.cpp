// GET /metrics: the Prometheus text of all counters (docs/operating.md lists them).
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include "gateway/metrics_text.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

/// Takes the times of the cancels that have settled since the last scrape.
awaitable<> time_settled_cancels(gateway_context& gw) {
  auto ids = gw.metrics.take_settled();
  if (ids.empty()) co_return;
  auto job = [ids = std::move(ids)](store_reader& q) -> result<std::vector<records::cancel_record>> {
    std::vector<records::cancel_record> found;
    for (const auto& id : ids) {
      auto row = q.cancel(id);
      if (!row) return tl::unexpected(row.error());
      if (*row) found.push_back(std::move(**row));
    }
    return found;
  };
  const auto rows = co_await gw.read<std::vector<records::cancel_record>>(job);
  for (const auto& row : rows) gw.metrics.settled(row.report);
}

void write_work(metrics_text& to, const cluster_view& cluster) {
  to.family("quell_operations_live", "gauge", "Live operations by kind and status; pending ones are the queue.");
  for (const auto& [name, count] : cluster.operations_by_kind)
    to.sample(count, {{"kind", name.first}, {"status", name.second}});
  to.family("quell_workers", "gauge", "Enrolled workers by status.");
  for (const auto& status : names_of<worker_status>::list) {
    const auto found = cluster.workers.find(std::string(status));
    to.sample(found == cluster.workers.end() ? std::uint64_t{0} : found->second, {{"status", status}});
  }
  to.family("quell_cancels_open", "gauge", "Cancels that are not settled.");
  to.sample(cluster.cancels_open);
  to.family("quell_oldest_open_cancel_seconds", "gauge", "Age of the oldest open cancel, 0 if there is none.");
  to.sample(cluster.oldest_open_cancel_ms.value_or(0) / 1000);
  to.family("quell_seq_total", "counter", "The last seq that was handed out.");
  to.sample(cluster.seq);
}

void write_cancels(metrics_text& to, const metric_counts& counts) {
  to.family("quell_cancel_fenced_seconds", "histogram", "Settled cancels: from request to fenced (durable).");
  to.sample(counts.fenced);
  to.family("quell_cancel_signalled_seconds", "histogram",
            "Settled cancels: from request to applied on every reachable worker and actor.");
  to.sample(counts.signalled);
  to.family("quell_cancel_settled_seconds", "histogram", "Settled cancels: from request to settled.");
  to.sample(counts.settled_seconds);
  to.family("quell_cancels_untimed_total", "counter",
            "Settled cancels that are in none of these histograms: too many between two looks.");
  to.sample(counts.cancels_untimed);
}

/// How far the streams are behind, which their thread knows.
awaitable<event_hub::distance> look_at_streams(gateway_context& gw) {
  std::function<void(std::function<void(event_hub::distance)>)> start = [&there = *gw.watching](auto reply) {
    post_to(*there.io, [&there, reply = std::move(reply)] { reply(there.hub.lag()); });
  };
  co_return co_await ask<event_hub::distance>(gw.io, start);
}

void write_commands(metrics_text& to, const std::vector<std::pair<std::string_view, std::uint64_t>>& commands) {
  to.family("quell_commands_total", "counter", "Commands given to the core by name, refused ones included.");
  for (const auto& [name, count] : commands) to.sample(count, {{"name", name}});
}

void write_forbidden_moves(metrics_text& to, std::uint64_t count) {
  to.family("quell_forbidden_moves_total", "counter",
            "Moves of operations that were refused because the lifecycle forbids them; the log names each.");
  to.sample(count);
}

void write_events(metrics_text& to, gateway_context& gw, const event_hub::distance& lag) {
  to.family("quell_events_total", "counter", "Committed events by type.");
  for (const auto& [type, count] : gw.metrics.events_by_type()) to.sample(count, {{"type", type}});
  to.family("quell_turns_ended_total", "counter", "Turns by how they ended: complete, or the reason of the abort.");
  for (const auto& [how, count] : gw.metrics.turns_by_end()) to.sample(count, {{"end", how}});
  const auto models = gw.metrics.use_by_model();
  to.family("quell_model_tokens_total", "counter", "Tokens of ended model calls; cached ones are part of the input.");
  for (const auto& [model, use] : models) {
    to.sample(use.input, {{"model", model}, {"kind", "input"}});
    to.sample(use.output, {{"model", model}, {"kind", "output"}});
    to.sample(use.cached, {{"model", model}, {"kind", "cached"}});
  }
  to.family("quell_model_cost_total", "counter",
            "Cost of ended model calls, in the currency of the configured prices.");
  for (const auto& [model, use] : models) to.sample(use.cost, {{"model", model}});
  to.family("quell_events_undistributed", "gauge", "Events that have not reached the queues of their watchers.");
  to.sample(std::uint64_t{lag.undistributed});
  to.family("quell_events_longest_queue", "gauge", "Events that the slowest watcher is behind.");
  to.sample(std::uint64_t{lag.longest_queue});
  to.family("quell_event_streams_lost_total", "counter", "Event streams closed because they lagged.");
  to.sample(lag.lost);
}

void write_http(metrics_text& to, const gateway_context& gw) {
  to.family("quell_http_connections", "gauge", "Open HTTP connections.");
  to.sample(std::uint64_t{gw.connections.size()});
  to.family("quell_http_event_streams", "gauge", "Open event streams.");
  to.sample(std::uint64_t{gw.watching->event_streams + gw.signals->event_streams});
  to.family("quell_http_requests_total", "counter", "HTTP requests by status code of the answer.");
  for (const auto& [code, count] : gw.metrics.answers_by_status) to.sample(count, {{"code", std::to_string(code)}});
  to.family("quell_http_requests_rate_limited_total", "counter",
            "HTTP requests refused because of their token's rate.");
  to.sample(gw.metrics.refused_for_rate);
  to.family("quell_http_request_duration_seconds", "histogram",
            "From the last byte of a request to its answer, or to the head of a stream; long polls wait on purpose.");
  for (const auto& [name, times] : gw.metrics.requests)
    to.sample(times, {{"method", name.method}, {"route", name.route}});
}

void write_journal(metrics_text& to, const journal_meter::numbers& n) {
  to.family("quell_journal_batches_total", "counter", "Batches handed to the journal; many may share a commit.");
  to.sample(n.batches);
  to.family("quell_journal_rows_total", "counter", "Rows in these batches.");
  to.sample(n.rows);
  to.family("quell_journal_failures_total", "counter", "Commits that failed.");
  to.sample(n.failures);
  to.family("quell_journal_waiting", "gauge", "Batches that are not durable yet.");
  to.sample(n.waiting);
  to.family("quell_journal_commit_seconds", "histogram", "From handing a batch to the journal until it is durable.");
  to.sample(n.commit_seconds);
}

void write_store(metrics_text& to, const gateway_context& gw) {
  to.family("quell_store_bytes", "gauge", "Size of the store's files.");
  for (const auto* file : {"quell.db", "quell.db-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(gw.options.state_directory + "/" + file, error);
    to.sample(error ? std::uint64_t{0} : static_cast<std::uint64_t>(size), {{"file", file}});
  }
  std::error_code error;
  const auto space = std::filesystem::space(gw.options.state_directory, error);
  to.family("quell_store_free_bytes", "gauge", "Free space where the store is.");
  to.sample(error ? std::uint64_t{0} : static_cast<std::uint64_t>(space.available));
  to.family("quell_store_low", "gauge", "1 while there is so little space that starts are refused.");
  to.sample(std::uint64_t{gw.controller.storage_low() ? 1U : 0U});
}

void write_process(metrics_text& to, const gateway_context& gw) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  to.family("process_cpu_seconds_total", "counter", "CPU time of quelld.");
  to.sample(seconds(used.ru_utime) + seconds(used.ru_stime));
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  to.family("process_resident_memory_bytes", "gauge", "Memory of quelld.");
  to.sample(resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  std::error_code error;
  std::uint64_t open = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error))
    ++open;
  to.family("process_open_fds", "gauge", "Open file descriptors of quelld.");
  to.sample(open);
  to.family("process_start_time_seconds", "gauge", "When quelld started, in seconds since 1970.");
  to.sample(static_cast<double>(gw.options.started_at.time_since_epoch().count()) / 1000);
  to.family("quell_build_info", "gauge", "The version of quelld.");
  to.sample(std::uint64_t{1}, {{"version", gw.options.version}, {"commit", gw.options.commit}});
}

} // namespace

awaitable<response> get_metrics(exchange& x) {
  auto& gw = x.gw;
  if (!gw.options.metrics_public) co_await authenticate(x);
  const auto cluster = co_await gw.answer<cluster_view>([&gw](auto reply) { gw.controller.cluster(std::move(reply)); });
  const auto lag = co_await look_at_streams(gw);
  co_await time_settled_cancels(gw);
  metrics_text to;
  write_work(to, cluster);
  write_cancels(to, gw.metrics);
  if (gw.options.commands) write_commands(to, gw.options.commands());
  if (gw.options.forbidden_moves) write_forbidden_moves(to, gw.options.forbidden_moves());
  write_events(to, gw, lag);
  write_http(to, gw);
  if (gw.options.journal) write_journal(to, gw.options.journal());
  write_store(to, gw);
  write_process(to, gw);
  response answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = to.take();
  co_return answer;
}

} // namespace quell::controller::http
