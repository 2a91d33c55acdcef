// Received and sent messages.
#include <algorithm>

#include "integrations/chat/addressing.hpp"
#include "integrations/chat/admission.hpp"
#include "integrations/chat/irc/session.hpp"
#include "integrations/chat/irc/text.hpp"
#include "integrations/models/text.hpp"
#include "protocol/stop_signs.hpp"

namespace quell::integrations::chat::irc {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_author = 128, most_id = 128;
/// Before the first JOIN we do not know our prefix: this assumes nick, user and host of usual maximum lengths.
constexpr std::size_t unknown_prefix = 120;

} // namespace

std::vector<std::string> session::names() const {
  std::vector<std::string> all{nick_};
  if (nick_ != settings_.nick) all.push_back(settings_.nick);
  return all;
}

std::size_t session::room(std::string_view target) const {
  return room_for_text(prefix_.empty() ? std::string(unknown_prefix, 'x') : prefix_, target);
}

void session::hear(const line& l, boot_time now) {
  const auto nick = l.nick();
  if (phase_ != phase::up || l.parameters.size() < 2 || !is_sendable(nick) || is_me(nick)) return;
  if (l.prefix.find('!') == std::string::npos && nick.find('.') != std::string_view::npos) return; // sent by a server
  std::string_view target = l.parameter(0), text = l.parameter(1);
  while (target.size() > 1 && status_letters_.find(target.front()) != std::string::npos && !is_channel(target))
    target.remove_prefix(1); // addressed only to a channel's operators
  const bool is_private = !is_channel(target);
  if (is_private && !is_me(target)) return;
  if (const auto control = read_ctcp(text)) {
    if (control->command != "ACTION") {
      if (is_private) answer_ctcp(nick, control->command, control->text, now);
      return;
    }
    text = control->text;
  }
  const auto clean = plain(text);
  auto split = without_address(clean, names());
  if (is_private) split.is_addressed = true;
  if (blank(split.text)) return;
  const auto author = fold(nick);
  const auto place = scope_of_target(settings_.network, is_private ? nick : target, mapping_);
  if (!place || author.size() > most_author) return; // longer than any server allows
  person by{author, std::string(nick)};
  // Anybody can take a nick; an account needs a login.
  if (const auto account = l.tag("account"); knows_accounts_ && account.size() <= most_author) by.account = account;
  if (is_private && !is_admitted({}, settings_.users, {}, by.account)) return;
  const auto id = l.tag("msgid");
  take(*place, split, by, std::string(id.size() <= most_id ? id : std::string_view()), names(), now);
}

void session::answer_ctcp(std::string_view nick, std::string_view command, std::string_view text, boot_time now) {
  if (ctcp_.free_at() > now) return;
  std::string answer;
  if (command == "VERSION") answer = "VERSION quell";
  if (command == "PING" && text.size() <= 64) answer = "PING " + plain(text);
  if (answer.empty()) return;
  ctcp_.take(now);
  send({"NOTICE", nick}, "\x01" + answer + "\x01");
}

done_how session::say(const action& a) {
  const auto target = target_of_scope(a.place, settings_.network);
  if (!target) return {outcome::refused};
  if (is_channel(*target)) {
    const auto it = channels_.find(fold(*target));
    if (it == channels_.end()) return {outcome::refused};
    if (!it->second.is_joined) return {outcome::later, {}, 2s};
  }
  // A long line of a reply comes in several, and none of them may look like quell's own.
  for (const auto& one : lines_of(text_of(a), room(*target)))
    send({"PRIVMSG", *target}, a.turn ? without_stop_signs(one) : one);
  return {outcome::sent};
}

} // namespace quell::integrations::chat::irc
