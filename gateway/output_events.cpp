// GET /v1/operations/{id}/output as SSE: `output` events of both streams in the order received. The event id is the
// number of the piece, so that Last-Event-ID resumes after it.
#include <algorithm>
#include <charconv>
#include <utility>

#include "controller/cluster_json.hpp"
#include "gateway/output_reading.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

using piece = output_store::piece;

constexpr std::size_t pieces_at_once = 64;
constexpr std::uint64_t event_bytes = 64 * 1024;

struct events_request {
  std::optional<stream> only;
  std::uint64_t after = 0; ///< number of the piece
  std::optional<std::uint64_t> tail_bytes;
  bool follow = true;
};

events_request read_output_events_request(const exchange& x) {
  query_reader query(x.req);
  events_request requested;
  const auto streams = query.words<stream>("stream");
  if (streams.size() == 1) requested.only = streams.front();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  requested.after = query.number("after", 0, most).value_or(0);
  requested.tail_bytes = query.number("tail_bytes", 0, most);
  requested.follow = query.flag("follow").value_or(true);
  query.finish();
  const auto& last = x.req.last_event_id;
  if (!last.empty()) {
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), requested.after);
    if (error != std::errc{} || end != last.data() + last.size())
      throw problem{.code = error_code::bad_request,
                    .detail = "Last-Event-ID must be the id of an output event of this operation"};
  }
  return requested;
}

awaitable<std::vector<piece>> read_order(thread_context& gw, operation_id id, std::uint64_t after, std::size_t limit) {
  auto& output = gw.output;
  auto pieces =
      co_await gw.read<std::vector<piece>>([&output, id, after, limit](store_reader&) -> result<std::vector<piece>> {
        return output.order(id, after, limit);
      });
  co_return pieces;
}

/// The number of bytes to leave out at the front so that the last `tail` remain.
awaitable<std::uint64_t> bytes_before_tail(thread_context& gw, operation_id id, events_request requested) {
  std::uint64_t total = 0, after = requested.after;
  while (true) {
    const auto pieces = co_await read_order(gw, id, after, 4096);
    if (pieces.empty()) break;
    after += pieces.size();
    for (const auto& p : pieces)
      if (!requested.only || p.which == *requested.only) total += p.length;
  }
  co_return total > *requested.tail_bytes ? total - *requested.tail_bytes : 0;
}

/// One SSE client: its position, and the writing of the next piece.
class output_events_stream {
 public:
  output_events_stream(thread_context& gw, records::operation_record row, events_request requested, stream_writer& to)
      : gw_(gw), row_(std::move(row)), requested_(requested), to_(to), position_(requested.after),
        wake_(std::make_shared<signal>(*gw.io)) {}

  awaitable<> run() {
    to_.wake_on_close(wake_);
    const auto ticket = gw_.hub.watch(row_.id, wake_);
    bool alive = co_await to_.write("retry: 1000\n\n");
    co_await pass_known_pieces();
    if (requested_.tail_bytes) skip_ = co_await bytes_before_tail(gw_, row_.id, requested_);
    idle_output idle_wait(gw_, row_.id);
    while (alive && !to_.closed() && !gw_.stopping) {
      const auto pieces = co_await next_pieces(pieces_at_once);
      for (const auto& p : pieces) {
        ++position_;
        alive = co_await write_piece(p);
        if (!alive) co_return;
      }
      if (!pieces.empty()) {
        idle_wait.progress();
        continue;
      }
      // Reads sizes and ends first, then the order once more: it includes pieces that came in between.
      const bool complete = co_await look_at_ends();
      const auto more = co_await next_pieces(1);
      if (!more.empty()) continue;
      if (complete && is_short() && !std::exchange(looked_again_, true)) {
        begin_again();
        continue;
      }
      if (complete && wants_all() && whole_ == seen_ && !to_.closed()) to_.end_with("Quell-End", "true");
      if (complete || !requested_.follow) co_return;
      const bool over = co_await idle_wait.is_over();
      if (over) co_return;
      bool woken = false;
      {
        const output_watch watch(gw_, row_.id, seen_[0], seen_[1], wake_);
        const auto comment_at = std::chrono::steady_clock::now() + gw_.options.comment_interval;
        woken = co_await wake_->wait_until(std::min(idle_wait.next_look(), comment_at));
      }
      if (!woken) alive = co_await to_.write(": still here\n\n");
      co_await idle_wait.pause_if_idle(*wake_);
    }
  }

 private:
  /// A client that resumes knows the pieces up to the one that it names. If there are fewer, they were numbered anew
  /// meanwhile: rather than lose some, it gets all.
  awaitable<> pass_known_pieces() {
    std::uint64_t passed = 0;
    while (passed < requested_.after) {
      const auto known =
          co_await read_order(gw_, row_.id, passed, std::min<std::uint64_t>(4096, requested_.after - passed));
      if (known.empty()) {
        reached_ = {};
        begin_again();
        requested_.after = 0;
        co_return;
      }
      passed += known.size();
      for (const auto& p : known) reached_of(p) = std::max(reached_of(p), p.offset + p.length);
      last_ = known.back();
    }
  }

