// The parts of an outbox: dividing a text into messages within the limits, and what a stop removes.
#include <algorithm>

#include "integrations/chat/fences.hpp"
#include "integrations/chat/outbox_state.hpp"
#include "protocol/blanks.hpp"
#include "protocol/stop_signs.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat {
namespace {

constexpr const char* not_needed = "no longer needed";
constexpr std::size_t whole_paragraph = 200; ///< without edits, a paragraph of this length is sent by itself

} // namespace

place& outbox::outbox_state::at(const scope_path& scope, boot_time now) {
  auto found = places.find(scope);
  if (found == places.end()) {
    if (places.size() >= rules.most_places) forget_one(now);
    found = places.emplace(scope, place{rules.pace_of ? rules.pace_of(scope) : rules.of_place}).first;
  }
  found->second.touched = now;
  return found->second;
}

/// Forgets the least recently used place that has nothing to send: later text of its replies still arrives. A place
/// with something to send is forgotten only if there are far too many.
void outbox::outbox_state::forget_one(boot_time now) {
  auto oldest = places.end();
  for (auto i = places.begin(); i != places.end(); ++i) {
    if (i->second.flying) continue;
    if (oldest == places.end() || std::pair(!i->second.parts.empty(), i->second.touched) <
                                      std::pair(!oldest->second.parts.empty(), oldest->second.touched))
      oldest = i;
  }
  if (oldest == places.end()) return;
  if (!oldest->second.parts.empty()) {
    if (places.size() < rules.most_busy_places) return;
    lose(oldest->second.parts.size(), oldest->first, "too many places have something to say at once", now);
    for (auto& [turn, r] : replies)
      if (r.scope == oldest->first) r.is_over = true;
  }
  places.erase(oldest);
}

void outbox::outbox_state::lose(std::size_t parts, const scope_path& where, const char* why, boot_time now) {
  constexpr std::chrono::seconds between_reports{10};
  dropped += parts;
  not_reported += parts;
  if (!rules.report || now < report_at) return;
  rules.report(std::to_string(not_reported) + (not_reported == 1 ? " message was" : " messages were") +
               " not sent, the last one to " + where.text() + ": " + why);
  not_reported = 0;
  report_at = now + between_reports;
}

std::string outbox::outbox_state::opening_behind(const std::string& before) const {
  if (!rules.has_fences) return {};
  auto fence = open_fence(before);
  return fence.empty() || rules.fences_name_language ? fence : "```\n";
}

std::string outbox::outbox_state::rendered(const part& p) const {
  auto whole = p.opening + p.text;
  if (p.what == part_kind::reply) whole = without_stop_signs(whole); // the mark below it is quell's alone
  if (rules.has_fences && p.what == part_kind::reply) whole += closing_fence(whole);
  const std::string& below = p.mark.empty() ? p.status : p.mark;
  if (below.empty()) return whole;
  const auto with_line = p.text.empty() ? below : whole + "\n" + below;
  return length_of(with_line, rules.unit) <= rules.most_length ? with_line : whole;
}

/// Whether this part needs an action now, apart from pacing.
bool outbox::outbox_state::needs_action(const part& p) const {
  if (p.is_over) return p.is_posted && !p.message.empty();
  if (p.is_reaction()) return !p.is_posted;
  const auto text = rendered(p);
  if (may_look_alive(p)) return true;
  if (!p.is_posted) return !is_blank(p.text.empty() ? text : p.text) && (rules.can_edit || !p.is_open);
  if (!rules.can_edit || p.message.empty() || is_blank(text)) return false;
  return text != p.shown || (rules.has_buttons && p.is_shown_live != p.is_live());
}

part& outbox::outbox_state::add(place& to, part p) {
  auto& added = to.parts.emplace_back(std::move(p));
  return added;
}

void outbox::outbox_state::add_urgent(place& to, part p) {
  auto before = std::find_if(to.parts.begin(), to.parts.end(), [](const part& x) { return !x.is_urgent(); });
  to.parts.insert(before, std::move(p));
}

