// Rooms (XEP-0045): joining, leaving, rejoining; and people's subscriptions to our presence.
#include <algorithm>

#include "integrations/chat/xmpp/session.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat::xmpp {
namespace {

using namespace std::chrono_literals;

constexpr auto settled_after = 60s, answer_timeout = 60s, first_check = 300s;
constexpr int most_nick_tries = 20;
constexpr std::string_view muc = "http://jabber.org/protocol/muc", muc_user = "http://jabber.org/protocol/muc#user";

bool has_status(const element& e, std::string_view code) {
  const auto* x = e.child("x", muc_user);
  return x && std::any_of(x->children.begin(), x->children.end(),
                          [&](const element& c) { return c.name == "status" && c.attribute("code") == code; });
}

std::string error_of(const element& e) {
  const auto* error = e.child("error");
  std::string what = "refused";
  if (!error) return what;
  for (const auto& c : error->children) {
    if (c.name == "text" && !c.text.empty()) return what + " (" + excerpt(c.text, 100) + ")";
    if (c.name != "text" && what == "refused") what = excerpt(c.name, 60);
  }
  return what;
}

} // namespace

void session::join_due(boot_time now) {
  for (auto& [bare, r] : rooms_) {
    if (r.is_joined) {
      if (r.check_at && *r.check_at <= now) check_room(r, now);
      continue;
    }
    if (r.try_at && *r.try_at > now) continue;
    r.try_at = now + answer_timeout; // sent again if nothing comes back
    const auto password = settings_.room_passwords.find(bare);
    out_ += "<presence" + with("from", me_) + with("to", bare + "/" + r.nick) + "><x" + with("xmlns", muc) +
            "><history maxstanzas='0'/>";
    if (password != settings_.room_passwords.end()) out_ += "<password>" + escaped(password->second) + "</password>";
    out_ += "</x></presence>";
  }
}

void session::presence(const element& e, boot_time now) {
  const auto from = read_jid(e.attribute("from"));
  if (!from) return;
  if (const auto it = rooms_.find(from->bare); it != rooms_.end()) return room_presence(it->second, *from, e, now);
  const auto type = e.attribute("type");
  const auto to = read_jid(e.attribute("to"));
  if (!to || to->bare != me_) return;
  const auto head = "<presence" + with("from", me_) + with("to", from->bare);
  if (type == "subscribe") out_ += head + " type='subscribed'/>" + head + "/>";
  if (type == "probe") out_ += head + "/>";
}

void session::room_presence(room& r, const jid& from, const element& e, boot_time now) {
  const auto type = e.attribute("type");
  if (type == "error") {
    const auto* error = e.child("error");
    if (!r.is_joined && error && error->child("conflict") && ++r.nick_tries <= most_nick_tries) {
      r.nick = settings_.nick + (r.nick_tries <= 2 ? std::string(static_cast<std::size_t>(r.nick_tries), '_')
                                                   : std::to_string(r.nick_tries));
      r.try_at = now;
      return join_due(now);
    }
    return left(r, error_of(e), now);
  }
  const bool is_ours = from.resource == r.nick || has_status(e, "110");
  if (!is_ours) {
    if (type == "unavailable") forget_requests_of(from);
    return;
  }
  if (type == "unavailable") {
    if (has_status(e, "303")) return; // a nick change, which we never request
    const auto why = has_status(e, "307")   ? "kicked"
                     : has_status(e, "301") ? "banned"
                     : has_status(e, "332") ? "the room's server goes down"
                                            : "removed from it";
    return left(r, why, now);
  }
  if (!type.empty()) return;
  if (!from.resource.empty()) r.nick = from.resource; // the room can assign another nick
  if (!r.is_joined) {
    r.is_joined = true;
    r.joined_at = now;
    r.check_at = now + first_check;
    r.try_at.reset();
    r.why_not.clear();
    ask_archive(r, now);
  }
  if (has_status(e, "201")) // our join created it; it stays locked until its owner accepts the defaults
    out_ +=
        "<iq type='set'" + with("from", me_) + with("to", r.bare) + with("id", fresh_id()) +
        "><query xmlns='http://jabber.org/protocol/muc#owner'><x xmlns='jabber:x:data' type='submit'/></query></iq>";
}

void session::left(room& r, std::string why, boot_time now) {
  if (r.is_joined && now - r.joined_at >= settled_after) r.waits.worked();
  r.is_joined = false;
  r.nick = settings_.nick;
  r.nick_tries = 0;
  r.check_at.reset();
  r.check.clear();
  r.gone.reset();
  r.why_not = std::move(why);
  r.try_at = now + r.waits.step(1);
}

} // namespace quell::integrations::chat::xmpp
