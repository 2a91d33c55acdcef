// The private state of an outbox: places, their parts in order, and the replies that the parts belong to. Pure.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>

#include "integrations/chat/outbox.hpp"

namespace quell::integrations::chat {

enum class part_kind : std::uint8_t { reply, note, left_out, approval, acknowledgement, reaction, queued, in_line };

/// One message of the service: its intended content, and the content shown.
struct part {
  part_kind what = part_kind::note;
  std::optional<operation_id> turn{};
  std::string text{};     ///< intended text
  std::string opening{};  ///< prefix: reopens the fence that the previous message had to close
  std::string status{};   ///< a temporary line below it: a running tool
  std::string mark{};     ///< a permanent line below it: stopped
  bool is_open = false;   ///< more text can follow
  bool is_doomed = false; ///< of a stopped turn: if it is not shown yet it never will be
  std::string message{};  ///< reaction: the message that it is on; otherwise, once posted, the service's id
  std::string reply_to{};
  std::optional<question> asks{};
  std::uint64_t notice = 0;          ///< the stop that it reports
  std::optional<cancel_id> cancel{}; ///< the cancel that it reports
  std::optional<message_id> tells{}; ///< the cancel message whose outcome it reports
  bool awaits_proof = false;         ///< changes once the cancel has settled
  boot_time not_before{};
  bool is_until_begun = false; ///< tells that its turn waits; taken back when that begins or ends
  bool is_over = false;        ///< to be taken back
  // Content shown by the service:
  bool is_posted = false;
  std::string shown{};
  std::size_t sent_bytes = 0; ///< of `text`
  bool is_shown_live = false;
  boot_time shown_at{};
  /// A post with an unknown outcome, as it was sent.
  struct attempt {
    std::uint64_t key = 0;
    std::string text{};
    std::size_t text_bytes = 0;
    bool is_live = false;
    bool is_doubtful = false; ///< at least one of its attempts has an unknown outcome
    std::string end{};        ///< the mark that is sent in place of the text once it is stopped
  };
  std::optional<attempt> perhaps{};
  std::optional<boot_time> failing_since{};

  bool is_reaction() const { return what == part_kind::reaction || what == part_kind::queued; }
  bool is_urgent() const { return what == part_kind::acknowledgement || what == part_kind::reaction; }
  bool tells_stop() const { return is_urgent() || !mark.empty(); }
  bool is_live() const { return what == part_kind::reply ? is_open : asks && asks->is_open; }
};

/// A place's action in flight.
struct flight {
  std::uint64_t number = 0;
  std::list<part>::iterator of;
  action_kind what = action_kind::post;
  std::string text{};
  std::size_t text_bytes = 0;
  bool is_live = false;
};

/// A turn that waits, and how many come before it.
struct waiting_turn {
  operation_id turn;
  std::uint32_t ahead = 0;
};

/// The report of a stop in a place: one message, from "stopping" to the outcome.
struct stop_notice {
  std::optional<message_id> message; ///< the message that asked for it; none: a command
  std::optional<cancel_id> cancel;
  bool more_follows = true; ///< another report follows even if everything is proven to have ended
  std::string reacted{};    ///< the service's id of the message that got a reaction instead
  std::string reply_to{};   ///< the service's id of the message that it answers
  std::uint64_t number = 0;
  bool is_reported = false; ///< that it is pending: once, also if nobody knows whether that arrived
  bool may_stand = false;   ///< a crash left "stopping" in flight: nobody knows whether it stands in the service
};

struct place {
  explicit place(pace p) : tokens(p) {}

