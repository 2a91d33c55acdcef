// GET /v1/operations/{id}/output: raw bytes of one stream, as stored or followed.
#include <algorithm>

#include "gateway/file_sending.hpp"
#include "gateway/output_reading.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

struct output_request {
  stream which = stream::out;
  std::optional<std::uint64_t> offset, limit_bytes, tail_bytes;
  bool follow = false;
};

output_request read_output_request(const exchange& x) {
  query_reader query(x.req);
  output_request requested;
  const auto streams = query.words<stream>("stream");
  if (streams.size() > 1)
    query.complain("stream", "may be given only once; both streams in one come with Accept: text/event-stream");
  if (!streams.empty()) requested.which = streams.front();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  requested.offset = query.number("offset", 0, most);
  requested.limit_bytes = query.number("limit_bytes", 0, most);
  requested.tail_bytes = query.number("tail_bytes", 0, most);
  requested.follow = query.flag("follow").value_or(false);
  if (requested.offset && requested.tail_bytes)
    query.complain("tail_bytes", "cannot be combined with offset; give one of them");
  if (requested.follow && requested.limit_bytes)
    query.complain("limit_bytes", "cannot be combined with follow; leave one of them out");
  query.finish();
  return requested;
}

bool has_no_output(const fault& why) {
  return has_code(why, error_code::not_found) || has_code(why, error_code::operation_not_found);
}

output_store::slice empty_slice(std::uint64_t offset) {
  output_store::slice none;
  none.offset = offset;
  none.end = true;
  return none;
}

/// A slice; an operation without output gives an empty one, with an end. On a reader's thread.
result<output_store::slice> slice_of(output_store& output, operation_id id, stream which, std::uint64_t offset,
                                     std::size_t limit) {
  auto read = output.read(id, which, offset, limit);
  if (!read && has_no_output(read.error())) return empty_slice(offset);
  return read;
}

/// As much of a file as one look at the store finds, so that long output is not looked up for each part.
constexpr std::size_t most_located_bytes = 8 * 1024 * 1024;

/// The same, but many bytes stay in their file. On a reader's thread.
result<output_store::located> locate(output_store& output, operation_id id, stream which, std::uint64_t offset,
                                     std::size_t limit) {
  auto found = output.locate(id, which, offset, limit);
  if (!found && has_no_output(found.error())) return output_store::located{empty_slice(offset), std::nullopt};
  return found;
}

/// The range that the head of an answer gives, with its first bytes.
struct beginning {
  std::uint64_t start = 0, until = 0; ///< as asked for; `start` may lie before the oldest byte that is kept
  std::uint64_t size = 0;
  output_store::slice first;
  bool is_end = false; ///< `until` is the end of the stream
};

/// All reads of a head at once, on a reader's thread.
result<beginning> begin_of(output_store& output, operation_id id, const output_request& requested) {
  const auto now = slice_of(output, id, requested.which, 0, 1);
  if (!now) return tl::unexpected(now.error());
  beginning b;
  b.size = now->size;
  b.start = std::max(requested.offset.value_or(0), now->oldest);
  if (requested.tail_bytes)
    b.start = std::max(now->oldest, now->size > *requested.tail_bytes ? now->size - *requested.tail_bytes : 0);
  b.until = std::max(now->size, b.start);
  if (requested.limit_bytes && *requested.limit_bytes < b.until - b.start) b.until = b.start + *requested.limit_bytes;
  const auto most = std::min<std::uint64_t>(output_slice_bytes, std::max<std::uint64_t>(b.until - b.start, 1));
  auto first = slice_of(output, id, requested.which, b.start, most);
  if (!first) return tl::unexpected(first.error());
  b.first = std::move(*first);
  b.is_end = b.first.end && b.first.offset + b.first.bytes.size() <= b.until; // else it grew between the looks
  if (b.is_end || b.until != now->size || b.until == b.start) return b;
  const auto last = slice_of(output, id, requested.which, b.until, 1);
  if (!last) return tl::unexpected(last.error());
  b.is_end = last->end && last->bytes.empty();
  return b;
}

void cut_end(output_store::located& found, std::uint64_t bytes) {
  const auto kept = found.length() - std::min(bytes, found.length());
  if (found.stored)
    found.stored->length = kept;
  else
    found.about.bytes.resize(kept);
}

output_store::slice& slice_in(output_store::slice& s) { return s; }
output_store::slice& slice_in(output_store::located& l) { return l.about; }
output_store::slice& slice_in(beginning& b) { return b.first; }

/// The result of `job`, whose slice has no end before its operation has one: what was not sent to a worker yet has no
/// stream that could have ended. An operation that has ended since `job` looked can have written since then, too, so
/// `job` looks again.
template <class T>
awaitable<T> read_with_end(thread_context& gw, operation_id id, std::function<result<T>(store_reader&)> job) {
  auto found = co_await gw.read<T>(job);
  if (const auto& s = slice_in(found); !s.end || s.size > 0) co_return found;
  const auto row = co_await find_row(gw, id);
  const bool has_ended = !row || is_terminal(row->hot.now);
  if (has_ended)
    found = co_await gw.read<T>(std::move(job));
  else
    slice_in(found).end = false;
  co_return found;
}

awaitable<output_store::located> locate_output(thread_context& gw, operation_id id, stream which, std::uint64_t offset,
                                               std::size_t limit) {
  auto& output = gw.output;
  const auto job = [&output, id, which, offset, limit](store_reader&) {
    return locate(output, id, which, offset, limit);
  };
  auto found = co_await read_with_end<output_store::located>(gw, id, job);
  co_return found;
}

