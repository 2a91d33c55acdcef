// A connector's send queue: chooses the next actions and handles their outcomes.
#include "integrations/chat/outbox.hpp"

#include <algorithm>

#include "integrations/chat/outbox_state.hpp"

namespace quell::integrations::chat {
namespace {

constexpr milliseconds first_wait{1000}, longest_wait{60'000}; ///< before a failed action is retried

milliseconds wait_after(unsigned failures) {
  const unsigned doubled = std::min(failures > 0 ? failures - 1 : 0, 6U);
  return std::min(first_wait * (1 << doubled), longest_wait);
}

} // namespace

outbox::outbox(outbox_rules rules) : state_(std::make_unique<outbox_state>(std::move(rules))) {}
outbox::~outbox() = default;

/// The first part that needs an action and may send it; if none may yet, the one that may send first.
std::optional<outbox::outbox_state::next_step> outbox::outbox_state::next(place& in, boot_time now) {
  if (in.flying) return std::nullopt;
  std::optional<next_step> best;
  // Parts that report a stop go before everything else, and taking back what is over goes last.
  const auto rank = [](const part& p) { return p.tells_stop() ? 0 : p.is_over ? 2 : 1; };
  for (const int turn : {0, 1, 2}) {
    for (auto p = in.parts.begin(); p != in.parts.end(); ++p) {
      if (rank(*p) != turn || !needs_action(*p)) continue;
      boot_time at = std::max({in.not_before, not_before, p->not_before});
      // An edit that reports a stop skips our pace; only a wait that the service asked for delays it.
      if (!p->is_posted || !p->tells_stop())
        at = std::max({at, p->is_urgent() ? in.tokens.urgent_at() : in.tokens.free_at(),
                       p->is_urgent() ? tokens.urgent_at() : tokens.free_at()});
      if (p->is_posted && (p->is_open || p->what == part_kind::in_line))
        at = std::max(at, p->shown_at + rules.edit_every);
      if (!best || at < best->at) best = next_step{p, at};
      if (best->at <= now) return best;
    }
  }
  return best;
}

action outbox::outbox_state::send(const scope_path& scope, place& in, position p, boot_time now) {
  action a;
  a.number = ++last_number;
  a.place = scope;
  a.what = p->is_reaction() ? action_kind::react : p->is_posted ? action_kind::edit : action_kind::post;
  if (p->is_over && p->is_posted) a.what = p->is_reaction() ? action_kind::unreact : action_kind::remove;
  a.message = p->message;
  a.text = p->is_reaction() ? p->text : rendered(*p);
  if (a.what == action_kind::post) a.reply_to = p->reply_to;
  a.is_urgent = p->tells_stop();
  a.turn = p->turn;
  a.is_live = p->is_live();
  a.asks = p->asks;
  auto text_bytes = p->text.size();
  if (a.what == action_kind::post) {
    a.key = a.number;
    if (p->perhaps) { // resend unchanged: the service may return the earlier result
      if (rules.posts_are_found && p->perhaps->is_doubtful) a.what = action_kind::find;
      a.key = p->perhaps->key;
      a.text = p->perhaps->text;
      a.is_live = p->perhaps->is_live;
      text_bytes = p->perhaps->text_bytes;
      if (p->is_doomed && a.what == action_kind::post) { // it has arrived, or its text is not wanted any more
        if (p->perhaps->end.empty()) p->perhaps->end = p->mark;
        a.text = p->perhaps->end.empty() ? rendered(*p) : p->perhaps->end;
        a.is_live = false;
      }
    } else if (rules.posts_repeat || rules.posts_are_found) {
      p->perhaps = part::attempt{a.key, a.text, text_bytes, a.is_live, false};
    }
  }
  in.flying = flight{a.number, p, a.what, a.text, text_bytes, a.is_live};
  if (p->perhaps) { // what stands there if it has arrived
    in.flying->text = p->perhaps->text;
    in.flying->is_live = p->perhaps->is_live;
  }
  ++changes;
  in.tokens.take(now);
  tokens.take(now);
  last_served = scope;
  return a;
}

std::vector<action> outbox::due(boot_time now, std::size_t most) {
  std::vector<action> actions;
  auto& b = *state_;
  // Urgent actions of all places first, then round robin, starting after the place served last.
  for (const bool urgent : {true, false}) {
    auto i = b.last_served ? b.places.upper_bound(*b.last_served) : b.places.begin();
    for (std::size_t seen = 0; seen < b.places.size() && actions.size() < most; ++seen, ++i) {
      if (i == b.places.end()) i = b.places.begin();
      const auto step = b.next(i->second, now);
      if (step && step->at <= now && step->part->tells_stop() == urgent)
        actions.push_back(b.send(i->first, i->second, step->part, now));
    }
  }
  return actions;
}

std::optional<boot_time> outbox::next_at(boot_time now) const {
  std::optional<boot_time> earliest;
  for (auto& [scope, place] : state_->places)
    if (const auto step = state_->next(place, now); step && (!earliest || step->at < *earliest)) earliest = step->at;
  return earliest;
}

void outbox::done(std::uint64_t number, const done_how& how, boot_time now) {
  auto& b = *state_;
  const auto found = std::find_if(b.places.begin(), b.places.end(), [number](const auto& entry) {
    return entry.second.flying && entry.second.flying->number == number;
  });
  if (found == b.places.end()) return;
  ++b.changes;
  place& in = found->second;
  const flight was = *std::exchange(in.flying, std::nullopt);
  const auto p = was.of;
  if (was.what == action_kind::find && (how.what == outcome::absent || how.what == outcome::refused)) {
    in.failures = 0;
    if (p->is_doomed) {
      in.parts.erase(p);
      return b.sweep(in);
    }
    if (how.what == outcome::absent) {
      p->perhaps.reset();
      return b.sweep(in);
    }
    if (p->is_urgent()) return b.freeze(in, p); // the outcome of the stop comes in a message of its own
    b.replace_by_gap(in, p, was.text_bytes);
    return b.sweep(in);
  }
  const bool posts_once = b.rules.posts_repeat || b.rules.posts_are_found;
  const bool was_done =
      how.what == outcome::sent || (how.what == outcome::unknown && was.what == action_kind::post && !posts_once);
  // A reaction with an unknown outcome is not waited for: the stop is acknowledged in words.
  const bool is_refused =
      how.what == outcome::refused || (how.what == outcome::unknown && was.what == action_kind::react);
  if (was_done || is_refused) {
    in.failures = 0;
  } else {
    ++in.failures;
    if (!p->failing_since) p->failing_since = now;
    // Its text can return to what it was before, and nobody knows which of both stands there.
    if (how.what == outcome::unknown && was.what == action_kind::edit && p->what == part_kind::reply) p->shown.clear();
    if (p->perhaps) p->perhaps->is_doubtful |= how.what == outcome::unknown;
    if (p->perhaps && !p->perhaps->is_doubtful) p->perhaps.reset(); // not done: the next one can contain more
    const bool is_reported = how.what == outcome::later && how.wait.count() > 0;
    const boot_time until = now + (is_reported ? how.wait : wait_after(in.failures));
    in.not_before = std::max(in.not_before, until);
    if (how.what == outcome::later && how.is_for_everything) b.not_before = std::max(b.not_before, until);
  }
  if (was.what == action_kind::unreact || was.what == action_kind::remove) {
    const bool is_stuck = p->failing_since && now - *p->failing_since > b.rules.keep_trying;
    if (was_done || is_refused || is_stuck || how.what == outcome::unknown) in.parts.erase(p);
    return b.sweep(in);
  }
  if (was_done) {
    p->is_posted = true;
    p->shown = was.text;
    p->sent_bytes = was.text_bytes;
    p->is_shown_live = was.is_live;
    p->shown_at = now;
    p->failing_since.reset();
    if (p->perhaps && !p->perhaps->end.empty() && how.text == p->perhaps->end) { // its text had not arrived
      p->shown = how.text;
      p->text.clear();
      p->opening.clear();
      p->sent_bytes = 0;
      p->is_shown_live = false;
    }
    p->perhaps.reset();
    const bool was_posted = was.what == action_kind::post || was.what == action_kind::find;
    if (was_posted) p->message = how.what == outcome::sent ? how.message : "";
    const bool is_final = p->message.empty() || (p->what == part_kind::acknowledgement && !b.rules.can_edit);
    if (was_posted && is_final) return b.freeze(in, p);
  } else if (is_refused) {
    if (was.what == action_kind::edit) {
      b.freeze(in, p);
    } else if (p->what == part_kind::queued) {
      in.parts.erase(p);
    } else if (was.what == action_kind::react && p->notice != 0 && !b.rules.words.stopping.empty()) {
      b.in_words(in, p);
    } else {
      b.lose(1, found->first, "the service refuses it", now);
      in.parts.erase(p);
    }
  } else if (p->is_doomed && !p->is_posted && !b.may_look_alive(*p)) {
    in.parts.erase(p);
  } else if (p->failing_since && now - *p->failing_since > b.rules.keep_trying) {
    b.lose(1, found->first, "the service did not take it for too long", now);
    p->perhaps.reset();
    p->failing_since.reset();
    if (!p->is_open) {
      in.parts.erase(p);
    } else {
      p->text.resize(std::min(p->sent_bytes, p->text.size()));
    }
  }
  b.sweep(in);
}

void outbox::lost(boot_time now) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [scope, place] : state_->places)
    if (place.flying) numbers.push_back(place.flying->number);
  for (const auto number : numbers) done(number, {outcome::unknown}, now);
}

