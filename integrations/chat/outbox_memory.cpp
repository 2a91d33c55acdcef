// An outbox's state over a restart: messages that stand in the service and are not final.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "integrations/chat/json_text.hpp"
#include "integrations/chat/outbox_state.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat {
namespace {

using nlohmann::json;

constexpr std::size_t most_kept = 5000, most_bytes_kept = 512 << 10;
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

json kept_attempt(const part::attempt& tried) {
  return {{"key", tried.key}, {"text", tried.text}, {"bytes", tried.text_bytes}, {"live", tried.is_live}};
}

/// The post that may have been made, as it was sent.
std::optional<part::attempt> recovered_attempt(const json& j, const std::string& text) {
  const auto tried = j.find("perhaps");
  if (tried == j.end() || !tried->is_object()) return std::nullopt;
  return part::attempt{kept_number(*tried, "key"), text_of(*tried, "text"),
                       std::min<std::size_t>(kept_number(*tried, "bytes"), text.size()), flag_of(*tried, "live"), true};
}

bool is_in_flight(const place& in, const part& p) { return in.flying && &*in.flying->of == &p; }

/// `in_full`: including the unsent text.
json kept_part(const scope_path& scope, const place& in, const part& p, bool in_full) {
  json j = {
      {"scope", scope.text()},   {"message", p.message}, {"text", in_full ? p.text : p.text.substr(0, p.sent_bytes)},
      {"shown", p.shown},        {"opening", p.opening}, {"mark", p.mark},
      {"live", p.is_shown_live}, {"open", p.is_open},    {"sent", p.sent_bytes}};
  if (p.turn) j["turn"] = p.turn->text();
  if (p.cancel) j["cancel"] = p.cancel->text();
  if (p.awaits_proof) j["stopping"] = true;
  if (p.asks) {
    j["call"] = p.asks->call.text();
    j["name"] = p.asks->name;
    j["input"] = p.asks->input;
    j["open"] = p.asks->is_open;
    j["text"] = p.text;
  }
  if (p.is_posted) return j;
  j["waits"] = static_cast<int>(p.what);
  j["answers"] = p.reply_to;
  if (p.tells) j["stop"] = p.tells->text();
  if (p.perhaps)
    j["perhaps"] = kept_attempt(*p.perhaps);
  else if (is_in_flight(in, p))
    j["flies"] = in.flying->text_bytes;
  return j;
}

/// Whether it is not in the service yet and no later event restores it.
bool is_waiting(const place& in, const part& p) {
  if (p.is_posted || p.is_doomed || p.what == part_kind::queued || p.what == part_kind::in_line) return false;
  if (p.what == part_kind::note && p.turn) return false; // a note about a queue position
  const bool is_of_open_stop = p.notice != 0 && std::any_of(in.stops.begin(), in.stops.end(),
                                                            [&](const stop_notice& n) { return n.number == p.notice; });
  return !is_of_open_stop || p.what == part_kind::reaction;
}

/// The notice of a stop that its end will change: a message or a reaction.
std::optional<json> kept_stop(const scope_path& scope, const place& in, const stop_notice& n) {
  const auto shown = std::find_if(in.parts.begin(), in.parts.end(), [&](const part& p) {
    return p.notice == n.number && p.what == part_kind::acknowledgement && (!p.is_posted || !p.message.empty());
  });
  if (n.is_recovered || (shown == in.parts.end() && n.reacted.empty())) return std::nullopt;
  json j = {{"scope", scope.text()}, {"more", n.more_follows}, {"reacted", n.reacted}, {"answers", n.reply_to}};
  if (n.message) j["stop"] = n.message->text();
  if (n.cancel) j["cancel"] = n.cancel->text();
  if (shown != in.parts.end()) {
    j["message"] = shown->message;
    j["shown"] = shown->is_posted ? shown->shown : shown->text;
    if (shown->perhaps)
      j["perhaps"] = kept_attempt(*shown->perhaps);
    else if (!shown->is_posted && is_in_flight(in, *shown))
      j["flies"] = true;
  }
  return j;
}

/// How much of the reply the service has: all that was received, minus the queued text.
std::uint64_t sent_of(const reply& r, const operation_id& turn, const place& in) {
  std::uint64_t waiting = 0;
  for (const auto& p : in.parts)
    if (p.what == part_kind::reply && p.turn == turn)
      waiting += code_points(std::string_view(p.text).substr(std::min(p.sent_bytes, p.text.size())));
  return r.received - std::min(waiting, r.received);
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
  if (const auto call = operation_id::parse(text_of(j, "call"))) {
    p.what = part_kind::approval;
    p.asks = question{*call, text_of(j, "name"), text_of(j, "input"), flag_of(j, "open")};
  } else {
    p.what = part_kind::reply;
    p.is_open = flag_of(j, "open");
  }
  return p;
}

/// A part that was not sent yet; nullopt: malformed.
std::optional<part> recovered_waiting(const json& j) {
  auto p = recovered(j);
  const auto what = kept_number(j, "waits");
  if (!j["waits"].is_number_unsigned() || what > static_cast<std::uint64_t>(part_kind::reaction)) return std::nullopt;
  p.what = static_cast<part_kind>(what);
  if ((p.what == part_kind::approval) != p.asks.has_value() || p.text.empty()) return std::nullopt;
  if (p.what == part_kind::reaction ? p.message.empty() : !p.message.empty()) return std::nullopt;
  p.is_posted = p.awaits_proof = p.is_shown_live = false;
  p.shown.clear();
  p.sent_bytes = 0;
  p.reply_to = text_of(j, "answers");
  p.tells = message_id::parse(text_of(j, "stop"));
  p.perhaps = recovered_attempt(j, p.text);
  return p;
}

stop_notice recovered_stop(const json& j) {
  stop_notice n;
  n.message = message_id::parse(text_of(j, "stop"));
  n.cancel = cancel_id::parse(text_of(j, "cancel"));
  n.more_follows = flag_of(j, "more");
  n.reacted = text_of(j, "reacted");
  n.reply_to = text_of(j, "answers");
  n.is_recovered = n.is_reported = true;
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
  p.text = text_of(j, "shown");
  p.awaits_proof = true;
  p.is_posted = !p.message.empty();
  if (!p.is_posted) {
    p.perhaps = recovered_attempt(j, p.text);
    return p;
  }
  p.shown = p.text;
  p.sent_bytes = p.text.size();
  return p;
}

} // namespace

