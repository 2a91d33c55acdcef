// The life of one connection: start, lines, timers, end.
#include "integrations/chat/irc/session.hpp"

#include <algorithm>

#include "integrations/models/text.hpp"

namespace quell::integrations::chat::irc {
namespace {

using namespace std::chrono_literals;

constexpr auto registration_timeout = 60s, steady_after = 10s;
constexpr std::size_t line_bytes = 400; ///< of text; a line with a long prefix is cut once more

outbox_rules rules_of(const irc_settings& s) {
  outbox_rules rules;
  rules.unit = length_unit::bytes;
  rules.most_length = line_bytes;
  rules.can_edit = false;
  rules.can_react = false;
  rules.one_line = true;
  rules.of_all = {s.pace, s.burst};
  return rules;
}

irc_settings checked(irc_settings s) {
  if (s.network.empty()) s.network = s.host;
  return s;
}

} // namespace

session::session(irc_settings settings)
    : line_chat_session(rules_of(settings), settings.is_cancel, settings.only_addressed),
      settings_(checked(std::move(settings))), ctcp_({5s, 2}) {}

void session::connected(boot_time now) {
  phase_ = phase::registering;
  reader_.clear();
  out_.clear();
  disconnect_.reset();
  is_leaving_ = false;
  nick_ = settings_.nick;
  prefix_.clear();
  nick_tries_ = 0;
  is_authenticated_ = is_requested_ = is_steady_ = knows_accounts_ = false;
  offered_.clear();
  mapping_ = case_mapping::rfc1459;
  channel_letters_ = "#&";
  status_letters_ = "@+";
  began_at_ = last_received_ = now;
  join_at_.reset();
  nick_at_.reset();
  channels_.clear();
  begin(now);
  plan(now);
}

void session::received(std::string_view bytes, boot_time now) {
  last_received_ = now;
  is_requested_ = false;
  reader_.feed(bytes);
  while (const auto text = reader_.next()) {
    if (is_leaving_) break; // a connection that is being closed is not read any more
    if (const auto l = read_line(*text)) handle(*l, now);
  }
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
  if (phase_ == phase::registering && now - began_at_ >= registration_timeout)
    hang_up("the server does not finish the registration within 60 s", redial::soon);
  if (phase_ != phase::down) {
    const auto quiet = now - last_received_;
    if (quiet >= settings_.silence) {
      hang_up("the server has been silent for " + std::to_string(settings_.silence.count() / 1000) + " s",
              redial::soon);
    } else if (!is_requested_ && phase_ == phase::up && quiet >= settings_.silence / 2) {
      is_requested_ = true;
      send({"PING"}, "quell");
    }
  }
  if (phase_ == phase::up) {
    if (now - up_at_ >= steady_after) is_steady_ = true;
    if (join_at_ && *join_at_ <= now) join_all(now);
    join_due(now);
    if (nick_at_ && *nick_at_ <= now) {
      nick_at_ = now + 60s;
      send({"NICK", settings_.nick});
    }
  }
  speak(now);
  plan(now);
}

void session::handle(const line& l, boot_time now) {
  const auto& c = l.command;
  if (c == "PING") return send({"PONG"}, l.parameter(0));
  if (c == "ERROR") return error(l);
  if (c == "CAP") return capability(l);
  if (c == "AUTHENTICATE") return authenticate(l);
  if (c == "NICK") return renamed(l);
  if (c == "PRIVMSG") return hear(l, now);
  if (c == "JOIN") return joined(l, now);
  if (c == "PART" && is_me(l.nick())) return left(l.parameter(0), "removed from it", now);
  if (c == "KICK" && is_me(l.parameter(1)))
    return left(l.parameter(0), "kicked by " + excerpt(l.nick(), 64) + ": " + excerpt(l.parameter(2), 100), now);
  if (c == "001") return welcome(l, now);
  if (c == "005") return features(l);
  if (c == "376" || c == "422") { // the end of the greeting, or none at all
    if (join_at_) join_all(now);
    return;
  }
  if (c == "396" && !prefix_.empty() && is_sendable(l.parameter(1))) { // our displayed host has changed
    prefix_ = prefix_.substr(0, prefix_.find('@')) + "@" + std::string(l.parameter(1));
    return;
  }
  if (c == "903") {
    is_authenticated_ = true;
    return send({"CAP", "END"});
  }
  if (c == "902" || c == "904" || c == "905" || c == "906" || c == "908") return sasl_failed(l);
  if (c == "431" || c == "432" || c == "433" || c == "436" || c == "437") return next_nick(l);
  if ((c == "464" || c == "465") && phase_ == phase::registering)
    return hang_up("the server refuses us: " + excerpt(l.parameters.empty() ? "" : l.parameters.back(), 120),
                   redial::slowly);
  static const std::set<std::string> no_way_in{"403", "405", "407", "471", "473", "474",
                                               "475", "476", "477", "489", "520"};
  if (no_way_in.contains(c)) not_joined(l, now);
}

void session::plan(boot_time now) {
  due_.reset();
  const auto at = [&](boot_time when) { due_ = due_ ? std::min(*due_, when) : when; };
  if (phase_ == phase::down || is_leaving_) return;
  at(last_received_ + settings_.silence);
  if (phase_ == phase::registering) return at(began_at_ + registration_timeout);
  if (!is_requested_) at(last_received_ + settings_.silence / 2);
  if (!is_steady_) at(up_at_ + steady_after);
  if (join_at_) at(*join_at_);
  if (nick_at_) at(*nick_at_);
  for (const auto& [folded_name, c] : channels_)
    if (c.try_at) at(*c.try_at);
  if (join_at_) return; // text for people waits for the end of the greeting
  if (const auto next = next_words(now)) at(*next);
}

std::string session::state() const {
  if (phase_ != phase::up) return "registering with " + settings_.host;
  std::string text = "connected to " + settings_.host + " as " + nick_, not_in;
  bool is_first = true;
  for (const auto& [folded_name, c] : channels_) {
    if (c.is_joined) {
      text += (is_first ? ", in " : " ") + c.name;
      is_first = false;
    } else if (!c.why_not.empty()) {
      not_in += "; not in " + c.name + ": " + c.why_not;
    }
  }
  return text + not_in;
}

} // namespace quell::integrations::chat::irc
