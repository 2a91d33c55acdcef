// The audit as pages and as a stream. Entries are numbered without gaps, so that a copy can continue where it ended.
#include "gateway/audit_list.hpp"

#include <limits>
#include <utility>

#include "controller/json/json_writer.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

constexpr std::uint32_t entries_at_once = 500;
constexpr std::chrono::seconds look_interval{1};

void write_entry(json_writer& to, const records::audit_record& entry) {
  to.open_object();
  to.field("n", entry.n).field("at", entry.at).field("cancel", entry.cancel);
  to.raw_field("data", entry.data);
  to.field("previous", entry.previous).field("hash", entry.hash);
  to.close_object();
}

using entries = std::vector<records::audit_record>;

std::function<result<entries>(store_reader&)> behind(std::uint64_t after, std::uint32_t limit) {
  return [after, limit](store_reader& store) { return store.audit(after, limit); };
}

/// A stream reads in the share of its token's streams; the limit on waiting lists does not apply to it.
awaitable<entries> read_behind(thread_context& gw, std::string who, std::uint64_t after) {
  auto job = behind(after, entries_at_once);
  list_share share{"streams of " + who, nullptr, std::numeric_limits<std::size_t>::max()};
  auto part = co_await gw.list<records::audit_record>(std::move(share), std::move(job));
  co_return std::move(part.rows);
}

awaitable<> write_lines(thread_context& gw, std::string who, std::uint64_t after, bool follow, stream_writer& to) {
  const auto wake = std::make_shared<signal>(*gw.io);
  to.wake_on_close(wake);
  while (!to.closed() && !gw.stopping) {
    const auto found = co_await read_behind(gw, who, after);
    std::string lines;
    for (const auto& entry : found) {
      json_writer line;
      write_entry(line, entry);
      lines += line.take() + '\n';
      after = entry.n;
    }
    const bool alive = co_await to.write(std::move(lines));
    if (!alive) co_return;
    if (found.size() == entries_at_once) continue;
    if (!follow) co_return;
    co_await wake->wait_until(std::chrono::steady_clock::now() + look_interval);
  }
  if (!follow && gw.stopping)
    throw problem{.code = error_code::shutting_down, .detail = "quelld ends; ask for the rest again"};
}

} // namespace

awaitable<response> list_audit(exchange& x) {
  need_whole_cluster(x);
  query_reader query(x.req);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto given = query.number("after", 0, most);
  const auto after = query.number("cursor", 0, most).value_or(given.value_or(0));
  const auto limit = query.limit();
  const auto follow = query.flag("follow");
  const bool as_lines = x.req.accept.find("application/x-ndjson") != std::string::npos;
  if (follow && !as_lines) query.complain("follow", "is for Accept: application/x-ndjson");
  query.finish();
  if (as_lines) {
    response answer;
    answer.content_type = "application/x-ndjson";
    answer.stream = [who = x.share_key(), held = x.hold(), after, goes_on = follow.value_or(false)](
                        thread_context& here, stream_writer& to) { return write_lines(here, who, after, goes_on, to); };
    co_return answer;
  }
  auto job = behind(after, limit);
  const auto part = co_await x.list<records::audit_record>(std::move(job));
  const auto& found = part.rows;
  json_writer to;
  to.open_object().key("audit").open_array();
  for (const auto& entry : found) write_entry(to, entry);
  to.close_array();
  const bool more = found.size() >= limit;
  to.field("next_cursor", more ? std::optional(std::to_string(found.back().n)) : std::nullopt);
  to.close_object();
  co_return json_answer(to.take());
}

} // namespace quell::controller::http