void outbox::note(const scope_path& scope, std::string text, std::string reply_to, boot_time now) {
  part p;
  p.text = state_->one_message(text);
  p.reply_to = std::move(reply_to);
  auto& to = state_->at(scope, now);
  state_->add(to, std::move(p));
  ++state_->changes;
  state_->bound(scope, to, now);
}

void outbox::drop(const operation_id& turn, boot_time) { state_->drop_reply(turn); }

void outbox::drop_all(const scope_path& at_or_below, boot_time) { state_->drop_below(at_or_below); }

void outbox::stopping(const scope_path& scope, const cancel_id& cancel, boot_time now) {
  auto& in = state_->at(scope, now);
  auto& notice = state_->notice_of(in, {}, cancel);
  notice.more_follows = false;
  ++state_->changes;
  state_->begin_notice(in, notice, now);
}

void outbox::forget(const scope_path& at_or_below, boot_time now) {
  drop_all(at_or_below, now);
  for (auto& [scope, place] : state_->places)
    if (scope.is_at_or_below(at_or_below)) state_->drop_everything(place);
}

bool outbox::speaks_in(const scope_path& at_or_below) const {
  return std::any_of(state_->replies.begin(), state_->replies.end(), [&](const auto& entry) {
    return !entry.second.is_over && entry.second.scope.is_at_or_below(at_or_below);
  });
}

std::size_t outbox::places() const { return state_->places.size(); }

std::size_t outbox::in_flight() const {
  return static_cast<std::size_t>(std::count_if(state_->places.begin(), state_->places.end(),
                                                [](const auto& entry) { return entry.second.flying.has_value(); }));
}

std::size_t outbox::waiting() const {
  std::size_t count = 0;
  for (const auto& [scope, place] : state_->places)
    for (auto p = place.parts.begin(); p != place.parts.end(); ++p)
      count += state_->needs_action(*p) && !(place.flying && place.flying->of == p) ? 1 : 0;
  return count;
}

std::uint64_t outbox::dropped() const { return state_->dropped; }

} // namespace quell::integrations::chat
