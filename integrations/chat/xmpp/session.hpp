// A component's side of one XMPP server: shakes hands, sits in its rooms, hears and speaks. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "integrations/chat/backoff.hpp"
#include "integrations/chat/open_questions.hpp"
#include "integrations/chat/outbox.hpp"
#include "integrations/chat/service_session.hpp"
#include "integrations/chat/xmpp/jid.hpp"
#include "integrations/chat/xmpp/settings.hpp"
#include "integrations/chat/xmpp/stream_reader.hpp"

namespace quell::integrations::chat::xmpp {

class session : public service_session {
 public:
  /// `id_start`: what the ids of our messages begin with; another one for each life of the process.
  session(xmpp_settings settings, std::string id_start);

  void connected(boot_time now) override;
  void received(std::string_view bytes, boot_time now) override;
  void lost(const std::string& why, boot_time now) override;
  void tick(boot_time now) override;
  void told(const event& e, boot_time now) override;
  void decided(std::uint64_t mark, const result<decision>& what, boot_time now) override;
  void approved(std::uint64_t mark, const result<void>& what, boot_time now) override;

  std::string to_send() override { return std::exchange(out_, {}); }
  std::vector<heard_message> heard() override { return std::exchange(heard_, {}); }
  std::vector<approval_word> approvals() override { return std::exchange(approvals_, {}); }
  std::optional<hang_up_wish> wish() override { return std::exchange(wish_, std::nullopt); }
  std::optional<boot_time> due() const override { return due_; }
  bool is_up() const override { return is_steady_; }
  std::string farewell() override;
  std::string state() const override;

 private:
  enum class phase : std::uint8_t { down, opening, shaking_hands, up };
  struct room {
    std::string bare, nick;
    int nick_tries = 0;
    bool is_joined = false;
    backoff waits;
    boot_time joined_at{};
    std::optional<boot_time> try_at{};   ///< when not joined
    std::optional<boot_time> check_at{}; ///< when joined: whether the room still thinks so (XEP-0410)
    std::string check{};                 ///< id of the check that runs
    std::string why_not{};
  };

  // session.cpp
  void hang_up(std::string why, redial when);
  void handle(const stream_event& e, boot_time now);
  void stanza(const element& e, boot_time now);
  void stream_error(const element& e);
  void plan(boot_time now);
  std::string fresh_id() { return id_start_ + "-" + std::to_string(++last_id_); }
  // queries.cpp
  void query(const element& e, boot_time now);
  void check_room(room& r, boot_time now);
  // rooms.cpp
  void join_due(boot_time now);
  void presence(const element& e, boot_time now);
  void room_presence(room& r, const jid& from, const element& e, boot_time now);
  void left(room& r, std::string why, boot_time now);
  // speech.cpp
  void hear(const element& e, boot_time now);
  bool answers_question(const scope_path& place, std::string_view text, const person& by);
  void speak(boot_time now);
  done_how say(const action& a);
  void complain(const scope_path& place, const std::string& text, boot_time now);

  const xmpp_settings settings_;
  const std::string id_start_, me_; ///< our address
  std::uint64_t last_id_ = 0;
  phase phase_ = phase::down;
  stream_reader reader_;
  std::string out_;
  std::vector<heard_message> heard_;
  std::vector<approval_word> approvals_;
  std::optional<hang_up_wish> wish_;
  std::optional<boot_time> due_;
  bool is_leaving_ = false; ///< hung up: nothing more is heard or said over this connection
  bool is_steady_ = false, is_asked_ = false;
  boot_time began_at_{}, heard_at_{}, blank_at_{}, up_at_{};
  std::map<std::string, room> rooms_; ///< by address

  outbox outbox_;
  open_questions questions_;
  bucket complaints_;
  std::uint64_t last_mark_ = 0;
  std::map<std::uint64_t, scope_path> undecided_;
};

} // namespace quell::integrations::chat::xmpp
