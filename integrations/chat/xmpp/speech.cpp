// Received and sent messages.
#include <algorithm>

#include "integrations/chat/addressing.hpp"
#include "integrations/chat/admission.hpp"
#include "integrations/chat/xmpp/session.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat::xmpp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_id = 128, most_text = 64 << 10;
constexpr std::size_t most_names = 2'000;      ///< of requests that can be corrected or taken back
constexpr std::uint64_t meanwhile = 1'000'000; ///< sorts after everything that an archive can return

/// An id of at most 128 characters that is unique to this text.
std::string short_id(const std::string& text) { return text.size() <= most_id ? text : "sha1:" + sha1_hex(text); }

/// The room archive's id of the message; "" if it has none.
std::string archive_id(const element& e, const std::string& room) {
  for (const auto& c : e.children)
    if (c.name == "stanza-id" && c.space == "urn:xmpp:sid:0" && c.attribute("by") == room)
      return std::string(c.attribute("id"));
  return {};
}

/// The id that identifies a repeated delivery (XEP-0359). A message's plain id does not: clients restart their
/// counters.
std::string delivery_id(const element& e, const std::string& room, const jid& from) {
  for (const auto& c : e.children)
    if (!room.empty() && c.name == "stanza-id" && c.space == "urn:xmpp:sid:0" && c.attribute("by") == room)
      return short_id(std::string(c.attribute("id")));
  const auto* origin = e.child("origin-id", "urn:xmpp:sid:0");
  // Combined with its sender: nobody can block somebody else's message by sending its id first.
  return origin && !origin->attribute("id").empty() ? short_id(from.full() + " " + std::string(origin->attribute("id")))
                                                    : std::string();
}

/// A reply (XEP-0461) to an occupant who is neither the speaker nor us.
bool answers_another(const element& e, std::string_view speaker, const std::vector<std::string>& our_names) {
  const auto* reply = e.child("reply", "urn:xmpp:reply:0");
  const auto to = reply ? read_jid(reply->attribute("to")) : std::nullopt;
  if (!to || to->resource.empty() || to->resource == speaker) return false;
  return std::find(our_names.begin(), our_names.end(), to->resource) == our_names.end();
}

/// A message of this sender, by its id.
std::string name_of(const jid& from, std::string_view id) { return from.full() + " " + std::string(id); }

/// Distinct for each correction, and the same for one that is delivered again.
std::string stamp_of(const element& e, const std::string& delivery) {
  return sha1_hex(delivery.empty() ? std::string(e.attribute("id")) : delivery).substr(0, 16);
}

} // namespace

std::string session::request_known_as(const jid& from, std::string_view id) const {
  const auto found = id.empty() ? requests_.end() : requests_.find(name_of(from, id));
  return found == requests_.end() ? std::string() : found->second;
}

/// A correction names the message's own id (XEP-0308); to take it back, a room's id counts there (XEP-0424).
void session::remember_request(const element& e, const jid& from, const std::string& room, const std::string& key) {
  const auto* origin = e.child("origin-id", "urn:xmpp:sid:0");
  for (const auto& id : {std::string(e.attribute("id")), archive_id(e, room),
                         origin ? std::string(origin->attribute("id")) : std::string()}) {
    if (id.empty() || id.size() > most_id) continue;
    if (requests_.insert_or_assign(name_of(from, id), key).second) request_names_.push_back(name_of(from, id));
    if (request_names_.size() <= most_names) continue;
    requests_.erase(request_names_.front());
    request_names_.pop_front();
  }
}

void session::forget_requests_of(const jid& occupant) {
  const auto all = name_of(occupant, "");
  for (auto one = requests_.lower_bound(all); one != requests_.end() && one->first.starts_with(all);)
    one = requests_.erase(one);
  std::erase_if(request_names_, [&](const std::string& name) { return name.starts_with(all); });
}

/// Of a message while a room's past is fetched.
std::string session::number_of(room& r, reception when) {
  return std::to_string(when == reception::missed ? ++r.gone->of_archive : meanwhile + ++r.gone->meanwhile);
}

/// Until what came before it is known.
void session::hold(room& r, const scope_path& place, const element& e, reception when) {
  r.gone->missed_here.add(place, number_of(r, when), e);
}

void session::hear(const element& e, boot_time now) {
  const auto from = read_jid(e.attribute("from"));
  const auto in_room = from ? rooms_.find(from->bare) : rooms_.end();
  if (const auto* archived = e.child("result", "urn:xmpp:mam:2")) {
    if (in_room != rooms_.end() && from->resource.empty()) hear_archived(in_room->second, *archived, now);
    return;
  }
  if (e.child("delay", "urn:xmpp:delay") && in_room != rooms_.end()) return; // sent before we joined
  take_message_element(e, reception::live, now);
}

