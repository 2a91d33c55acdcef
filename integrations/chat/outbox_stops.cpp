// An outbox's handling of stops: one notice for each, from "stopping" to its outcome, and the marks below replies.
//
// A notice says "stopped" only once its cancel has settled with proof. Without edits that takes a second message; a
// stop that is proven within a moment is reported once.
#include <algorithm>

#include "integrations/chat/outbox_state.hpp"
#include "protocol/stop_signs.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::size_t most_notices = 16;  ///< per place
constexpr std::size_t most_reported = 64; ///< fully reported stops per place
constexpr std::size_t most_settled = 256;

} // namespace

stop_notice& outbox::outbox_state::notice_of(place& in, const std::optional<message_id>& message,
                                             const std::optional<cancel_id>& cancel) {
  const auto found = std::find_if(in.stops.begin(), in.stops.end(), [&](const stop_notice& n) {
    return message ? n.message == message : !n.message && n.cancel == cancel;
  });
  if (found != in.stops.end()) {
    if (found->reply_to.empty()) found->reply_to = in.known_as(message);
    return *found;
  }
  if (in.stops.size() >= most_notices) close_notice(in, in.stops.front().number);
  stop_notice fresh;
  fresh.message = message;
  fresh.cancel = cancel;
  fresh.reply_to = in.known_as(message);
  fresh.number = ++last_notice;
  return in.stops.emplace_back(std::move(fresh));
}

/// The message that shows the notice and can still be changed.
outbox::outbox_state::position outbox::outbox_state::shown_of(place& in, const stop_notice& n) {
  return std::find_if(in.parts.begin(), in.parts.end(), [&](const part& p) {
    return p.notice == n.number && p.what == part_kind::acknowledgement && (rules.can_edit || !p.is_posted);
  });
}

void outbox::outbox_state::show(place& in, const stop_notice& n, const std::string& text, more what,
                                boot_time not_before) {
  auto at = shown_of(in, n);
  if (at == in.parts.end()) {
    if (text.empty()) return;
    part p;
    p.what = part_kind::acknowledgement;
    p.notice = n.number;
    p.tells = n.message;
    p.reply_to = n.reply_to;
    add_urgent(in, std::move(p));
    at = shown_of(in, n);
  }
  at->text = one_message(text);
  at->cancel = n.cancel;
  at->awaits_proof = what == more::follows;
  at->not_before = not_before;
  sweep(in);
}

void outbox::outbox_state::react(place& in, const stop_notice& n, const std::string& reaction) {
  if (reaction.empty()) return;
  part p;
  p.what = part_kind::reaction;
  p.notice = n.number;
  p.tells = n.message;
  p.text = reaction;
  p.message = n.reacted;
  auto before = std::find_if(in.parts.begin(), in.parts.end(), [](const part& x) { return !x.is_urgent(); });
  in.parts.insert(before, std::move(p));
}

void outbox::outbox_state::close_notice(place& in, std::uint64_t number) {
  const auto found =
      std::find_if(in.stops.begin(), in.stops.end(), [&](const stop_notice& n) { return n.number == number; });
  if (found == in.stops.end()) return;
  if (found->message) in.acknowledged.push_back(*found->message);
  if (in.acknowledged.size() > most_reported) in.acknowledged.pop_front();
  for (auto& p : in.parts)
    if (p.notice == number) p.awaits_proof = false;
  in.stops.erase(found);
  sweep(in);
}

void outbox::outbox_state::begin_notice(place& in, stop_notice& n, boot_time now) {
  const auto* end = end_of(n.cancel);
  if (!end) {
    if (std::exchange(n.is_reported, true)) return;
    return show(in, n, rules.words.stopping, more::follows,
                rules.can_edit ? boot_time{} : now + rules.tell_stopping_after);
  }
  if (!n.more_follows) {
    show(in, n, end->is_proven ? rules.words.stopped : end->mark, more::none);
    return close_notice(in, n.number);
  }
  if (rules.can_edit && end->is_proven) show(in, n, rules.words.stopped, more::follows);
}

