// A component's side of one XMPP server: handshake, rooms, receiving and sending messages. Pure.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/chat/backoff.hpp"
#include "integrations/chat/line_chat_session.hpp"
#include "integrations/chat/missed_messages.hpp"
#include "integrations/chat/xmpp/jid.hpp"
#include "integrations/chat/xmpp/settings.hpp"
#include "integrations/chat/xmpp/stream_reader.hpp"

namespace quell::integrations::chat::xmpp {

class session : public line_chat_session {
 public:
  /// `id_start`: prefix of our message ids; different for each process.
  session(xmpp_settings settings, std::string id_start);

  void connected(boot_time now) override;
  void received(std::string_view bytes, boot_time now) override;
  void lost(const std::string& why, boot_time now) override;
  void tick(boot_time now) override;

  std::string farewell() override;
  std::string state() const override;

 private:
  enum class phase : std::uint8_t { down, opening, shaking_hands, up };
  /// Messages of a room from while we were out of it, while they are being fetched.
  struct past {
    missed_messages<element> missed_here{};
    std::string query_id{}; ///< id of the open query
    bool is_kept = false;   ///< the room keeps an archive
    unsigned pages = 0;
    boot_time until{};
    std::uint64_t of_archive = 0, meanwhile = 0; ///< sequence numbers for their order
  };
  struct room {
    std::string bare, nick;
    int nick_tries = 0;
    bool is_joined = false;
    backoff waits;
    boot_time joined_at{};
    std::optional<boot_time> try_at{};   ///< when not joined
    std::optional<boot_time> check_at{}; ///< when joined: next check that the room still lists us (XEP-0410)
    std::string check{};                 ///< id of the running check
    std::string why_not{};
    std::string last_handled{}; ///< archive id of the last message about which quelld has decided
    std::size_t undecided = 0;  ///< messages with a pending decision
    std::optional<past> gone{};
  };

  // session.cpp
  void handle(const stream_event& e, boot_time now);
  void stanza(const element& e, boot_time now);
  void stream_error(const element& e);
  void plan(boot_time now) override;
  std::string fresh_id() { return id_start_ + "-" + std::to_string(++last_id_); }
  // queries.cpp
  void query(const element& e, boot_time now);
  void check_room(room& r, boot_time now);
  // rooms.cpp
  void join_due(boot_time now);
  void presence(const element& e, boot_time now);
  void room_presence(room& r, const jid& from, const element& e, boot_time now);
  void left(room& r, std::string why, boot_time now);
  // archive.cpp
  void ask_archive(room& r, boot_time now);
  void ask_page(room& r, const std::string& after);
  /// True if it answers an archive query.
  bool archive_answers(room& r, const element& e, boot_time now);
  void hear_archived(room& r, const element& result, boot_time now);
  void caught_up(room& r, boot_time now);
  std::string more_to_keep() const override;
  std::uint64_t more_changes() const override { return handled_changes_; }
  void recall_more(const std::string& kept) override;
  void is_settled(std::uint64_t mark, bool comes_again) override;
  void mark_handled(room& r, const std::string& id);
  // speech.cpp
  void hear(const element& e, boot_time now);
  enum class reception : std::uint8_t { live, missed };
  void take_message_element(const element& e, reception when, boot_time now);
  static std::string number_of(room& r, reception when);
  static void hold(room& r, const scope_path& place, const element& e, reception when);
  /// The key of the request that this sender knows by `id`; "" = there is none, or it is not known any more.
  std::string request_known_as(const jid& from, std::string_view id) const;
  void remember_request(const element& e, const jid& from, const std::string& room, const std::string& key);
  /// Somebody else can take the name of an occupant who has left.
  void forget_requests_of(const jid& occupant);
  bool may_speak() const override { return phase_ == phase::up; }
  done_how say(const action& a) override;

  const xmpp_settings settings_;
  const std::string id_start_, me_; ///< me_: our address
  std::uint64_t last_id_ = 0;
  phase phase_ = phase::down;
  stream_reader reader_;
  bool is_requested_ = false;
  boot_time began_at_{}, last_received_{}, blank_at_{}, up_at_{};
  std::map<std::string, room> rooms_; ///< by address
  /// Messages with a pending decision: the room and the archive id of each.
  std::map<std::uint64_t, std::pair<std::string, std::string>> deciding_;
  std::uint64_t handled_changes_ = 0;
  /// The newest requests, by what can name them: the sender with an id of the message or of the room.
  std::map<std::string, std::string, std::less<>> requests_;
  std::deque<std::string> request_names_;
};

} // namespace quell::integrations::chat::xmpp