void session::take_message_element(const element& e, reception when, boot_time now) {
  const auto type = e.attribute("type");
  const auto from = read_jid(e.attribute("from"));
  const auto to = read_jid(e.attribute("to"));
  const auto* body = e.child("body", "jabber:component:accept");
  if (!from || !to || from->bare == me_) return;
  const auto in_room = rooms_.find(from->bare);
  const bool is_room = in_room != rooms_.end();
  if (type == "error") {
    if (is_room && from->resource.empty() && in_room->second.is_joined) check_room(in_room->second, now);
    return;
  }
  if (to->bare != me_ && to->bare != settings_.domain) return;
  if (is_room != (type == "groupchat")) return; // a room that we are not in, or a private message in one
  const auto* retracted = e.child("retract", "urn:xmpp:message-retract:1");
  if (!body && !retracted) return;
  if (!is_room && type != "chat" && type != "normal" && !type.empty()) return;
  if (is_room && (from->resource.empty() || from->resource == in_room->second.nick)) return; // the room, or us
  const auto place = scope_of_jid(from->bare);
  if (!place) return;
  if (retracted) { // its body, if it has one, is for clients that do not know this
    if (is_room && in_room->second.gone) return hold(in_room->second, *place, e, when);
    if (const auto key = request_known_as(*from, retracted->attribute("id")); !key.empty()) changes_.push_back({key});
    if (is_room) mark_handled(in_room->second, archive_id(e, from->bare));
    return;
  }
  if (blank(body->text) || body->text.size() > most_text) return;
  std::vector<std::string> names{is_room ? in_room->second.nick : settings_.nick};
  if (names[0] != settings_.nick) names.push_back(settings_.nick);
  auto split = without_address(body->text, names);
  if (!is_room) split.is_addressed = true;
  split.answers_others = is_room && answers_another(e, from->resource, names);
  if (blank(split.text)) return;
  person by{short_id(is_room ? from->full() : from->bare), is_room ? from->resource : from->bare};
  if (!is_room) by.account = from->bare; // an occupant can take any name there
  const auto domain = from->bare.find('@') == std::string::npos ? "" : from->bare.substr(from->bare.find('@'));
  if (!is_room && !is_admitted({}, settings_.users, {}, from->bare) &&
      (domain.empty() || !is_listed(settings_.users, domain)))
    return;
  auto id = delivery_id(e, is_room ? from->bare : "", *from);
  const auto* replaced = e.child("replace", "urn:xmpp:message-correct:0");
  const auto corrected = replaced ? request_known_as(*from, replaced->attribute("id")) : std::string();
  const auto take_it = [&]() -> std::uint64_t {
    if (!corrected.empty()) {
      const auto stamp = stamp_of(e, id);
      const bool is_cancel = is_stop(split, names);
      changes_.push_back({corrected, message_of(*place, split, by, corrected, names), stamp, is_cancel});
      return 0;
    }
    const auto key = "sha1:" + sha1_hex(name_of(*from, e.attribute("id")) + " " + id);
    const auto mark = take(*place, split, by, std::move(id), names, now, key);
    if (mark != 0 && !is_stop(split, names)) remember_request(e, *from, is_room ? from->bare : "", key);
    return mark;
  };
  if (!is_room) {
    take_it();
    return;
  }
  auto& r = in_room->second;
  if (r.gone) { // a cancel word takes effect at once; all else waits for earlier messages
    if (!is_stop(split, names)) return hold(r, *place, e, when);
    r.gone->missed_here.stop(*place, number_of(r, when));
  }
  const auto mark = take_it();
  if (mark == 0) return mark_handled(r, archive_id(e, r.bare));
  ++r.undecided;
  deciding_.emplace(mark, std::pair(r.bare, archive_id(e, r.bare)));
}

done_how session::say(const action& a) {
  const auto to = jid_of_scope(a.place);
  if (!to) return {outcome::refused};
  const auto in_room = rooms_.find(*to);
  if (in_room != rooms_.end() && !in_room->second.is_joined) return {outcome::later, {}, 2s};
  auto id = fresh_id();
  out_ += "<message" + with("type", in_room != rooms_.end() ? "groupchat" : "chat") + with("from", me_) +
          with("to", *to) + with("id", id) + "><body>" + escaped(text_of(a)) + "</body>";
  if (a.what == action_kind::edit) out_ += "<replace" + with("id", a.message) + " xmlns='urn:xmpp:message-correct:0'/>";
  out_ += "<origin-id xmlns='urn:xmpp:sid:0'" + with("id", id) + "/></message>";
  return {outcome::sent, settings_.corrections ? id : std::string()};
}

} // namespace quell::integrations::chat::xmpp
