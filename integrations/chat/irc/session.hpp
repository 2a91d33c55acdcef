// A client's side of one IRC network: registers, stays in its channels, receives and sends messages. Pure.
//
// Protocol lines (PONG, JOIN, NICK, …) are sent at once; text for people waits in the outbox, because servers throttle
// and disconnect flooding clients.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "integrations/chat/backoff.hpp"
#include "integrations/chat/irc/line.hpp"
#include "integrations/chat/irc/names.hpp"
#include "integrations/chat/irc/settings.hpp"
#include "integrations/chat/line_chat_session.hpp"

namespace quell::integrations::chat::irc {

class session : public line_chat_session {
 public:
  explicit session(irc_settings settings);

  void connected(boot_time now) override;
  void received(std::string_view bytes, boot_time now) override;
  void lost(const std::string& why, boot_time now) override;
  void tick(boot_time now) override;

  std::string farewell() override { return phase_ == phase::up ? write_line({"QUIT"}, "quelld stops") : ""; }
  std::string state() const override;

  const std::string& nick() const { return nick_; }
  /// Bytes of text that fit into one line to `target`.
  std::size_t room(std::string_view target) const;

 private:
  enum class phase : std::uint8_t { down, registering, up };
  struct channel {
    std::string name; ///< with its original spelling
    bool is_wanted = false, is_joined = false;
    backoff waits;
    boot_time joined_at{};
    std::optional<boot_time> try_at{};
    std::string why_not{};
  };

  // session.cpp
  void send(std::initializer_list<std::string_view> words, std::optional<std::string_view> trailing = std::nullopt) {
    out_ += write_line(words, trailing);
  }
  void handle(const line& l, boot_time now);
  // IRC keeps no messages: nothing is caught up, and nothing comes again.
  std::string more_to_keep() const override { return {}; }
  std::uint64_t more_changes() const override { return 0; }
  void recall_more(const std::string&) override {}
  void is_settled(std::uint64_t, bool) override {}
  void plan(boot_time now) override;
  // registration.cpp
  void begin(boot_time now);
  bool wants_sasl() const { return settings_.sasl_external || !settings_.sasl_user.empty(); }
  void capability(const line& l);
  void authenticate(const line& l);
  void sasl_failed(const line& l);
  void next_nick(const line& l);
  void welcome(const line& l, boot_time now);
  void features(const line& l);
  void error(const line& l);
  void renamed(const line& l);
  // channels.cpp
  bool is_channel(std::string_view target) const;
  std::string fold(std::string_view name) const { return folded(name, mapping_); }
  bool is_me(std::string_view nick) const { return is_same(nick, nick_, mapping_); }
  channel& channel_of(std::string_view name);
  void join_all(boot_time now);
  void join_due(boot_time now);
  void joined(const line& l, boot_time now);
  void left(std::string_view name, std::string why, boot_time now);
  void not_joined(const line& l, boot_time now);
  // speech.cpp
  void hear(const line& l, boot_time now);
  void answer_ctcp(std::string_view nick, std::string_view command, std::string_view text, boot_time now);
  bool may_speak() const override { return phase_ == phase::up && !join_at_; } ///< not before the first JOINs were sent
  done_how say(const action& a) override;
  std::vector<std::string> names() const;

  const irc_settings settings_;
  phase phase_ = phase::down;
  line_reader reader_;

  // State of this connection:
  std::string nick_, prefix_; ///< prefix_: as other clients see us
  int nick_tries_ = 0;
  bool knows_accounts_ = false, is_authenticated_ = false;
  std::set<std::string> offered_;                ///< capabilities
  case_mapping mapping_ = case_mapping::rfc1459; ///< the default if the server does not say (RFC 2812)
  std::string channel_letters_ = "#&", status_letters_ = "@+";
  boot_time began_at_{}, last_received_{}, up_at_{};
  bool is_requested_ = false; ///< whether a PING is waiting for its answer
  std::optional<boot_time> join_at_, nick_at_;
  std::map<std::string, channel> channels_; ///< by folded name

  bucket ctcp_;
};

} // namespace quell::integrations::chat::irc
