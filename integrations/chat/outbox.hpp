// A connector's send queue: what a chat service is sent, and when. Pure: no clock, no I/O, no threads.
//
// A connector passes in events (`reported`) and the outcomes of its requests (`done`), asks for the present actions
// (`due`) and for the time of the next ones (`next_at`). Everything that depends on the service is in `outbox_rules`.
//
// Each place (one scope) has at most one action in flight, so nothing overtakes. A reply is streamed by edits if the
// service supports them, otherwise in parts; every code point of it arrives once and in order. A stop drops all unsent
// text of the reply at once; the acknowledgement goes ahead of everything else that waits in that place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/pace.hpp"
#include "integrations/chat/text_length.hpp"
#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::integrations::chat {

/// Texts shown in addition to replies. "" = not shown.
struct outbox_words {
  // quell's own texts about a stop: pending, proven, or unknown.
  std::string stopping = "🛑 stopping…";     ///< the acknowledgement, until the cancel has settled
  std::string stopped = "🛑 stopped";          ///< replaces it once everything is proven to have ended
  std::string stopped_reaction = "✅";            ///< in addition to the reaction, if there was only that
  std::string stopping_mark = "⏹ stopping…"; ///< below a reply that is being stopped (services with edits)
  std::string stop_mark = "⏹ stopped";         ///< below it once everything is proven to have ended
  std::string cut_mark = "⏹ cut off";          ///< below a reply that ended early for another reason
  std::string not_confirmed = "⚠️ not known to have ended: "; ///< before `1 of 3`
  std::string ended_early = "⚠️ The reply ended early";       ///< before `: <reason>.`
  std::string less_than_whole = "⚠️ "; ///< before why a reply that ended by itself is less than was wanted
  std::string still_running = "⏳ Still running in the background: "; ///< before `2 commands.`
  std::string left_out = "[…]";                                      ///< replaces text dropped because too much waited
  std::string working = "⏳ ";               ///< before the name of a running tool (services with edits)
  std::string no_acknowledgement = "✓";     ///< replaces a tool's line if a reply ends without text
  std::string queued = "👀";                 ///< on a message whose turn waits (services with reactions) …
  std::string in_line = "In line, behind "; ///< … or this text and the number of turns ahead
  std::string wants_approval = "✋ Waiting for approval: "; ///< before the tool's name and its input
};

struct outbox_rules {
  length_unit unit = length_unit::characters;
  std::size_t most_length = 4000; ///< of one message, in `unit`; at least 64
  bool can_edit = true;
  bool can_react = true;
  /// Messages carry buttons (Stop on a live reply): the end of a reply then needs an edit even if its text is
  /// unchanged.
  bool has_buttons = false;
  /// The service performs a post with a known `key` only once: a post with an unknown outcome is then sent again.
  bool posts_repeat = false;
  /// The service can be asked whether it has the post with a known `key`: one with an unknown outcome is looked for.
  bool posts_are_found = false;
  bool has_fences = false;          ///< ``` delimits code: a message that ends inside a block closes and reopens it
  bool fences_name_language = true; ///< after the fence; false: the service would show it as a line of code
  bool one_line = false; ///< line breaks cannot be sent (IRC): every line is a message, blank lines are left out
  /// Without edits: a stop that is proven within this time is reported once, not first as pending.
  milliseconds tell_stopping_after{1000};
  bool can_take_back = false; ///< reactions, and messages of ours, can be removed again
  /// With `can_take_back` and `can_edit`: who waits behind several turns gets a line with their number, too.
  bool shows_place = false;
  milliseconds edit_every{1000}; ///< minimum interval between edits of one message
  pace of_place{milliseconds{0}, 1};
  /// The pace of each place if they differ; overrides `of_place`. Can be empty.
  std::function<pace(const scope_path&)> pace_of{};
  pace of_all{milliseconds{0}, 1};
  std::size_t most_places = 1000;        ///< kept without anything to send; the least recently used is dropped first
  std::size_t most_busy_places = 20'000; ///< with something to send; beyond that the least recently used loses it
  std::size_t most_bytes = 256 << 10;    ///< queued in one place; beyond that the oldest parts are left out
  std::size_t most_parts = 200;          ///< queued in one place
  milliseconds keep_trying{15 * 60'000}; ///< a message that the service rejects for so long is dropped
  outbox_words words{};
  /// Gets a sentence for the log: what was left out, where, why. At most every 10 s. Can be empty.
  std::function<void(const std::string&)> report{};
};

enum class action_kind : std::uint8_t { post, edit, react, unreact, remove, find };

/// The display name: `a post`.
constexpr const char* name_of(action_kind k) {
  switch (k) {
  case action_kind::post:
    return "a post";
  case action_kind::edit:
    return "an edit";
  case action_kind::react:
    return "a reaction";
  case action_kind::unreact:
    return "the end of a reaction";
  case action_kind::remove:
    return "a removal";
  case action_kind::find:
    break;
  }
  return "a search for a post";
}

/// A question to humans: a call that waits for approval.
struct question {
  operation_id call;
  std::string name;    ///< the tool's name
  std::string input;   ///< JSON text, at most 1,000 bytes, cut between characters
  bool is_open = true; ///< false: answered; the buttons are removed
};

/// One request to the service. It must be answered with `done` exactly once.
struct action {
  std::uint64_t number = 0; ///< passed to `done`
  scope_path place;
  action_kind what = action_kind::post;
  std::string message;    ///< the service's message id; post: none
  std::string text;       ///< post, edit: the whole text of the message, within the limits; (un)react: the reaction
  std::string reply_to;   ///< post: the service's id of the message that it answers; "" = none or unknown
  bool is_urgent = false; ///< an acknowledgement
  std::uint64_t key = 0;  ///< post, find: the same at each attempt, and unique to this post
  /// The turn whose reply this is; a Stop button is useful while it is live.
  std::optional<operation_id> turn{};
  bool is_live = false; ///< the reply continues: more will be appended by edits
  std::optional<question> asks{};
};

/// The outcome of an action.
enum class outcome : std::uint8_t {
  sent,     ///< done; `message` is the service's id of the post ("" = it has none and cannot be edited)
  later,    ///< certainly not done: the service says when to retry (`wait`, 0 = unknown)
  not_sent, ///< certainly not done: unreachable, or a transient error. Retried with growing waits
  unknown,  ///< possibly done: the connection broke. Edits are repeated, posts if it is known that none arrives twice,
            ///< reactions never
  refused,  ///< cannot be done (no rights, message gone). A post is dropped, an edit becomes a new message; a post that
            ///< was to be found is not repeated
  absent,   ///< of a find: the service does not have the post
};

struct done_how {
  outcome what = outcome::sent;
  std::string message{};
  milliseconds wait{0};           ///< of `later`
  bool is_for_everything = false; ///< of `later`: applies to all places
  /// Of a post: the text that stands there, which is an earlier one if the service knew the key. "" = not said.
  std::string text{};
};

/// Not thread-safe.
class outbox {
 public:
  explicit outbox(outbox_rules rules);
  ~outbox();
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  /// An event, in commit order; ignored unless its id is above the last one's. Reads turn_start, turn_resumed,
  /// text_delta, tool_start, tool_result, turn_complete, turn_abort, message_decided, acknowledgement,
  /// approval_required, approval_resolved, cancel_fenced, cancel_settled, operation_cancelling and the terminal events
  /// of operations; ignores all others. Shows the texts of turns, not those of sub-agents.
  void on_event(const event& e, boot_time now);

