// Restores an outbox from what an earlier process kept.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "integrations/chat/json_text.hpp"
#include "integrations/chat/outbox_state.hpp"

namespace quell::integrations::chat {
namespace {

using nlohmann::json;

constexpr std::size_t most_recovered = 5000;
constexpr std::uint64_t unwritten_keys = 10'000; ///< more than are used between two writes

bool flag_of(const json& from, const char* name) {
  return from.is_object() && from.contains(name) && from[name] == true;
}

const json& list_of(const json& from, const char* name) {
  static const json none = json::array();
  const auto found = from.is_object() ? from.find(name) : from.end();
  return from.is_object() && found != from.end() && found->is_array() ? *found : none;
}

std::uint64_t kept_number(const json& from, const char* name) {
  return from.is_object() && from.contains(name) && from[name].is_number_unsigned() ? from[name].get<std::uint64_t>()
                                                                                    : 0;
}

/// The post that may have been made, as it was sent.
std::optional<part::attempt> recovered_attempt(const json& j, const std::string& text) {
  const auto tried = j.find("perhaps");
  if (tried == j.end() || !tried->is_object()) return std::nullopt;
  return part::attempt{kept_number(*tried, "key"),
                       text_of(*tried, "text"),
                       std::min<std::size_t>(kept_number(*tried, "bytes"), text.size()),
                       flag_of(*tried, "live"),
                       true,
                       text_of(*tried, "end")};
}

/// The sign that a turn waits.
part recovered_wait(const json& j) {
  part p;
  p.what = text_of(j, "wait") == "line" ? part_kind::in_line : part_kind::queued;
  p.turn = operation_id::parse(text_of(j, "turn"));
  p.message = text_of(j, "message");
  p.text = p.shown = text_of(j, "text");
  p.sent_bytes = p.text.size();
  p.is_posted = p.is_until_begun = true;
  p.is_over = !p.turn;
  return p;
}

part recovered(const json& j) {
  part p;
  p.turn = operation_id::parse(text_of(j, "turn"));
  p.message = text_of(j, "message");
  p.text = text_of(j, "text");
  p.shown = text_of(j, "shown");
  p.opening = text_of(j, "opening");
  p.mark = text_of(j, "mark");
  p.cancel = cancel_id::parse(text_of(j, "cancel"));
  p.awaits_proof = flag_of(j, "stopping");
  p.sent_bytes = j.contains("sent") ? std::min<std::size_t>(kept_number(j, "sent"), p.text.size()) : p.text.size();
  p.is_posted = true;
  p.is_shown_live = flag_of(j, "live");
  if (flag_of(j, "told")) {
    p.what = part_kind::acknowledgement;
  } else if (const auto call = operation_id::parse(text_of(j, "call"))) {
    p.what = part_kind::approval;
    p.asks = question{*call, text_of(j, "name"), text_of(j, "input"), flag_of(j, "open")};
  } else {
    p.what = part_kind::reply;
    p.is_open = flag_of(j, "open");
  }
  p.is_doomed = !p.mark.empty() || (p.asks && !p.asks->is_open); // its text stays as it is
  return p;
}

/// A part that was not sent yet; nullopt: malformed.
std::optional<part> recovered_waiting(const json& j) {
  auto p = recovered(j);
  const auto what = kept_number(j, "waits");
  if (!j["waits"].is_number_unsigned() || what > static_cast<std::uint64_t>(part_kind::reaction)) return std::nullopt;
  p.what = static_cast<part_kind>(what);
  if ((p.what == part_kind::approval) != p.asks.has_value()) return std::nullopt;
  p.perhaps = recovered_attempt(j, p.text);
  // Of a message that only names a running tool nothing is text.
  if (p.text.empty() && (!p.perhaps || p.perhaps->text.empty())) return std::nullopt;
  if (p.what == part_kind::reaction ? p.message.empty() : !p.message.empty()) return std::nullopt;
  p.is_posted = p.is_shown_live = false;
  p.is_doomed = flag_of(j, "doomed");
  p.awaits_proof = p.awaits_proof && p.is_doomed;
  p.shown.clear();
  p.sent_bytes = 0;
  p.reply_to = text_of(j, "answers");
  p.tells = message_id::parse(text_of(j, "stop"));
  return p;
}

stop_notice recovered_stop(const json& j) {
  stop_notice n;
  n.message = message_id::parse(text_of(j, "stop"));
  n.cancel = cancel_id::parse(text_of(j, "cancel"));
  n.more_follows = flag_of(j, "more");
  n.reacted = text_of(j, "reacted");
  n.reply_to = text_of(j, "answers");
  n.is_reported = !j.contains("reported") || flag_of(j, "reported");
  n.may_stand = flag_of(j, "flies");
  return n;
}

/// A message that reports a pending stop; it may not be sent yet.
part shown_stop(const json& j, const stop_notice& n) {
  part p;
  p.what = part_kind::acknowledgement;
  p.notice = n.number;
  p.cancel = n.cancel;
  p.reply_to = n.reply_to;
  p.message = text_of(j, "message");
  p.text = j.contains("text") ? text_of(j, "text") : text_of(j, "shown");
  p.awaits_proof = !j.contains("awaits") || flag_of(j, "awaits");
  p.is_posted = !p.message.empty();
  if (!p.is_posted) {
    p.perhaps = recovered_attempt(j, p.text);
    return p;
  }
  p.shown = text_of(j, "shown");
  p.sent_bytes = p.shown.size();
  return p;
}

std::optional<std::pair<operation_id, reply>> recovered_reply(const json& j) {
  const auto scope = scope_path::parse(text_of(j, "scope"));
  const auto turn = operation_id::parse(text_of(j, "turn"));
  if (!scope || !turn || !j.contains("sent") || !j["sent"].is_number_unsigned()) return std::nullopt;
  reply r;
  r.scope = *scope;
  r.received = j["sent"].get<std::uint64_t>();
  r.is_over = flag_of(j, "over");
  r.says_why = flag_of(j, "why");
  r.waits_for_model = flag_of(j, "waits");
  r.has_part = !j.contains("begun") || flag_of(j, "begun");
  r.waits_for_end = flag_of(j, "whole");
  r.reply_to = text_of(j, "answers");
  return std::pair(*turn, std::move(r));
}

} // namespace

void outbox::outbox_state::replace_by_gap(place& in, position p, std::size_t sent_bytes) {
  if (sent_bytes > 0) mark_gap(in, p);
  const auto done = std::min(sent_bytes, p->text.size());
  if (p->what != part_kind::reply || (done == p->text.size() && !p->is_open)) {
    in.parts.erase(p);
    return;
  }
  p->opening = opening_behind(p->opening + p->text.substr(0, done));
  p->text.erase(0, done);
  p->reply_to.clear();
  p->perhaps.reset();
}

/// `flies`: it was in flight, and the outcome of so many of its bytes is unknown.
void outbox::outbox_state::recover_waiting(place& in, part p, std::optional<std::uint64_t> flies) {
  if (p.tells) in.acknowledged.push_back(*p.tells);
  if (p.what == part_kind::reaction || p.what == part_kind::acknowledgement)
    return add_urgent(in, std::move(p)); // posting it twice is acceptable
  add(in, std::move(p));
  if (flies) replace_by_gap(in, std::prev(in.parts.end()), *flies);
}

std::vector<operation_id> outbox::recover(std::string_view kept, boot_time now) {
  auto& b = *state_;
  std::vector<operation_id> which;
  const auto note = [&](const std::optional<operation_id>& id) {
    if (id && std::find(which.begin(), which.end(), *id) == which.end()) which.push_back(*id);
  };
  const auto all = json::parse(kept, nullptr, false);
  b.last_event = kept_number(all, "event");
  // The keys used last may not have been stored.
  if (const auto number = kept_number(all, "number"); number < (1ULL << 53)) b.last_number = number + unwritten_keys;
  for (const auto& j : list_of(all, "parts")) {
    const auto scope = scope_path::parse(text_of(j, "scope"));
    if (!scope || which.size() >= most_recovered) continue;
    if (j.contains("waits")) {
      auto p = recovered_waiting(j);
      if (!p) continue;
      note(p->turn);
      if (p->asks) note(p->asks->call);
      b.recover_waiting(b.at(*scope, now), std::move(*p),
                        j.contains("flies") ? std::optional(kept_number(j, "flies")) : std::nullopt);
      continue;
    }
    if (text_of(j, "message").empty()) continue;
    if (j.contains("wait")) {
      auto p = recovered_wait(j);
      auto& in = b.at(*scope, now);
      note(p.turn);
      if (p.turn && std::none_of(in.line.begin(), in.line.end(), [&](const auto& w) { return w.turn == p.turn; }))
        in.line.push_back({*p.turn, static_cast<std::uint32_t>(kept_number(j, "ahead"))});
      b.add(in, std::move(p));
      continue;
    }
    auto p = recovered(j);
    note(p.turn);
    if (p.asks) note(p.asks->call);
    b.add(b.at(*scope, now), std::move(p));
  }
  for (const auto& j : list_of(all, "replies")) {
    if (b.replies.size() >= most_recovered) break;
    auto r = recovered_reply(j);
    if (!r) continue;
    if (r->second.says_why) note(r->first);
    b.replies.insert(std::move(*r));
  }
  for (const auto& j : list_of(all, "stops")) {
    const auto scope = scope_path::parse(text_of(j, "scope"));
    auto n = recovered_stop(j);
    if (!scope || !n.cancel || b.last_notice >= most_recovered) continue;
    n.number = ++b.last_notice;
    auto& in = b.at(*scope, now);
    // A post of which nobody knows whether it arrived is not made twice: the outcome comes in a message of its own.
    if (!text_of(j, "shown").empty() && !flag_of(j, "flies")) b.add_urgent(in, shown_stop(j, n));
    in.stops.push_back(std::move(n));
  }
  for (const auto& j : list_of(all, "received")) {
    const auto scope = scope_path::parse(text_of(j, "scope"));
    const auto message = message_id::parse(text_of(j, "message"));
    if (scope && message) b.remember(b.at(*scope, now), *message, text_of(j, "as"));
  }
  for (const auto& j : list_of(all, "settled"))
    if (const auto cancel = cancel_id::parse(text_of(j, "cancel")); cancel && b.settled.size() < most_recovered)
      b.settled.push_back({*cancel, {flag_of(j, "proven"), text_of(j, "mark")}});
  return which;
}

std::uint64_t outbox::last_event() const { return state_->last_event; }

void outbox::caught_up(std::uint64_t newest, bool is_whole) {
  auto& b = *state_;
  b.has_every_event = is_whole;
  if (!is_whole) b.last_event = newest;
  ++b.changes;
}

void outbox::looked(const operation_id& which, std::optional<status> how, boot_time now) {
  auto& b = *state_;
  // The events of its end come, or have come: only a question can be open for nobody.
  const bool has_end_event = b.has_every_event && b.replies.contains(which);
  const bool is_over = !how || *how == status::completed || *how == status::failed || *how == status::cancelled;
  const bool is_whole = !b.replies.contains(which); // its end was delivered: only its queued text is left
  const auto& words = b.rules.words;
  const auto mark = words.ended_early.empty() ? words.cut_mark : words.ended_early + ".";
  bool is_explained = how == status::completed || words.ended_early.empty();
  for (auto& [scope, place] : b.places) {
    if (how != status::paused) b.close_question(place, which, "no longer needed");
    if (has_end_event) continue;
    if (is_over) b.leave_line(place, which);
    if (how == status::running || how == status::paused) b.begin_turn(place, which);
    if (!is_over) continue;
    for (auto& p : place.parts) {
      if (p.turn != which || !p.awaits_proof || (p.cancel && b.has_every_event)) continue;
      p.mark = words.cut_mark; // its proof may have been delivered while we were offline
      p.awaits_proof = p.cancel.has_value();
    }
    const auto any_reply = [&parts = place.parts, &which](auto is_so) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const part& p) { return p.turn == which && p.what == part_kind::reply && is_so(p); });
    };
    const bool was_waiting = any_reply([](const part& p) { return !p.is_posted; });
    const bool carries_mark = any_reply([&b](const part& p) {
      if (!p.is_posted) return b.rules.posts_repeat && b.may_look_alive(p);
      return p.is_open || p.sent_bytes < p.text.size();
    });
    b.drop(place, which, {}, &mark,
           is_whole ? outbox_state::what_goes::not_whole : outbox_state::what_goes::everything);
    is_explained = is_explained || carries_mark;
    if (is_whole || !was_waiting || carries_mark) continue;
    part p; // no message exists there that could carry the mark
    p.text = mark;
    b.add(place, std::move(p));
    is_explained = true;
  }
  ++b.changes;
  if (has_end_event) return;
  const auto r = b.replies.find(which);
  if (!is_over || r == b.replies.end()) return;
  // Later events about its end add nothing.
  r->second.is_over = true;
  if (!std::exchange(r->second.says_why, false) || is_explained) return;
  b.add_notice(b.at(r->second.scope, now), &r->second, mark);
}

} // namespace quell::integrations::chat
