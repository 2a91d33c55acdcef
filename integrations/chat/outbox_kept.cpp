// The state that an outbox keeps for a restart, as of the last event, so that the next process goes on from there with
// the events behind it.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "integrations/chat/outbox_state.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat {
namespace {

using nlohmann::json;

constexpr std::size_t most_kept = 5000, most_bytes_kept = 512 << 10;
constexpr std::size_t most_received_kept = 100, most_settled_kept = 32;

json kept_attempt(const part::attempt& tried) {
  return {{"key", tried.key},
          {"text", tried.text},
          {"bytes", tried.text_bytes},
          {"live", tried.is_live},
          {"end", tried.end}};
}

bool is_in_flight(const place& in, const part& p) { return in.flying && &*in.flying->of == &p; }

/// `in_full`: including the unsent text.
json kept_part(const scope_path& scope, const place& in, const part& p, bool in_full) {
  // An edit that was under way leaves the text there unknown.
  const auto shown = p.what == part_kind::reply && is_in_flight(in, p) ? std::string() : p.shown;
  json j = {
      {"scope", scope.text()},   {"message", p.message}, {"text", in_full ? p.text : p.text.substr(0, p.sent_bytes)},
      {"shown", shown},          {"opening", p.opening}, {"mark", p.mark},
      {"live", p.is_shown_live}, {"open", p.is_open},    {"sent", p.sent_bytes}};
  if (p.turn) j["turn"] = p.turn->text();
  if (p.cancel) j["cancel"] = p.cancel->text();
  if (p.awaits_proof) j["stopping"] = true;
  if (p.what == part_kind::acknowledgement) j["told"] = true;
  if (p.asks) {
    j["call"] = p.asks->call.text();
    j["name"] = p.asks->name;
    j["input"] = p.asks->input;
    j["open"] = p.asks->is_open;
    j["text"] = p.text;
  }
  if (p.is_posted) return j;
  j["waits"] = static_cast<int>(p.what);
  if (p.is_doomed) j["doomed"] = true;
  j["answers"] = p.reply_to;
  if (p.tells) j["stop"] = p.tells->text();
  if (p.perhaps)
    j["perhaps"] = kept_attempt(*p.perhaps);
  else if (is_in_flight(in, p))
    j["flies"] = in.flying->text_bytes;
  return j;
}

bool is_of_open_stop(const place& in, const part& p) {
  return p.notice != 0 &&
         std::any_of(in.stops.begin(), in.stops.end(), [&](const stop_notice& n) { return n.number == p.notice; });
}

/// Whether it is not in the service yet and no later event restores it.
bool is_waiting(const place& in, const part& p, const outbox_rules& rules) {
  if (p.is_posted || p.what == part_kind::queued || p.what == part_kind::in_line) return false;
  if (p.is_doomed) // it may stand there, and then it must be ended
    return p.perhaps && (rules.posts_are_found || (rules.posts_repeat && p.perhaps->is_live));
  if (p.what == part_kind::note && p.turn) return false; // a note about a queue position
  return !is_of_open_stop(in, p) || p.what == part_kind::reaction;
}

/// The report of a stop that is not complete: what shows it, a message or a reaction, and what is still to come.
json kept_stop(const scope_path& scope, const place& in, const stop_notice& n) {
  const auto shown = std::find_if(in.parts.begin(), in.parts.end(), [&](const part& p) {
    return p.notice == n.number && p.what == part_kind::acknowledgement && (!p.is_posted || !p.message.empty());
  });
  json j = {{"scope", scope.text()},
            {"more", n.more_follows},
            {"reported", n.is_reported},
            {"reacted", n.reacted},
            {"answers", n.reply_to}};
  if (n.message) j["stop"] = n.message->text();
  if (n.cancel) j["cancel"] = n.cancel->text();
  if (n.may_stand) j["flies"] = true;
  if (shown != in.parts.end()) {
    j["message"] = shown->message;
    j["shown"] = shown->is_posted ? shown->shown : shown->text;
    j["text"] = shown->text;
    j["awaits"] = shown->awaits_proof;
    if (shown->perhaps)
      j["perhaps"] = kept_attempt(*shown->perhaps);
    else if (!shown->is_posted && is_in_flight(in, *shown))
      j["flies"] = true;
  }
  return j;
}

/// The newest messages of a place with their ids in the service, so that a reply finds what it answers.
void keep_received(json& to, const scope_path& scope, const place& in, std::size_t most) {
  const auto& all = in.received_messages;
  for (auto i = all.size() - std::min(most, all.size()); i < all.size() && to.size() < most_received_kept; ++i)
    to.push_back({{"scope", scope.text()}, {"message", all[i].first.text()}, {"as", all[i].second}});
}

std::uint32_t turns_ahead(const place& in, const operation_id& turn) {
  for (const auto& w : in.line)
    if (w.turn == turn) return w.ahead;
  return 0;
}

/// How much of the reply the service has: all that was received, minus the queued text.
std::uint64_t sent_of(const reply& r, const operation_id& turn, const place& in) {
  std::uint64_t waiting = 0;
  for (const auto& p : in.parts)
    if (p.what == part_kind::reply && p.turn == turn)
      waiting += code_points(std::string_view(p.text).substr(std::min(p.sent_bytes, p.text.size())));
  return r.received - std::min(waiting, r.received);
}

} // namespace