  /// The decision about the service's message `service_id` at `place`, so that a reply or a reaction finds it.
  /// message_decided carries the same; this call is needed if a decision can be known earlier, and if the service
  /// repeats a stop whose acknowledgement was delivered here to an earlier process, which may not have sent it.
  /// Idempotent.
  void on_decision(const scope_path& place, const decision& what, std::string service_id, boot_time now);

  /// A message that did not become a turn: if only queued text was still being sent here, a cancel word ends that.
  void passed_by(const scope_path& place, const decision& what, boot_time now);

  /// A stop without a message (a command): from now on it is reported at `place` like a stop by message.
  void stopping(const scope_path& place, const cancel_id& cancel, boot_time now);

  /// A short text of the connector itself (the answer to a command), after everything queued there.
  void note(const scope_path& place, std::string text, std::string reply_to, boot_time now);

  /// The actions to perform now, round robin over the places; empty = nothing before `next_at`.
  std::vector<action> due(boot_time now, std::size_t most = 64);

  /// The time at which `due` returns something again; nullopt = not before another call of this class.
  std::optional<boot_time> next_at(boot_time now) const;

  /// The outcome of an action. Numbers that are not in flight are ignored.
  void done(std::uint64_t number, const done_how& how, boot_time now);

  /// The connection broke: every action in flight is `unknown`.
  void lost(boot_time now);

  // ---- over a restart
  // The state that is not final yet (replies, questions, stops), as of the last event, as JSON for `recover`.
  std::string kept() const;
  /// Counts the events after which `kept` can differ.
  std::uint64_t changes() const;
  /// Restores what an earlier process kept. Then pass in the stored events behind `last_event`, call `caught_up`, and
  /// `looked` for each of the returned operations. Until then `due` can be out of date.
  std::vector<operation_id> recover(std::string_view kept, boot_time now);
  /// The id of the last event that was passed in, also to the earlier process; 0 = none.
  std::uint64_t last_event() const;
  /// `newest`: the id of the last stored event. `is_whole`: all behind `last_event` were passed in.
  void caught_up(std::uint64_t newest, bool is_whole);
  /// The status of that operation; nullopt: ended. Finishes what its process left in the service.
  void looked(const operation_id& which, std::optional<status> how, boot_time now);

  /// Drops everything unsent of the turn. For a Stop button, which is faster than the event.
  void drop(const operation_id& turn, boot_time now);
  /// The same for every reply at or below the scope.
  void drop_all(const scope_path& at_or_below, boot_time now);

  /// Nobody can write at or below the scope any more: drops everything queued for it.
  void forget(const scope_path& at_or_below, boot_time now);

  /// Whether a reply is in progress at or below the scope.
  bool speaks_in(const scope_path& at_or_below) const;

  std::size_t places() const;
  std::size_t in_flight() const;
  /// Queued messages, edits and reactions; for metrics and tests.
  std::size_t waiting() const;
  /// Parts that were left out because too much waited or because a service rejected them.
  std::uint64_t dropped() const;

  /// The private state, outbox_state.hpp.
  struct outbox_state;

 private:
  std::unique_ptr<outbox_state> state_;
};

} // namespace quell::integrations::chat
