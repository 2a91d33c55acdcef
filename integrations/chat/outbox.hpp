// What a chat service is to be told, and when: the send queue of a connector. Pure: no clock, no I/O, no threads.
//
// A connector hands in what it is told (`told`) and what became of its requests (`done`), asks what to do now (`due`)
// and when to ask again (`next_at`). Everything that depends on the service is in `outbox_rules`.
//
// Per place (one scope) at most one action is in flight, so nothing overtakes. A reply is streamed by editing where the
// service can, else in parts; every code point of it arrives once and in order. A stop drops at once whatever of the
// reply was not sent yet; the acknowledgement goes ahead of everything else that waits in that place.
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

/// What people read beside replies. "" = not said.
struct outbox_words {
  // Of a stop, quell's own: what is on its way, what is proven, and what is not known.
  std::string stopping = "🛑 stopping…";     ///< the acknowledgement, until the cancel has settled
  std::string stopped = "🛑 stopped";          ///< the same once everything is proven to have ended
  std::string stopped_reaction = "✅";            ///< beside the reaction, where that was all
  std::string stopping_mark = "⏹ stopping…"; ///< below a reply that is being stopped (services with edits)
  std::string stop_mark = "⏹ stopped";         ///< below it once everything is proven to have ended
  std::string cut_mark = "⏹ cut off";          ///< below one that ended early for another reason
  std::string not_confirmed = "⚠️ not known to have ended: "; ///< before `1 of 3`
  std::string ended_early = "⚠️ The reply ended early";       ///< before `: <reason>.`
  std::string left_out = "[…]";             ///< in place of what was dropped because too much waited
  std::string working = "⏳ ";               ///< before the name of a tool that runs (services with edits)
  std::string nothing_said = "✓";           ///< in place of a tool's line, where a reply ends without a text
  std::string queued = "👀";                 ///< on a message whose turn waits for others (services with reactions) …
  std::string in_line = "In line, behind "; ///< … or this and their number
  std::string wants_approval = "✋ Waiting for approval: "; ///< before the tool's name and its input
};

struct outbox_rules {
  length_unit unit = length_unit::characters;
  std::size_t most_length = 4000; ///< of one message, in `unit`; at least 64
  bool can_edit = true;
  bool can_react = true;
  /// Messages carry buttons (Stop on a live reply): the end of a reply is then an edit even if its text is the same.
  bool has_buttons = false;
  /// A post that comes twice with the same `key` is done once: one of which nobody knows is made again.
  bool posts_repeat = false;
  bool has_fences = false;          ///< ``` begins and ends code: a message that ends within ends and begins it again
  bool fences_name_language = true; ///< behind the fence; false: it would be shown as a line of the code
  bool one_line = false; ///< line breaks cannot be sent (IRC): every line is a message, blank ones are left out
  /// Where messages cannot be edited: a stop that is proven sooner is told once, not first as being on its way.
  milliseconds tell_stopping_after{1000};
  milliseconds edit_every{1000}; ///< the same message is edited no more often
  pace of_place{milliseconds{0}, 1};
  /// Where not all places are alike; beats `of_place`. May be empty.
  std::function<pace(const scope_path&)> pace_of{};
  pace of_all{milliseconds{0}, 1};
  std::size_t most_places = 1000;        ///< that are kept with nothing to say; the one that was quiet longest goes
  std::size_t most_busy_places = 20'000; ///< that have something to say; beyond that the quietest loses it
  std::size_t most_bytes = 256 << 10;    ///< that wait in one place; beyond that the oldest parts are left out
  std::size_t most_parts = 200;          ///< that wait in one place
  milliseconds keep_trying{15 * 60'000}; ///< what a service does not take for so long is dropped
  outbox_words words{};
  /// A sentence for the log: what was left out, where, why. No more often than each 10 s. May be empty.
  std::function<void(const std::string&)> report{};
};

enum class action_kind : std::uint8_t { post, edit, react };

/// For people: `a post`.
constexpr const char* name_of(action_kind k) {
  return k == action_kind::post ? "a post" : k == action_kind::edit ? "an edit" : "a reaction";
}

/// A question to humans: a call that waits for approval.
struct question {
  operation_id call;
  std::string name;    ///< the tool's
  std::string input;   ///< JSON text, at most 1,000 bytes, cut between characters
  bool is_open = true; ///< false: answered; the buttons go
};

/// One request to the service. To be answered with `done` exactly once.
struct action {
  std::uint64_t number = 0; ///< for `done`
  scope_path place;
  action_kind what = action_kind::post;
  std::string message;    ///< edit, react: the service's id of the message
  std::string text;       ///< post, edit: the whole text of the message, within the limits; react: the reaction
  std::string reply_to;   ///< post: the service's id of the message that it answers; "" = none or not known
  bool is_urgent = false; ///< an acknowledgement
  std::uint64_t key = 0;  ///< post: the same each time that it is tried, of no other post
  /// The turn whose reply this is; a Stop button makes sense while it is live.
  std::optional<operation_id> turn{};
  bool is_live = false; ///< the reply goes on: more will be appended by editing
  std::optional<question> asks{};
};

/// What became of an action.
enum class outcome : std::uint8_t {
  sent,     ///< done; `message` is the service's id of what was posted ("" = it has none: never edited)
  later,    ///< certainly not done: the service says when to come back (`wait`, 0 = unknown)
  not_sent, ///< certainly not done: not reached, or a passing error. Tried again, less and less often
  unknown,  ///< perhaps done: the connection broke. An edit is repeated, a post if the rules say so, a reaction not
  refused,  ///< will never be done (no rights, message gone). A post is dropped, an edit becomes a new message
};

struct done_how {
  outcome what = outcome::sent;
  std::string message{};
  milliseconds wait{0};           ///< of `later`
  bool is_for_everything = false; ///< of `later`: no other place may be spoken to either
};

/// Not for several threads at once.
class outbox {
 public:
  explicit outbox(outbox_rules rules);
  ~outbox();
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;