  /// The pieces behind `position_`. They are numbered anew, in larger steps, when quelld forgets what it knew of a live
  /// operation: at its end, and in a restart. Then the first ones come again, and `write_piece` leaves out what is
  /// written.
  awaitable<std::vector<piece>> next_pieces(std::size_t limit) {
    if (last_) {
      auto pieces = co_await read_order(gw_, row_.id, position_ - 1, limit + 1);
      if (!pieces.empty() && is_same(pieces.front(), *last_)) {
        pieces.erase(pieces.begin());
        co_return pieces;
      }
      begin_again();
    }
    auto pieces = co_await read_order(gw_, row_.id, position_, limit);
    co_return pieces;
  }

  void begin_again() {
    position_ = 0;
    last_.reset();
  }

  /// One that is too old to be known by more than its number counts as the same.
  static bool is_same(const piece& found, const piece& known) {
    if (found.length == 0) return true;
    return found.which == known.which && found.offset == known.offset && found.length == known.length;
  }

  std::uint64_t& reached_of(const piece& p) { return reached_[static_cast<std::size_t>(p.which)]; }

  /// Bytes of a stream that was asked for are there and were not written.
  bool is_short() const {
    for (const auto which : {stream::out, stream::err}) {
      const auto i = static_cast<std::size_t>(which);
      if (requested_.only.value_or(which) == which && reached_[i] < seen_[i]) return true;
    }
    return false;
  }

  /// Notes the sizes of both streams; true if both are complete.
  awaitable<bool> look_at_ends() {
    bool complete = true;
    for (const auto which : {stream::out, stream::err}) {
      const auto now = co_await read_output(gw_, row_.id, which, 0, 1);
      const auto last = co_await read_output(gw_, row_.id, which, now.size, 1);
      seen_[static_cast<std::size_t>(which)] = now.size;
      complete = complete && last.end && last.bytes.empty();
    }
    co_return complete;
  }

  awaitable<bool> write_piece(piece p) {
    last_ = p;
    if (requested_.only && p.which != *requested_.only) co_return true;
    auto& reached = reached_of(p);
    auto& whole = whole_[static_cast<std::size_t>(p.which)];
    const std::uint64_t end = p.offset + p.length;
    if (reached >= end) co_return true;
    std::uint64_t offset = std::max(p.offset, reached);
    const auto skipped = std::min(skip_, end - offset);
    skip_ -= skipped;
    offset += skipped;
    bool follows = offset == whole;
    reached = offset;
    while (offset < end) {
      auto slice = co_await read_output(gw_, row_.id, p.which, offset, std::min(event_bytes, end - offset));
      if (slice.bytes.empty() || slice.offset >= end) break; // pruned meanwhile, or its file cannot be read
      follows = follows && slice.offset == offset;
      const auto next = slice.offset + slice.bytes.size();
      // Only the last part has the id: a resume never leaves out half a piece.
      auto frame = next >= end ? "id: " + std::to_string(position_) + '\n' : std::string();
      frame += "event: output\ndata: " + envelope(p, slice.offset, slice.bytes) + "\n\n";
      offset = reached = next;
      if (follows) whole = next;
      const bool alive = co_await to_.write(std::move(frame));
      if (!alive) co_return false;
    }
    co_return true;
  }

  /// The request leaves nothing out.
  bool wants_all() const { return !requested_.only && !requested_.tail_bytes && requested_.after == 0; }

  std::string envelope(const piece& p, std::uint64_t offset, std::string_view bytes) const {
    records::event_record event;
    event.id = position_;
    event.type = event_type::output;
    event.at = p.at != wall_time{} ? p.at : std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
    event.scope = row_.scope;
    event.operation = row_.id;
    event.root = row_.root;
    event.worker = row_.hot.worker;
    return event_json(event, output_data_json(p.which, offset, bytes));
  }

  thread_context& gw_;
  records::operation_record row_;
  events_request requested_;
  stream_writer& to_;
  std::uint64_t position_;    ///< all pieces before it are written
  std::optional<piece> last_; ///< the piece before `position_`; none at the beginning
  bool looked_again_ = false; ///< at all pieces, because bytes were missing at the end
  std::uint64_t skip_ = 0;
  std::array<std::uint64_t, 2> reached_{}; ///< of each stream: below it all is written, left out on purpose, or lost
  std::array<std::uint64_t, 2> whole_{};   ///< of each stream, from its first byte: written here without a gap
  std::array<std::uint64_t, 2> seen_{};    ///< sizes of the streams at the last check
  std::shared_ptr<signal> wake_;
};

awaitable<> write_events(thread_context& gw, records::operation_record row, events_request requested,
                         stream_writer& to) {
  output_events_stream events(gw, std::move(row), requested, to);
  co_await events.run();
}

} // namespace

awaitable<response> output_events(exchange& x) {
  const auto requested = read_output_events_request(x);
  auto row = co_await output_owner(x);
  auto held = x.hold();
  response answer;
  answer.content_type = "text/event-stream";
  answer.headers.emplace_back("Trailer", "Quell-End");
  answer.stream = [row = std::move(row), requested, held = std::move(held)](thread_context& here, stream_writer& to) {
    return write_events(here, row, requested, to);
  };
  co_return answer;
}

} // namespace quell::controller::http