std::string outbox::kept() const {
  const auto& b = *state_;
  json parts = json::array(), replies = json::array(), stops = json::array(), received = json::array(),
       settled = json::array();
  auto room = most_bytes_kept;
  std::set<scope_path> in_full, busy;
  for (const auto& [scope, place] : b.places) {
    // The whole of a place, or only what the service shows of it.
    std::size_t bytes = 0;
    for (const auto& p : place.parts) bytes += p.text.size() + p.shown.size();
    const bool is_whole = bytes <= room;
    if (is_whole) {
      room -= bytes;
      in_full.insert(scope);
    }
    if (!place.parts.empty() || !place.stops.empty()) busy.insert(scope);
    for (const auto& p : place.parts) {
      if (p.is_until_begun && p.is_posted && !p.message.empty() && p.turn && parts.size() < most_kept)
        parts.push_back({{"scope", scope.text()},
                         {"turn", p.turn->text()},
                         {"message", p.message},
                         {"text", p.shown},
                         {"ahead", turns_ahead(place, *p.turn)},
                         {"wait", p.is_reaction() ? "reaction" : "line"}});
      const bool is_stopping = p.awaits_proof && p.mark == b.rules.words.stopping_mark;
      const bool is_final = !p.is_live() && !b.needs_action(p) && !is_stopping && !is_in_flight(place, p);
      const bool is_last_word = p.what == part_kind::acknowledgement && !is_of_open_stop(place, p);
      const bool stands = p.is_posted && !p.message.empty() && !p.is_reaction() && !is_final &&
                          (p.what == part_kind::reply || p.asks || is_last_word);
      if (parts.size() < most_kept && (stands || (is_whole && is_waiting(place, p, b.rules))))
        parts.push_back(kept_part(scope, place, p, is_whole));
    }
    for (const auto& n : place.stops)
      if (stops.size() < most_kept) stops.push_back(kept_stop(scope, place, n));
  }
  for (const auto& [turn, r] : b.replies) {
    if (replies.size() >= most_kept) break;
    const auto at = b.places.find(r.scope);
    busy.insert(r.scope);
    replies.push_back(
        {{"turn", turn.text()},
         {"scope", r.scope.text()},
         {"sent", at == b.places.end() || in_full.contains(r.scope) ? r.received : sent_of(r, turn, at->second)},
         {"over", r.is_over},
         {"why", r.says_why},
         {"waits", r.waits_for_model},
         {"begun", r.has_part},
         {"whole", r.waits_for_end},
         {"answers", r.reply_to}});
  }
  for (const bool is_busy : {true, false})
    for (const auto& [scope, place] : b.places)
      if (busy.contains(scope) == is_busy) keep_received(received, scope, place, is_busy ? 8 : 2);
  for (auto i = b.settled.size() - std::min(most_settled_kept, b.settled.size()); i < b.settled.size(); ++i)
    settled.push_back({{"cancel", b.settled[i].cancel.text()},
                       {"proven", b.settled[i].end.is_proven},
                       {"mark", b.settled[i].end.mark}});
  const json all = {{"parts", std::move(parts)},     {"replies", std::move(replies)},
                    {"stops", std::move(stops)},     {"received", std::move(received)},
                    {"settled", std::move(settled)}, {"number", b.last_number},
                    {"event", b.last_event}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::uint64_t outbox::changes() const { return state_->changes; }

} // namespace quell::integrations::chat
