// Queries from others, and our queries to rooms.
#include <algorithm>

#include "integrations/chat/xmpp/session.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations::chat::xmpp {
namespace {

using namespace std::chrono_literals;

constexpr auto check_every = 5min;
constexpr std::size_t most_out_bytes = 256 << 10; ///< above it queries get no answer

} // namespace

void session::query(const element& e, boot_time now) {
  const auto type = e.attribute("type"), id = e.attribute("id");
  const auto from = read_jid(e.attribute("from"));
  if (!from || id.size() > 1024) return;
  if (type == "result" || type == "error") {
    const auto it = rooms_.find(from->bare);
    if (it != rooms_.end() && archive_answers(it->second, e, now)) return;
    if (it == rooms_.end() || it->second.check.empty() || it->second.check != id) return;
    auto& r = it->second;
    r.check.clear();
    const auto* error = type == "error" ? e.child("error") : nullptr;
    // XEP-0410: other errors come from clients and gateways without ping support; these two mean that we are not in it.
    if (error && (error->child("not-acceptable") || error->child("item-not-found"))) left(r, "the room forgot us", now);
    return;
  }
  if ((type != "get" && type != "set") || out_.size() > most_out_bytes) return;
  const auto head = "<iq" + with("from", e.attribute("to")) + with("to", e.attribute("from")) + with("id", id);
  if (type == "get" && e.child("ping", "urn:xmpp:ping")) {
    out_ += head + " type='result'/>";
  } else if (type == "get" && e.child("query", "http://jabber.org/protocol/disco#info")) {
    out_ +=
        head +
        " type='result'><query xmlns='http://jabber.org/protocol/disco#info'><identity category='client' type='bot'" +
        with("name", settings_.nick) +
        "/><feature var='http://jabber.org/protocol/disco#info'/><feature var='urn:xmpp:ping'/>" +
        (settings_.corrections ? "<feature var='urn:xmpp:message-correct:0'/>" : "") + "</query></iq>";
  } else if (type == "get" && e.child("query", "http://jabber.org/protocol/disco#items")) {
    out_ += head + " type='result'><query xmlns='http://jabber.org/protocol/disco#items'/></iq>";
  } else {
    out_ += head + " type='error'><error type='cancel'><service-unavailable "
                   "xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>";
  }
}

void session::check_room(room& r, boot_time now) {
  r.check_at = now + check_every;
  r.check = fresh_id();
  out_ += "<iq type='get'" + with("from", me_) + with("to", r.bare + "/" + r.nick) + with("id", r.check) +
          "><ping xmlns='urn:xmpp:ping'/></iq>";
}

} // namespace quell::integrations::chat::xmpp