void outbox::outbox_state::acknowledge(place& in, const reported_stop& reported, boot_time now) {
  const auto& over = in.acknowledged;
  if (reported.message && std::find(over.begin(), over.end(), *reported.message) != over.end()) return;
  auto& n = notice_of(in, reported.message, reported.cancel);
  if (!reported.text.empty()) {
    const bool is_last = reported.state != "stopping" && reported.state != "unproven";
    const auto text =
        reported.state.empty() ? rules.words.stopped + "\n" + without_stop_signs(reported.text) : reported.text;
    show(in, n, text, is_last ? more::none : more::follows);
    if (is_last) close_notice(in, n.number);
    return;
  }
  n.more_follows = false;
  const auto* end = end_of(n.cancel);
  const bool is_over = !n.cancel || (end && end->is_proven);
  const auto shown = shown_of(in, n);
  // A crash has left "stopping" in flight: only words can correct it, if it has arrived.
  const bool may_stand = n.may_stand && n.reacted.empty() && shown == in.parts.end();
  const bool is_visible =
      may_stand || (shown != in.parts.end() && (shown->is_posted || shown->perhaps || is_flying(in, shown)));
  if (!is_visible && rules.can_react && !n.reply_to.empty()) {
    if (shown != in.parts.end()) in.parts.erase(shown);
    n.reacted = n.reply_to;
    react(in, n, reported.reaction);
    if (end && end->is_proven) react(in, n, rules.words.stopped_reaction);
  } else if (end && end->is_proven) {
    show(in, n, rules.words.stopped, more::none);
  } else if (is_over) {
    show(in, n, rules.words.stopping, more::none);
  } else if (shown == in.parts.end()) {
    begin_notice(in, n, now);
  }
  if (is_over) close_notice(in, n.number);
}

/// The service refuses this reaction: words replace it.
void outbox::outbox_state::in_words(place& in, position p) {
  const bool is_end = p->text == rules.words.stopped_reaction;
  const auto same =
      std::count_if(in.parts.begin(), in.parts.end(), [&](const part& x) { return x.notice == p->notice; });
  if (!is_end && same > 1) { // the outcome is known and is reported after it
    in.parts.erase(p);
    return;
  }
  const auto n =
      std::find_if(in.stops.begin(), in.stops.end(), [&](const stop_notice& x) { return x.number == p->notice; });
  if (n != in.stops.end()) n->reacted.clear();
  p->what = part_kind::acknowledgement;
  p->text = one_message(is_end ? rules.words.stopped : rules.words.stopping);
  p->awaits_proof = !is_end && n != in.stops.end();
  p->reply_to = std::exchange(p->message, {});
}

const outbox::outbox_state::stop_end* outbox::outbox_state::end_of(const std::optional<cancel_id>& cancel) const {
  for (const auto& s : settled)
    if (cancel && s.cancel == *cancel) return &s.end;
  return nullptr;
}

outbox::outbox_state::stop_end outbox::outbox_state::end_mark(bool is_proven, std::uint64_t not_confirmed,
                                                              std::uint64_t operations) const {
  if (is_proven) return {true, rules.words.stop_mark};
  return {false, rules.words.not_confirmed + std::to_string(not_confirmed) + " of " + std::to_string(operations)};
}

void outbox::outbox_state::await(part& p, const std::optional<cancel_id>& cancel) const {
  p.cancel = cancel;
  const auto* end = end_of(cancel);
  if (!end) return;
  p.mark = end->mark;
  p.awaits_proof = false;
}

void outbox::outbox_state::mark_ended(const scope_path& at, const operation_id& turn,
                                      const std::optional<cancel_id>& cancel) {
  const auto found = places.find(at);
  if (found == places.end()) return;
  for (auto& p : found->second.parts) {
    if (p.turn != turn || !p.awaits_proof || p.cancel) continue;
    await(p, cancel);
    if (cancel) continue;
    p.mark = rules.words.cut_mark;
    p.awaits_proof = false;
  }
  sweep(found->second);
}

void outbox::outbox_state::settle(const cancel_id& cancel, stop_end end) {
  settled.push_back({cancel, end});
  if (settled.size() > most_settled) settled.pop_front();
  for (auto& [scope, in] : places) {
    for (auto& p : in.parts) {
      if (p.what != part_kind::reply || !p.awaits_proof || p.cancel != cancel) continue;
      p.mark = end.mark;
      p.awaits_proof = false;
    }
    settle_notices(in, cancel, end);
    sweep(in);
  }
}

/// Unproven operations are listed by name in an acknowledgement that follows; for a command they are listed here.
void outbox::outbox_state::settle_notices(place& in, const cancel_id& cancel, const stop_end& end) {
  std::vector<std::uint64_t> over;
  for (auto& n : in.stops) {
    if (n.cancel != cancel) continue;
    if (!end.is_proven) {
      if (n.message) continue;
      show(in, n, end.mark, more::none);
      over.push_back(n.number);
    } else if (!n.more_follows) {
      if (!n.reacted.empty())
        react(in, n, rules.words.stopped_reaction);
      else
        show(in, n, rules.words.stopped, more::none);
      over.push_back(n.number);
    } else if (rules.can_edit) {
      show(in, n, rules.words.stopped, more::follows);
    } else if (const auto p = shown_of(in, n); p != in.parts.end() && !is_flying(in, p)) {
      in.parts.erase(p); // "stopping" was never reported: the final text is enough
    }
  }
  for (const auto number : over) close_notice(in, number);
}

} // namespace quell::integrations::chat