  /// An event, in commit order; one whose id is not above the last one's is ignored. Reads turn_start, text_delta,
  /// tool_start, tool_result, turn_complete, turn_abort, message_decided, acknowledgement, approval_required,
  /// approval_resolved, cancel_fenced, cancel_settled, operation_cancelling and how operations ended; all others are
  /// ignored.
  /// Sub-agents' texts are not shown, only those of turns.
  void told(const event& e, boot_time now);

  /// What became of the service's message `service_id` at `place`: so that a reply or a reaction finds it. The same is
  /// read from message_decided; needed where a decision may be known earlier, and where the service repeats a stop
  /// whose acknowledgement was told to this place in an earlier life, which may not have sent it. Twice does no harm.
  void heard(const scope_path& place, const decision& what, std::string service_id, boot_time now);

  /// A message that is no turn: a word to stop where only what waits here was still talking ends that.
  void passed_by(const scope_path& place, const decision& what, boot_time now);

  /// A stop that was no message (a command): told at `place` from now on as one that was said is.
  void stopping(const scope_path& place, const cancel_id& cancel, boot_time now);

  /// A short text of the connector itself (the answer to a command), behind what waits there.
  void note(const scope_path& place, std::string text, std::string reply_to, boot_time now);

  /// What to do now. Each place is in turn; empty = nothing before `next_at`.
  std::vector<action> due(boot_time now, std::size_t most = 64);

  /// When `due` has something again; nullopt = not before another call of this class.
  std::optional<boot_time> next_at(boot_time now) const;

  /// What became of the action. Numbers that are not in flight are ignored.
  void done(std::uint64_t number, const done_how& how, boot_time now);

  /// The connection broke: everything in flight is `unknown`.
  void lost(boot_time now);

  // ---- over a restart
  /// What stands in the service and is not final yet (replies under way, questions), as JSON for `recover`.
  std::string kept() const;
  /// How often something happened after which `kept` may be another.
  std::uint64_t changes() const;
  /// Takes over what an earlier life kept. Answers whose end may have been missed; say `looked` of each.
  std::vector<operation_id> recover(std::string_view kept, boot_time now);
  /// How that operation stands; nullopt: ended. What it left in the service is brought to its end.
  void looked(const operation_id& which, std::optional<status> how, boot_time now);

  /// Nothing of the turn that was not sent yet will be. For a Stop button, ahead of the event.
  void drop(const operation_id& turn, boot_time now);
  /// The same for every reply at or below the scope.
  void drop_all(const scope_path& at_or_below, boot_time now);

  /// Nobody can speak at or below the scope any more: what waits for it is left out.
  void forget(const scope_path& at_or_below, boot_time now);

  /// Whether a reply is under way there or below.
  bool speaks_in(const scope_path& at_or_below) const;

  std::size_t places() const;
  std::size_t in_flight() const;
  /// Messages, edits and reactions that wait; for metrics and tests.
  std::size_t waiting() const;
  /// Parts that were left out because too much waited or a service did not take them.
  std::uint64_t dropped() const;

  struct books; ///< its insides, outbox_books.hpp

 private:
  std::unique_ptr<books> books_;
};

} // namespace quell::integrations::chat