  std::list<part> parts{}; ///< in display order, urgent ones first
  std::optional<flight> flying{};
  bucket tokens;
  boot_time not_before{};
  unsigned failures = 0; ///< consecutive ones
  boot_time touched{};
  std::deque<std::pair<message_id, std::string>> received_messages{}; ///< the newest messages, with the service's ids
  /// The service's id of a message; "" = unknown, or no longer known.
  std::string known_as(const std::optional<message_id>& message) const {
    for (const auto& [known, name] : received_messages)
      if (known == message) return name;
    return {};
  }
  std::deque<waiting_turn> line{};       ///< those whose wait is shown, in their order
  std::deque<message_id> acknowledged{}; ///< the newest stops that are fully reported
  std::deque<stop_notice> stops{};       ///< those with reports still to come
};

struct reply {
  scope_path scope;
  std::uint64_t received = 0;   ///< code points
  bool is_over = false;         ///< dropped: later events of it are not shown
  bool says_why = false;        ///< dropped by a stop that nobody ordered (time, budget): the end of its turn says why
  bool waits_for_model = false; ///< a sign says so
  bool has_part = false;
  bool waits_for_end = false; ///< some of its text was not delivered: the end of the turn has all of it
  std::string reply_to{};
};

struct outbox::outbox_state {
  explicit outbox_state(outbox_rules r) : rules(std::move(r)), tokens(rules.of_all) {}

  outbox_rules rules;
  std::map<scope_path, place> places;
  std::unordered_map<operation_id, reply> replies;
  bucket tokens;
  boot_time not_before{};
  std::uint64_t last_event = 0;
  std::uint64_t changes = 0;
  std::uint64_t last_number = 0;
  std::uint64_t dropped = 0;
  std::uint64_t not_reported = 0; ///< the part of `dropped` that is not in a report yet
  boot_time report_at{};
  std::optional<scope_path> last_served{};
  struct settled_stop;
  std::deque<settled_stop> settled{}; ///< the newest ones
  std::uint64_t last_notice = 0;
  bool has_every_event = false; ///< none was missed since the state that was recovered

  using position = std::list<part>::iterator;

  // Parts:
  place& at(const scope_path& scope, boot_time now);
  /// Counts left-out parts, and reports them occasionally.
  void lose(std::size_t parts, const scope_path& where, const char* why, boot_time now);
  std::string rendered(const part& p) const;
  /// The prefix of a message that continues after `before`: it reopens the fence that was closed there.
  std::string opening_behind(const std::string& before) const;
  bool needs_action(const part& p) const;
  /// Nobody knows whether it stands in the service; if it does, it needs an edit to show that it has ended.
  bool may_look_alive(const part& p) const {
    return !p.is_posted && p.perhaps && p.perhaps->is_doubtful &&
           (rules.posts_are_found || (rules.posts_repeat && p.perhaps->is_live));
  }
  void append(place& to, const operation_id& turn, reply& r, std::string_view text, boot_time now);
  /// Takes back the last code points of a reply: in its message if that can change, else they are marked as cut off.
  void take_back(place& in, const operation_id& turn, std::uint64_t count);
  void close(place& in, const operation_id& turn);
  part& add(place& to, part p);
  void add_urgent(place& to, part p);
  /// `mark`: the line below what is cut off; none: it depends on the cancel's outcome.
  /// `not_whole`: keeps messages that are complete and only wait to be sent.
  enum class what_goes : std::uint8_t { everything, not_whole };
  void drop(place& in, const operation_id& turn, const std::optional<cancel_id>& cancel = {},
            const std::string* mark = nullptr, what_goes what = what_goes::everything);
  /// The service's id of a message; the oldest are forgotten.
  void remember(place& in, const message_id& message, std::string name);
  /// "[…]" before `p`, for what is missing there.
  void mark_gap(place& in, position p);
  /// It may have arrived up to so many bytes and is not posted again: "[…]" stands for it, and the rest follows.
  void replace_by_gap(place& in, position p, std::size_t sent_bytes);
  /// A part of an earlier process, which did not send it.
  void recover_waiting(place& in, part p, std::optional<std::uint64_t> flies);
  /// The question is answered, or does not need an answer any more.
  void close_question(place& in, const operation_id& call, const std::string& how);
  void drop_parts(place& in, const std::optional<cancel_id>& cancel = {});
  void drop_reply(const operation_id& turn, const std::optional<cancel_id>& cancel = {});
  void drop_below(const scope_path& at_or_below, const std::optional<cancel_id>& cancel = {});
  /// Nobody can write there any more: its reports of stops end too.
  void drop_everything(place& in);

