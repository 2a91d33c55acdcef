// One SSE client of events: first what is kept, then what comes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/gateway/exchange.hpp"
#include "controller/gateway/presenter.hpp"

namespace quell::controller::http {

struct events_request {
  storage::event_filter filter;
  std::optional<operation_id> exactly; ///< only of this operation, not of those below
  std::optional<std::uint64_t> after;
  bool sees_audit = false;
  std::string who; ///< for the share of reading: the token, or what of quell itself reads
};

/// As much of what is kept as one turn of `asked.who` allows. Streams are as many as a token may have and wait.
awaitable<list_part<storage::event_record>> read_kept(core& gw, const events_request& asked,
                                                      storage::event_filter filter);

/// Text that is held back for a while, so that a chat service is not asked to edit a message for every word.
class text_merger {
 public:
  /// False: not a text, or nothing is merged; it goes out as it is, behind what `take` gives.
  bool add(const rendered_event& event);
  bool is_empty() const { return text_.empty(); }
  /// The frames of what was held back.
  std::string take();

 private:
  storage::event_record last_;
  std::uint64_t offset_ = 0;
  std::string text_;
};

/// What follows from a message that said stop: its acknowledgement, and the end of its cancel.
struct stopped_story {
  message_id message;
  cancel_id cancel;
};

struct stream_manner {
  std::string first;                     ///< frames before everything else
  std::optional<operation_id> until_end; ///< ends behind the terminal event of this operation
  /// Only this story, and it ends when both were told.
  std::optional<stopped_story> until_stopped;
  milliseconds merge_text{0}; ///< how long text is held back; 0 = not at all
};

class event_stream {
 public:
  event_stream(core& gw, events_request asked, std::uint64_t after, std::shared_ptr<event_watcher> watcher,
               stream_writer& to, stream_manner how = {});

  awaitable<> run();
  /// The operation of `until_end` has ended, and that was written.
  bool has_ended() const { return has_ended_; }

 private:
  awaitable<bool> replay();
  /// Not written yet, and not another one's.
  bool admits(const storage::event_record& event) const;
  bool needs_tree() const;
  awaitable<bool> lies_below(const storage::event_record& event);
  bool is_of_story(const storage::event_record& event) const;
  void note_story(const storage::event_record& event);
  bool is_exact(const storage::event_record& event) const;
  void append(std::string& frames, const rendered_event& event);
  patience wake_up() const;

  core& gw_;
  events_request asked_;
  std::uint64_t last_;
  std::shared_ptr<event_watcher> watcher_;
  stream_writer& to_;
  stream_manner how_;
  text_merger merged_;
  patience flush_at_{};
  bool has_ended_ = false;
  bool is_acknowledged_ = false, is_settled_ = false;
  std::unordered_map<operation_id, bool> is_below_;
};

} // namespace quell::controller::http