std::string outbox::outbox_state::one_message(std::string_view text) const {
  std::string one(text.substr(0, fitting(text, rules.most_length, rules.unit)));
  if (rules.one_line)
    std::replace_if(
        one.begin(), one.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return one;
}

void outbox::outbox_state::add_notice(place& in, const reply* of, std::string_view text) {
  part p;
  p.text = one_message(text);
  if (of && !of->has_part) p.reply_to = of->reply_to;
  add(in, std::move(p));
}

outbox::outbox_state::position outbox::outbox_state::open_part(place& in, const operation_id& turn) {
  return std::find_if(in.parts.begin(), in.parts.end(),
                      [&turn](const part& p) { return p.what == part_kind::reply && p.is_open && p.turn == turn; });
}

/// Cuts `p` as often as the limits require; returns the last piece, which stays open.
outbox::outbox_state::position outbox::outbox_state::split(place& in, position p) {
  for (;;) {
    std::size_t cut = p->text.size(), leave_out = 0;
    if (rules.one_line) {
      if (const auto line = p->text.find('\n'); line != std::string::npos) cut = line, leave_out = 1;
    } else if (!rules.can_edit) {
      const auto paragraph = p->text.rfind("\n\n");
      if (paragraph != std::string::npos && paragraph >= whole_paragraph) cut = paragraph + 2;
    }
    std::size_t settled = is_flying(in, p) ? std::max(p->sent_bytes, in.flying->text_bytes) : p->sent_bytes;
    if (p->perhaps) settled = std::max(settled, p->perhaps->text_bytes);
    const auto most = rules.has_fences ? rules.most_length - most_closing - p->opening.size() : rules.most_length;
    auto fits = good_cut(std::string_view(p->text).substr(0, cut), most, rules.unit, settled);
    if (rules.has_fences && fits < cut) fits = cut_outside_fence(p->text, fits, settled);
    if (fits < cut) cut = fits, leave_out = 0;
    if (cut == p->text.size() && leave_out == 0) return p;
    part rest;
    rest.what = part_kind::reply;
    rest.turn = p->turn;
    rest.is_open = p->is_open;
    rest.text = p->text.substr(cut + leave_out);
    rest.opening = opening_behind(p->opening + p->text.substr(0, cut));
    rest.status = std::exchange(p->status, {});
    p->text.resize(cut);
    p->is_open = false;
    auto next = in.parts.insert(std::next(p), std::move(rest));
    if (!p->is_posted && !is_flying(in, p) && is_blank(p->text)) {
      next->reply_to = p->reply_to;
      in.parts.erase(p);
    }
    p = next;
  }
}

void outbox::outbox_state::append(place& to, const operation_id& turn, reply& r, std::string_view text, boot_time now) {
  auto open = open_part(to, turn);
  if (open == to.parts.end()) {
    part fresh;
    fresh.what = part_kind::reply;
    fresh.turn = turn;
    fresh.is_open = true;
    if (!std::exchange(r.has_part, true)) fresh.reply_to = r.reply_to;
    add(to, std::move(fresh));
    open = std::prev(to.parts.end());
  }
  if (!rules.one_line) {
    open->text += text;
  } else {
    for (const char c : text)
      if (c != '\r') open->text += c;
  }
  if (!text.empty()) open->status.clear();
  split(to, open);
  bound(r.scope, to, now);
}

void outbox::outbox_state::take_back(place& in, const operation_id& turn, std::uint64_t count) {
  const auto open = open_part(in, turn);
  const auto whole = open == in.parts.end() ? 0 : code_points(open->text);
  const bool flies = open != in.parts.end() && is_flying(in, open);
  // An edit in flight is followed by another one; of a post in flight it is not known yet whether it can be edited. One
  // of which nobody knows is made again or found first.
  const bool can_change = open != in.parts.end() && whole >= count && (open->is_posted || !flies) &&
                          (rules.can_edit || (!open->is_posted && !open->perhaps));
  if (!can_change) return drop(in, turn, {}, &rules.words.cut_mark);
  open->text.resize(bytes_of_characters(open->text, whole - count));
  open->sent_bytes = std::min(open->sent_bytes, open->text.size());
  if (open->perhaps) open->perhaps->text_bytes = std::min(open->perhaps->text_bytes, open->text.size());
  if (flies) in.flying->text_bytes = std::min(in.flying->text_bytes, open->text.size());
}

void outbox::outbox_state::close(place& in, const operation_id& turn) {
  const auto open = open_part(in, turn);
  if (open == in.parts.end()) return;
  open->is_open = false;
  open->status.clear();
  if (is_blank(open->text) && (open->is_posted || open->perhaps || is_flying(in, open)))
    open->text = rules.words.no_acknowledgement;
  sweep(in);
}

/// The message cannot be edited (any more): the text that it does not show goes into a new one.
void outbox::outbox_state::freeze(place& in, position p) {
  if (p->what == part_kind::acknowledgement && p->text != p->shown) { // the stop's later outcome
    auto next = *p;
    next.is_posted = false;
    next.message.clear();
    next.shown.clear();
    next.sent_bytes = 0;
    next.perhaps.reset();
    next.failing_since.reset();
    in.parts.insert(std::next(p), std::move(next));
  }
  if (p->what == part_kind::reply && (p->is_open || p->sent_bytes < p->text.size())) {
    part rest;
    rest.what = part_kind::reply;
    rest.turn = p->turn;
    rest.is_open = p->is_open;
    rest.text = p->text.substr(std::min(p->sent_bytes, p->text.size()));
    rest.opening = opening_behind(p->opening + p->text.substr(0, p->text.size() - rest.text.size()));
    rest.status = p->status;
    in.parts.insert(std::next(p), std::move(rest));
  }
  in.parts.erase(p);
}

/// Drops unsent text. A message in flight cannot be recalled, but nothing is added to it.
void outbox::outbox_state::drop(place& in, const operation_id& turn, const std::optional<cancel_id>& cancel,
                                const std::string* mark, what_goes what) {
  std::erase_if(in.line, [&](const waiting_turn& w) { return w.turn == turn; });
  for (auto p = in.parts.begin(); p != in.parts.end();) {
    const auto here = p++;
    if (here->turn == turn && here->is_until_begun) {
      here->is_over = true;
      if (!here->is_posted && !is_flying(in, here)) in.parts.erase(here);
      continue;
    }
    if (here->turn == turn && here->awaits_proof && cancel && !here->cancel) await(*here, cancel);
    if (here->turn != turn || here->is_urgent() || here->is_doomed) continue;
    if (what == what_goes::not_whole && !here->is_open && here->mark.empty() && !here->asks) continue;
    const bool flies = is_flying(in, here);
    const bool is_sought = may_look_alive(*here);
    if (!here->is_posted && !flies && !is_sought) {
      in.parts.erase(here);
      continue;
    }
    auto kept = std::max(here->sent_bytes, flies ? in.flying->text_bytes : 0);
    if (is_sought) kept = std::max(kept, here->perhaps->text_bytes);
    const bool is_cut = here->is_open || kept < here->text.size() || (is_sought && rules.posts_repeat);
    if (kept < here->text.size()) here->text.resize(kept);
    here->is_open = false;
    here->is_doomed = true;
    here->status.clear();
    if (here->asks) here->asks->is_open = false;
    if (here->asks && is_sought) here->text = one_message(here->text + "\n→ " + not_needed);
    if (rules.can_edit && is_cut && here->what == part_kind::reply) {
      here->mark = mark ? *mark : rules.words.stopping_mark;
      here->awaits_proof = !mark;
      if (!mark) await(*here, cancel);
    }
    // Otherwise empty: a mark, or the shown text, so that a leftover tool line does not look as if it still ran.
    if (here->text.empty() && here->mark.empty() && here->what == part_kind::reply) here->mark = rules.words.cut_mark;
    if (here->text.empty() && here->mark.empty()) here->text = here->shown;
  }
  sweep(in);
}

void outbox::outbox_state::close_question(place& in, const operation_id& call, const std::string& how) {
  for (auto p = in.parts.begin(); p != in.parts.end(); ++p) {
    if (!p->asks || p->asks->call != call || !p->asks->is_open) continue;
    p->asks->is_open = false;
    if (!p->is_posted && !is_flying(in, p) && !may_look_alive(*p)) {
      in.parts.erase(p);
      return;
    }
    p->text = one_message(p->text + "\n→ " + how);
    p->is_doomed = true;
    break;
  }
  sweep(in);
}

/// The same for everything that waits in a place, of every turn.
void outbox::outbox_state::drop_parts(place& in, const std::optional<cancel_id>& cancel) {
  std::vector<operation_id> turns;
  for (const auto& p : in.parts)
    if (p.turn && std::find(turns.begin(), turns.end(), *p.turn) == turns.end()) turns.push_back(*p.turn);
  for (const auto& turn : turns) drop(in, turn, cancel);
}

void outbox::outbox_state::drop_reply(const operation_id& turn, const std::optional<cancel_id>& cancel) {
  const auto found = replies.find(turn);
  if (found == replies.end()) return;
  found->second.is_over = true;
  found->second.says_why = false;
  ++changes;
  if (const auto at = places.find(found->second.scope); at != places.end()) drop(at->second, turn, cancel);
}

void outbox::outbox_state::drop_below(const scope_path& at_or_below, const std::optional<cancel_id>& cancel) {
  ++changes;
  for (auto& [turn, r] : replies)
    if (r.scope.is_at_or_below(at_or_below)) r.is_over = true, r.says_why = false;
  for (auto& [scope, place] : places)
    if (scope.is_at_or_below(at_or_below)) drop_parts(place, cancel);
}

void outbox::outbox_state::drop_everything(place& in) {
  while (!in.stops.empty()) close_notice(in, in.stops.front().number);
  for (auto p = in.parts.begin(); p != in.parts.end();) {
    const auto here = p++;
    if (!is_flying(in, here)) in.parts.erase(here);
  }
}

/// Removes parts that are shown as intended and will not change.
void outbox::outbox_state::sweep(place& in) {
  for (auto p = in.parts.begin(); p != in.parts.end();) {
    const auto here = p++;
    if (is_flying(in, here) || here->awaits_proof || here->is_live() ||
        (here->what == part_kind::reply && here->is_open) || (here->is_until_begun && !here->is_over))
      continue;
    if (!needs_action(*here)) in.parts.erase(here);
  }
}

void outbox::outbox_state::bound(const scope_path& scope, place& in, boot_time now) {
  for (;;) {
    std::size_t bytes = 0, count = 0;
    auto oldest = in.parts.end();
    for (auto p = in.parts.begin(); p != in.parts.end(); ++p) {
      bytes += p->text.size() - std::min(p->sent_bytes, p->text.size());
      if (!p->is_until_begun) ++count;
      const bool may_go =
          !p->is_posted && !p->is_open && !p->is_urgent() && !is_flying(in, p) && p->what != part_kind::left_out;
      if (may_go && oldest == in.parts.end()) oldest = p;
    }
    if ((bytes <= rules.most_bytes && count <= rules.most_parts) || oldest == in.parts.end()) return;
    lose(1, scope, "too much waits there", now);
    const bool is_reported = oldest != in.parts.begin() && std::prev(oldest)->what == part_kind::left_out;
    if (!is_reported) mark_gap(in, oldest);
    in.parts.erase(oldest);
  }
}

void outbox::outbox_state::mark_gap(place& in, position p) {
  if (rules.words.left_out.empty()) return;
  part gap;
  gap.what = part_kind::left_out;
  gap.turn = p->turn;
  gap.text = rules.words.left_out;
  gap.reply_to = p->reply_to;
  in.parts.insert(p, std::move(gap));
}

} // namespace quell::integrations::chat