  // Turns that wait (outbox_line.cpp):
  /// Shows a waiting user that the message was received, and how many turns come first.
  void show_wait(place& in, const operation_id& turn, std::uint32_t ahead, std::string service_id);
  /// The turn begins: what shows that it and those before it wait goes.
  void begin_turn(place& in, const operation_id& turn);
  /// The turn ends before it began.
  void leave_line(place& in, const operation_id& turn);
  /// The sign that this turn waits goes: at once if it is not sent yet.
  void take_back_wait(place& in, const operation_id& turn);
  void number_line(place& in);
  /// The turn runs, and its model serves others first: the sign that it waits stands again, if that takes a while.
  void show_model_wait(place& in, const operation_id& turn, reply& r, boot_time now);
  /// Its model answers.
  void end_model_wait(const operation_id& turn);

  // Stops (outbox_stops.cpp):
  // The content of an `acknowledgement` event.
  struct reported_stop {
    std::optional<message_id> message;
    std::optional<cancel_id> cancel;
    std::string text, reaction;
    std::string state; ///< of quell's own texts; "" = the text is a model's, given after the proof
  };
  void acknowledge(place& in, const reported_stop& reported, boot_time now);
  /// The notice of this stop, created if absent. Valid until another one is created or closed.
  stop_notice& notice_of(place& in, const std::optional<message_id>& message, const std::optional<cancel_id>& cancel);
  /// Shows that the stop is pending; if the cancel has already settled, its outcome.
  void begin_notice(place& in, stop_notice& n, boot_time now);
  void in_words(place& in, position reaction);
  /// The outcome of `cancel` decides the mark below this part.
  void await(part& p, const std::optional<cancel_id>& cancel) const;
  /// The turn has ended: the mark below its reply depends on this cancel, or on no cancel at all.
  void mark_ended(const scope_path& at, const operation_id& turn, const std::optional<cancel_id>& cancel);
  struct stop_end {
    bool is_proven = false;
    std::string mark; ///< below what was stopped
  };
  stop_end end_mark(bool is_proven, std::uint64_t not_confirmed, std::uint64_t operations) const;
  void settle(const cancel_id& cancel, stop_end end);
  const stop_end* end_of(const std::optional<cancel_id>& cancel) const;
  void freeze(place& in, position p);
  void sweep(place& in);
  void bound(const scope_path& scope, place& in, boot_time now);
  std::string one_message(std::string_view text) const;
  /// A message of its own; it answers the request of `of` if nothing of that reply stands there yet. nullptr: of none.
  void add_notice(place& in, const reply* of, std::string_view text);
  bool is_flying(const place& in, position p) const { return in.flying && in.flying->of == p; }

  // Sending:
  struct next_step {
    position part;
    boot_time at;
  };
  std::optional<next_step> next(place& in, boot_time now);
  action send(const scope_path& scope, place& in, position p, boot_time now);

 private:
  position open_part(place& in, const operation_id& turn);
  position split(place& in, position p);
  enum class more : std::uint8_t { follows, none };
  void show(place& in, const stop_notice& n, const std::string& text, more what, boot_time not_before = {});
  void react(place& in, const stop_notice& n, const std::string& reaction);
  position shown_of(place& in, const stop_notice& n);
  void close_notice(place& in, std::uint64_t number);
  void settle_notices(place& in, const cancel_id& cancel, const stop_end& end);
  void forget_one(boot_time now);
};

struct outbox::outbox_state::settled_stop {
  cancel_id cancel;
  stop_end end;
};

} // namespace quell::integrations::chat
