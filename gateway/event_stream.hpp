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

/// Where a stream begins.
struct stream_start {
  std::uint64_t after = 0; ///< the client has what happened up to this event, or does not ask for it
  /// The newest event of the store, read after the watcher was made. Everything later comes to its queue, so the store
  /// is read only up to here, and not at all if `after` is here or later. nullopt: not known, it is read to its end.
  std::optional<std::uint64_t> stored_to{};
};

/// Throws `events_expired` if an event after `after` is no longer kept; 0: whatever is kept is wanted.
void need_kept(std::uint64_t after, const std::optional<std::uint64_t>& oldest);

/// Stored events with the rows of their operations.
struct kept_page {
  std::vector<records::event_record> events;
  std::vector<records::operation_record> rows;
  std::optional<std::uint64_t> oldest;    ///< event that was kept when these had been read
  std::optional<std::uint64_t> looked_to; ///< every requested event up to here was sent; nullopt: the end was reached
};

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
  /// `watcher` is older than what `from` says about the store.
  event_stream(thread_context& gw, events_request requested, stream_start from, std::shared_ptr<event_watcher> watcher,
               stream_writer& to, stream_manner how = {});

  awaitable<> run();
  /// The operation of `until_end` has ended, and its event was written.
  bool has_ended() const { return has_ended_; }

 private:
  awaitable<bool> replay();
  awaitable<std::optional<kept_page>> read_kept(records::event_filter filter);
  /// True if the event was not written yet and belongs to this stream.
  bool admits(const records::event_record& event) const;
  /// A client of events resumes by id; one that posted a message cannot.
  bool can_resume() const { return !how_.until_end && !how_.until_stopped; }
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
  bool has_id_;                            ///< the client: without one it takes what is kept, and has no gap
  std::optional<std::uint64_t> stored_to_; ///< as in `stream_start`
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
