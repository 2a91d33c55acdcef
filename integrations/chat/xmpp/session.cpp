// The life of one stream: opening, handshake, stanzas, keep-alive, end.
#include "integrations/chat/xmpp/session.hpp"

#include <algorithm>

#include "integrations/models/text.hpp"

namespace quell::integrations::chat::xmpp {
namespace {

using namespace std::chrono_literals;

constexpr auto opening_timeout = 30s, steady_after = 10s, keepalive_every = 60s;
constexpr std::size_t most_characters = 3000;

outbox_rules rules_of(const xmpp_settings& s) {
  outbox_rules rules;
  rules.unit = length_unit::characters;
  rules.most_length = most_characters;
  rules.can_edit = s.corrections;
  rules.can_react = false;
  rules.edit_every = std::max<milliseconds>(s.pace, 1000ms);
  rules.of_all = {s.pace, s.burst};
  return rules;
}

} // namespace

session::session(xmpp_settings settings, std::string id_start)
    : line_chat_session(rules_of(settings), settings.is_cancel, settings.only_addressed),
      settings_(std::move(settings)), id_start_(std::move(id_start)), me_(settings_.nick + "@" + settings_.domain) {
  for (const auto& name : settings_.rooms)
    if (const auto bare = read_jid(name))
      rooms_.try_emplace(bare->bare,
                         room{bare->bare, settings_.nick, 0, false, backoff(settings_.rejoin, settings_.retry_most)});
}

void session::connected(boot_time now) {
  phase_ = phase::opening;
  reader_.clear();
  disconnect_.reset();
  is_leaving_ = false;
  is_steady_ = is_requested_ = false;
  began_at_ = last_received_ = blank_at_ = now;
  for (auto& [bare, r] : rooms_) {
    r.is_joined = false;
    r.nick = settings_.nick;
    r.nick_tries = 0;
    r.try_at.reset();
    r.check_at.reset();
    r.check.clear();
    r.gone.reset(); // it will be fetched again
  }
  out_ = "<?xml version='1.0'?><stream:stream xmlns='jabber:component:accept' "
         "xmlns:stream='http://etherx.jabber.org/streams'" +
         with("to", settings_.domain) + ">";
  plan(now);
}

void session::received(std::string_view bytes, boot_time now) {
  last_received_ = now;
  is_requested_ = false;
  for (const auto& e : reader_.feed(bytes)) {
    if (is_leaving_) break;
    handle(e, now);
  }
  if (!reader_.fault().empty()) hang_up(reader_.fault(), redial::soon);
  speak(now);
  plan(now);
}

void session::lost(const std::string&, boot_time now) {
  phase_ = phase::down;
  is_steady_ = false;
  out_.clear();
  outbox_.lost(now);
  plan(now);
}

void session::tick(boot_time now) {
  if (is_leaving_) return;
  if ((phase_ == phase::opening || phase_ == phase::shaking_hands) && now - began_at_ >= opening_timeout)
    hang_up("the server does not answer the handshake within 30 s", redial::soon);
  if (phase_ == phase::up) {
    const auto quiet = now - last_received_;
    if (quiet >= settings_.silence) {
      hang_up("the server has been silent for " + std::to_string(settings_.silence.count() / 1000) + " s",
              redial::soon);
    } else if (!is_requested_ && quiet >= settings_.silence / 2) {
      is_requested_ = true; // a ping to ourselves, through the server
      out_ += "<iq type='get'" + with("from", me_) + with("to", settings_.domain) + with("id", fresh_id()) +
              "><ping xmlns='urn:xmpp:ping'/></iq>";
    }
    if (now - blank_at_ >= keepalive_every) {
      blank_at_ = now;
      out_ += " ";
    }
    if (now - up_at_ >= steady_after) is_steady_ = true;
    join_due(now);
    for (auto& [bare, r] : rooms_)
      if (r.gone && r.gone->until <= now) caught_up(r, now);
  }
  speak(now);
  plan(now);
}

std::string session::farewell() {
  if (phase_ == phase::down) return {};
  std::string text;
  for (const auto& [bare, r] : rooms_)
    if (r.is_joined)
      text += "<presence type='unavailable'" + with("from", me_) + with("to", bare + "/" + r.nick) + "/>";
  return text + "</stream:stream>";
}

void session::handle(const stream_event& e, boot_time now) {
  if (const auto* opened = std::get_if<stream_opened>(&e)) {
    if (opened->id.empty()) return hang_up("the server's stream has no id", redial::slowly);
    phase_ = phase::shaking_hands;
    out_ += "<handshake>" + sha1_hex(opened->id + settings_.secret) + "</handshake>";
  } else if (const auto* s = std::get_if<element>(&e)) {
    stanza(*s, now);
  } else {
    hang_up("the server closed the stream", redial::soon);
  }
}

void session::stanza(const element& e, boot_time now) {
  if (e.name == "error" && e.space == "http://etherx.jabber.org/streams") return stream_error(e);
  if (e.space != "jabber:component:accept") return;
  if (e.name == "handshake" && phase_ == phase::shaking_hands) {
    phase_ = phase::up;
    up_at_ = now;
    return join_due(now);
  }
  if (phase_ != phase::up) return;
  if (e.name == "message") return hear(e, now);
  if (e.name == "presence") return presence(e, now);
  if (e.name == "iq") return query(e, now);
}

void session::stream_error(const element& e) {
  std::string what = "unknown", text;
  for (const auto& c : e.children) {
    if (c.space != "urn:ietf:params:xml:ns:xmpp-streams") continue;
    (c.name == "text" ? text : what) = c.name == "text" ? excerpt(c.text, 120) : excerpt(c.name, 60);
  }
  const bool is_refusal = what == "not-authorized" || what == "host-unknown" || what == "conflict";
  const std::string advice = what == "not-authorized" ? "; check the component's secret"
                             : what == "host-unknown" ? "; check the component's domain"
                             : what == "conflict"     ? "; another one is connected with this domain"
                                                      : "";
  hang_up("the server ended the stream: " + what + (text.empty() ? "" : " (" + text + ")") + advice,
          is_refusal ? redial::slowly : redial::soon);
}

void session::plan(boot_time now) {
  due_.reset();
  const auto at = [&](boot_time when) { due_ = due_ ? std::min(*due_, when) : when; };
  if (phase_ == phase::down || is_leaving_) return;
  if (phase_ != phase::up) return at(began_at_ + opening_timeout);
  at(last_received_ + settings_.silence);
  if (!is_requested_) at(last_received_ + settings_.silence / 2);
  at(blank_at_ + keepalive_every);
  if (!is_steady_) at(up_at_ + steady_after);
  for (const auto& [bare, r] : rooms_) {
    if (r.try_at) at(*r.try_at);
    if (r.check_at) at(*r.check_at);
    if (r.gone) at(r.gone->until);
  }
  if (const auto next = next_words(now)) at(*next);
}

std::string session::state() const {
  if (phase_ != phase::up) return "shaking hands with " + settings_.host;
  std::string text = "connected to " + settings_.host + " as " + me_, not_in;
  bool is_first = true;
  for (const auto& [bare, r] : rooms_) {
    if (r.is_joined) {
      text += (is_first ? ", in " : " ") + bare;
      is_first = false;
    } else if (!r.why_not.empty()) {
      not_in += "; not in " + bare + ": " + r.why_not;
    }
  }
  return text + not_in;
}

} // namespace quell::integrations::chat::xmpp