std::string outbox::kept() const {
  const auto& b = *state_;
  json parts = json::array(), replies = json::array(), stops = json::array();
  auto room = most_bytes_kept;
  for (const auto& [scope, place] : b.places) {
    // The whole of a place, or only what the service shows of it.
    std::size_t bytes = 0;
    for (const auto& p : place.parts) bytes += p.text.size() + p.shown.size();
    const bool in_full = bytes <= room;
    if (in_full) room -= bytes;
    std::vector<operation_id> turns;
    for (const auto& p : place.parts) {
      if (p.is_until_begun && p.is_posted && !p.message.empty() && p.turn && parts.size() < most_kept)
        parts.push_back({{"scope", scope.text()},
                         {"turn", p.turn->text()},
                         {"message", p.message},
                         {"text", p.shown},
                         {"wait", p.is_reaction() ? "reaction" : "line"}});
      const bool is_stopping = p.awaits_proof && p.mark == b.rules.words.stopping_mark;
      const bool is_final = !p.is_live() && !b.needs_action(p) && !is_stopping;
      const bool stands =
          p.is_posted && !p.message.empty() && !p.is_reaction() && !is_final && (p.what == part_kind::reply || p.asks);
      if (parts.size() >= most_kept || (!stands && !(in_full && is_waiting(place, p)))) continue;
      parts.push_back(kept_part(scope, place, p, in_full));
      if (p.turn && std::find(turns.begin(), turns.end(), *p.turn) == turns.end()) turns.push_back(*p.turn);
    }
    for (const auto& turn : turns)
      if (const auto r = b.replies.find(turn); r != b.replies.end())
        replies.push_back({{"turn", turn.text()},
                           {"scope", scope.text()},
                           {"sent", in_full ? r->second.received : sent_of(r->second, turn, place)},
                           {"over", r->second.is_over}});
    for (const auto& n : place.stops)
      if (auto kept = kept_stop(scope, place, n); kept && stops.size() < most_kept) stops.push_back(std::move(*kept));
  }
  if (parts.empty() && stops.empty()) return {};
  const json all = {{"parts", std::move(parts)},
                    {"replies", std::move(replies)},
                    {"stops", std::move(stops)},
                    {"number", b.last_number}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// `flies`: it was in flight, and the outcome of so many of its bytes is unknown.
void outbox::outbox_state::recover_waiting(place& in, part p, std::optional<std::uint64_t> flies) {
  if (p.tells) in.acknowledged.push_back(*p.tells);
  if (p.what == part_kind::reaction || p.what == part_kind::acknowledgement)
    return add_urgent(in, std::move(p)); // posting it twice is acceptable
  if (!flies) {
    add(in, std::move(p));
    return;
  }
  // A post is not repeated: its replacement says that something may be missing.
  if (!rules.words.left_out.empty()) {
    part gap;
    gap.what = part_kind::left_out;
    gap.turn = p.turn;
    gap.text = rules.words.left_out;
    gap.reply_to = p.reply_to;
    add(in, std::move(gap));
  }
  const auto done = std::min<std::size_t>(*flies, p.text.size());
  if (p.what != part_kind::reply || (done == p.text.size() && !p.is_open)) return;
  p.opening = opening_behind(p.opening + p.text.substr(0, done));
  p.text.erase(0, done);
  p.reply_to.clear();
  add(in, std::move(p));
}

std::uint64_t outbox::changes() const { return state_->changes; }

std::vector<operation_id> outbox::recover(std::string_view kept, boot_time now) {
  auto& b = *state_;
  std::vector<operation_id> which;
  const auto note = [&](const std::optional<operation_id>& id) {
    if (id && std::find(which.begin(), which.end(), *id) == which.end()) which.push_back(*id);
  };
  const auto all = json::parse(kept, nullptr, false);
  // The keys used last may not have been stored.
  if (const auto number = kept_number(all, "number"); number < (1ULL << 53)) b.last_number = number + unwritten_keys;
  for (const auto& j : list_of(all, "parts")) {
    const auto scope = scope_path::parse(text_of(j, "scope"));
    if (!scope || which.size() >= most_kept) continue;
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
        in.line.push_back({*p.turn, 0}); // how many come first is known when the next one begins
      b.add(in, std::move(p));
      continue;
    }
    auto p = recovered(j);
    note(p.turn);
    if (p.asks) note(p.asks->call);
    b.add(b.at(*scope, now), std::move(p));
  }
  for (const auto& j : list_of(all, "replies")) {
    const auto scope = scope_path::parse(text_of(j, "scope"));
    const auto turn = operation_id::parse(text_of(j, "turn"));
    if (!scope || !turn || !j.contains("sent") || !j["sent"].is_number_unsigned()) continue;
    reply r;
    r.scope = *scope;
    r.received = j["sent"].get<std::uint64_t>();
    r.is_over = flag_of(j, "over");
    r.has_part = true;
    b.replies.emplace(*turn, std::move(r));
  }
  for (const auto& j : list_of(all, "stops")) {
    const auto scope = scope_path::parse(text_of(j, "scope"));
    auto n = recovered_stop(j);
    if (!scope || !n.cancel || b.last_notice >= most_kept) continue;
    n.number = ++b.last_notice;
    auto& in = b.at(*scope, now);
    // A post of which nobody knows whether it arrived is not made twice: the outcome comes in a message of its own.
    if (!text_of(j, "shown").empty() && !flag_of(j, "flies")) b.add_urgent(in, shown_stop(j, n));
    in.stops.push_back(std::move(n));
  }
  return which;
}

void outbox::looked(const operation_id& which, std::optional<status> how, boot_time now) {
  (void)now;
  auto& b = *state_;
  const bool is_over = !how || *how == status::completed || *how == status::failed || *how == status::cancelled;
  const bool is_whole = !b.replies.contains(which); // its end was delivered: only its queued text is left
  const auto& words = b.rules.words;
  const auto mark = words.ended_early.empty() ? words.cut_mark : words.ended_early + ".";
  for (auto& [scope, place] : b.places) {
    if (how != status::paused) b.close_question(place, which, "no longer needed");
    if (is_over) b.leave_line(place, which);
    if (how == status::running || how == status::paused) b.begin_turn(place, which);
    if (!is_over) continue;
    for (auto& p : place.parts) {
      if (p.turn != which || !p.awaits_proof) continue;
      p.mark = words.cut_mark; // its proof may have been delivered while we were offline
      p.awaits_proof = p.cancel.has_value();
    }
    const auto any_reply = [&parts = place.parts, &which](auto is_so) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const part& p) { return p.turn == which && p.what == part_kind::reply && is_so(p); });
    };
    const bool was_waiting = any_reply([](const part& p) { return !p.is_posted; });
    const bool carries_mark =
        any_reply([](const part& p) { return p.is_posted && (p.is_open || p.sent_bytes < p.text.size()); });
    b.drop(place, which, {}, &mark,
           is_whole ? outbox_state::what_goes::not_whole : outbox_state::what_goes::everything);
    if (is_whole || !was_waiting || carries_mark) continue;
    part p; // no message exists there that could carry the mark
    p.text = mark;
    b.add(place, std::move(p));
  }
  // Later events about its end add nothing.
  if (const auto r = b.replies.find(which); is_over && r != b.replies.end()) r->second.is_over = true;
  ++b.changes;
}

} // namespace quell::integrations::chat
