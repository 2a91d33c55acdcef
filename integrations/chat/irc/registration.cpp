// From CAP LS to 001: capabilities, SASL, the nick, and their later changes.
#include <algorithm>

#include "integrations/chat/irc/session.hpp"
#include "integrations/models/text.hpp"
#include "protocol/base64.hpp"

namespace quell::integrations::chat::irc {
namespace {

using namespace std::chrono_literals;

constexpr int most_nick_tries = 20;
constexpr std::size_t sasl_piece = 400, most_capabilities = 256;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string lower(std::string_view text) { return folded(text, case_mapping::ascii); }

/// The n-th alternative nick if the wanted one is taken.
std::string other_nick(const std::string& wanted, int n) {
  if (n <= 2) return wanted + std::string(static_cast<std::size_t>(n), '_');
  return wanted.substr(0, 6) + std::to_string(n); // some servers allow only 9 letters
}

} // namespace

void session::begin(boot_time) {
  send({"CAP", "LS", "302"});
  if (!settings_.password.empty()) send({"PASS"}, settings_.password);
  send({"NICK", settings_.nick});
  send({"USER", "quell", "0", "*"}, settings_.real_name);
}

void session::capability(const line& l) {
  const auto what = l.parameter(1);
  if (what == "LS" && phase_ == phase::registering) {
    const bool goes_on = l.parameter(2) == "*";
    for (const auto& word : words_of(l.parameter(goes_on ? 3 : 2)))
      if (offered_.size() < most_capabilities) offered_.insert(word.substr(0, word.find('=')));
    if (goes_on) return;
    std::string wanted;
    if (wants_sasl() && !offered_.contains("sasl"))
      return hang_up("the server offers no SASL, and sasl is configured", redial::slowly);
    if (wants_sasl()) wanted = "sasl";
    for (const char* tags : {"message-tags", "account-tag"})
      if (offered_.contains(tags)) wanted += (wanted.empty() ? "" : " ") + std::string(tags);
    if (wanted.empty()) return send({"CAP", "END"});
    return send({"CAP", "REQ"}, wanted);
  }
  if (what == "ACK" && phase_ == phase::registering) {
    const auto words = words_of(l.parameter(2));
    knows_accounts_ = std::find(words.begin(), words.end(), "account-tag") != words.end();
    if (std::find(words.begin(), words.end(), "sasl") == words.end()) return send({"CAP", "END"});
    return send({"AUTHENTICATE", settings_.sasl_external ? "EXTERNAL" : "PLAIN"});
  }
  if (what == "NAK" && phase_ == phase::registering) {
    if (wants_sasl()) return hang_up("the server refuses the capability sasl", redial::slowly);
    send({"CAP", "END"});
  }
}

void session::authenticate(const line& l) {
  if (phase_ != phase::registering || !wants_sasl() || l.parameter(0) != "+") return;
  using namespace std::string_literals;
  const auto secret =
      settings_.sasl_external ? std::string() : base64("\0"s + settings_.sasl_user + "\0"s + settings_.sasl_password);
  for (std::size_t at = 0; at < secret.size(); at += sasl_piece) send({"AUTHENTICATE", secret.substr(at, sasl_piece)});
  if (secret.size() % sasl_piece == 0) send({"AUTHENTICATE", "+"}); // the last piece must not be full; it can be empty
}

void session::sasl_failed(const line& l) {
  if (phase_ != phase::registering) return;
  const auto why = l.parameters.empty() ? std::string() : excerpt(l.parameters.back(), 120);
  hang_up("the server does not take our SASL login (" + why + "); check sasl_user and its password", redial::slowly);
}

void session::next_nick(const line& l) {
  // 437 can be about a channel; and after registration a nick that we would prefer can still be taken.
  if (l.command == "437" && is_channel(l.parameter(1))) return;
  if (phase_ != phase::registering) return;
  if (++nick_tries_ > most_nick_tries)
    return hang_up("no nick is free: " + settings_.nick + " and others like it are taken or not allowed",
                   redial::slowly);
  nick_ = other_nick(settings_.nick, nick_tries_);
  send({"NICK", nick_});
}

void session::welcome(const line& l, boot_time now) {
  if (phase_ != phase::registering) return;
  if (wants_sasl() && !is_authenticated_)
    return hang_up("the server let us in without the SASL login that is configured", redial::slowly);
  phase_ = phase::up;
  up_at_ = now;
  if (is_sendable(l.parameter(0))) nick_ = l.parameter(0);
  join_at_ = now + 5s; // for servers that do not mark the end of the greeting
  if (!is_me(settings_.nick)) nick_at_ = now + 60s;
}

void session::features(const line& l) {
  for (const auto& word : l.parameters) {
    const auto is = std::min(word.find('='), word.size());
    const auto name = word.substr(0, is), value = word.substr(std::min(is + 1, word.size()));
    if (name == "CASEMAPPING") mapping_ = mapping_of(value);
    if (name == "CHANTYPES" && value.size() <= 16) channel_letters_ = value;
    if (name == "STATUSMSG" && value.size() <= 16) status_letters_ = value;
  }
}

void session::error(const line& l) {
  const auto why = excerpt(l.parameter(0), 160), small = lower(why);
  // Such a refusal is not transient, and a client that keeps retrying gets banned.
  const bool is_refusal = phase_ == phase::registering &&
                          (small.find("password") != std::string::npos || small.find("denied") != std::string::npos ||
                           small.find("banned") != std::string::npos || small.find("line") != std::string::npos ||
                           small.find("not authorized") != std::string::npos);
  hang_up((is_refusal ? "the server refuses us: " : "the server hung up: ") + why,
          is_refusal ? redial::slowly : redial::soon);
}

void session::renamed(const line& l) {
  if (!is_me(l.nick()) || !is_sendable(l.parameter(0))) return;
  nick_ = l.parameter(0);
  if (const auto user = prefix_.find('!'); user != std::string::npos) prefix_ = nick_ + prefix_.substr(user);
  if (is_me(settings_.nick)) nick_at_.reset();
}

} // namespace quell::integrations::chat::irc
