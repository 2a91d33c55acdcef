// One SSE client of events: stored events first, then new ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/exchange.hpp"
#include "gateway/presenter.hpp"

namespace quell::controller::http {

struct events_request {
  records::event_filter filter;
  std::optional<operation_id> exactly; ///< events of this operation only, without those below it
  std::optional<std::uint64_t> after;
  bool sees_audit = false;
  std::string who; ///< for its share of reading: the token, or the part of quell that reads
};

/// Stored events with the rows of their operations.
struct kept_page {
  std::vector<records::event_record> events;
  std::vector<records::operation_record> rows;
  std::optional<std::uint64_t> looked_to; ///< every requested event up to here was sent; nullopt: the end was reached
};

/// Reads as many stored events as one turn of `requested.who` allows, and their rows in the same turn. The limit on
/// waiting lists does not apply to streams.
awaitable<kept_page> read_kept(thread_context& gw, const events_request& requested, records::event_filter filter);

/// Holds text back for a while, so that a chat service need not edit a message for every word.
class text_merger {
 public:
  /// False: the event is not a text, or merging is off; it must be written unchanged, after the result of `take`.
  bool add(const rendered_event& event);
  bool is_empty() const { return text_.empty(); }
  /// The frames of the text held back.
  std::string take();

 private:
  records::event_record last_;
  std::uint64_t offset_ = 0;
  std::string text_;
};

/// The follow-ups of a message that was a stop: its acknowledgement, and the end of its cancel.
struct stopped_story {
  message_id message;
  cancel_id cancel;
};

struct stream_manner {
  std::optional<operation_id> until_end; ///< ends after the terminal event of this operation
  /// Streams only these follow-ups, and ends when both were sent.
  std::optional<stopped_story> until_stopped;
  milliseconds merge_text{0}; ///< how long text is held back; 0 = not at all
  /// Writes an event in another protocol than our own; "" = not at all. Comments are written as in ours.
  std::function<std::string(const rendered_event&)> as_frame{};
};

class event_stream {
 public:
  event_stream(thread_context& gw, events_request requested, std::uint64_t after,
               std::shared_ptr<event_watcher> watcher, stream_writer& to, stream_manner how = {});

  awaitable<> run();
  /// The operation of `until_end` has ended, and its event was written.
  bool has_ended() const { return has_ended_; }

 private:
  awaitable<bool> replay();
  /// True if the event was not written yet and belongs to this stream.
  bool admits(const records::event_record& event) const;
  bool needs_tree() const;
  awaitable<bool> lies_below(const records::event_record& event);
  bool is_of_story(const records::event_record& event) const;
  void note_story(const records::event_record& event);
  bool is_exact(const records::event_record& event) const;
  void append(std::string& frames, const rendered_event& event);
  wait_deadline wake_up() const;

  thread_context& gw_;
  events_request requested_;
  std::uint64_t last_;
  std::shared_ptr<event_watcher> watcher_;
  stream_writer& to_;
  stream_manner how_;
  text_merger merged_;
  wait_deadline flush_at_{};
  bool has_ended_ = false;
  bool is_acknowledged_ = false, is_settled_ = false;
  std::unordered_map<operation_id, bool> is_below_;
};

/// After the stream: what becomes of the turn that its client owns.
void settle(owned_turn& owned, const event_stream& events, const stream_writer& to);

} // namespace quell::controller::http