/// Bytes in a file are written in parts, so that no reader's thread is kept for long. False if the client has gone,
/// or if quelld ends.
awaitable<bool> write_located(thread_context& gw, output_store::located found, stream_writer& to) {
  if (!found.stored) {
    const bool alive = co_await to.write(std::move(found.about.bytes));
    co_return alive;
  }
  constexpr std::uint64_t part_bytes = 1024 * 1024;
  auto rest = std::move(*found.stored);
  while (rest.length > 0) {
    if (gw.stopping) co_return false;
    auto part = rest;
    part.length = std::min(rest.length, part_bytes);
    rest.from += part.length;
    rest.length -= part.length;
    const bool alive = co_await to.write_file(gw, std::move(part));
    if (!alive) co_return false;
  }
  co_return true;
}

/// Writes [offset, until), or with `follow` everything until the stream's end, which the trailer `Quell-End: true` then
/// confirms. A followed answer without the trailer was cut (a gap, a stop of quelld), and the client must request the
/// rest.
awaitable<> write_output(thread_context& gw, operation_id id, stream which, std::uint64_t offset, std::uint64_t until,
                         bool follow, stream_writer& to) {
  auto wake = std::make_shared<signal>(*gw.io);
  to.wake_on_close(wake);
  const auto ticket = gw.hub.watch(id, wake);
  idle_output idle_wait(gw, id);
  while (!to.closed() && !gw.stopping) {
    const auto want = follow ? most_located_bytes : std::min<std::uint64_t>(most_located_bytes, until - offset);
    if (want == 0) co_return;
    auto found = co_await locate_output(gw, id, which, offset, want);
    const bool is_end = found.about.end;
    // Bytes are missing here. A following client requests again from its offset and learns of the gap from
    // Quell-Offset.
    if (follow && found.about.offset > offset) co_return;
    if (found.length() > 0) {
      offset = found.about.offset + found.length();
      if (!follow && offset > until) cut_end(found, offset - until);
      const bool written = co_await write_located(gw, std::move(found), to);
      if (!written && gw.stopping) break; // what was written must not look whole
      if (!written) co_return;
      if (is_end && follow) break;
      if (!follow && offset >= until) co_return;
      idle_wait.progress();
      continue;
    }
    if (!follow) co_return;
    if (is_end) break;
    const bool over = co_await idle_wait.is_over();
    if (over) break;
    constexpr auto unseen = std::numeric_limits<std::uint64_t>::max(); // the other stream does not matter here
    {
      const output_watch watch(gw, id, which == stream::out ? offset : unseen, which == stream::err ? offset : unseen,
                               wake);
      co_await wake->wait_until(idle_wait.next_look());
    }
    co_await idle_wait.pause_if_idle(*wake);
  }
  if (!follow && gw.stopping)
    throw problem{.code = error_code::shutting_down, .detail = "quelld ends; ask for the rest again"};
  if (follow && !to.closed() && !gw.stopping) to.end_with("Quell-End", "true");
}

} // namespace

awaitable<output_store::slice> read_output(thread_context& gw, operation_id id, stream which, std::uint64_t offset,
                                           std::size_t limit) {
  auto& output = gw.output;
  const auto job = [&output, id, which, offset, limit](store_reader&) {
    return slice_of(output, id, which, offset, limit);
  };
  auto slice = co_await read_with_end<output_store::slice>(gw, id, job);
  co_return slice;
}

awaitable<bool> idle_output::is_over() {
  if (!ended_) {
    auto row = co_await find_row(gw_, id_);
    ended_ = !row || is_terminal(row->hot.now);
    if (ended_) progress();
  }
  co_return ended_&& std::chrono::steady_clock::now() - quiet_since_ >= output_linger;
}

awaitable<> idle_output::pause_if_idle(signal& wake) {
  if (++idle_rounds_ > 2) co_await wake.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
}

wait_deadline idle_output::next_look() const {
  return ended_ ? quiet_since_ + output_linger : std::chrono::steady_clock::now() + std::chrono::seconds(15);
}

awaitable<records::operation_record> output_owner(exchange& x) {
  const auto id = path_id<operation_id>(x);
  auto row = co_await visible_row(x, id);
  co_return row;
}

awaitable<response> get_output(exchange& x) {
  if (x.req.wants_event_stream()) co_return co_await output_events(x);
  auto& gw = x.gw;
  const auto requested = read_output_request(x);
  const auto row = co_await output_owner(x);
  const auto id = row.id;
  auto& output = gw.output;
  const auto read_head = [&output, id, requested](store_reader&) { return begin_of(output, id, requested); };
  auto head = co_await read_with_end<beginning>(gw, id, read_head);
  auto& first = head.first;
  auto start = head.start, until = head.until;
  const bool end = head.is_end && (head.size > 0 || first.end);
  response answer;
  answer.content_type = "application/octet-stream";
  answer.headers.emplace_back("Quell-Offset", std::to_string(std::max(start, first.offset)));
  answer.headers.emplace_back("Quell-End", end ? "true" : "false");
  answer.headers.emplace_back("Quell-Dropped", std::to_string(first.dropped));
  if (!requested.follow && until - start <= first.bytes.size()) {
    first.bytes.resize(until - start);
    answer.body = std::move(first.bytes);
    co_return answer;
  }
  const auto which = requested.which;
  const bool follow = requested.follow;
  if (follow) answer.headers.emplace_back("Trailer", "Quell-End");
  start = std::max(start, first.offset); // the head reports the bytes missing at the front
  until = std::max(until, start);
  answer.stream = [id, which, start, until, follow](thread_context& here, stream_writer& to) {
    return write_output(here, id, which, start, until, follow, to);
  };
  co_return answer;
}

} // namespace quell::controller::http
