// A Discord bot at work: the gateway's session, the send queue and the interactions, all on one loop's thread.
//
// The websocket has a thread of its own, which only hands over. What the host answers comes on any thread and is handed
// over too; an answer after the end falls on the floor.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "integrations/chat/discord/door.hpp"
#include "integrations/chat/discord/gateway_machine.hpp"
#include "integrations/chat/discord/gateway_socket.hpp"
#include "integrations/chat/discord/rate_limits.hpp"
#include "integrations/chat/discord/read.hpp"
#include "integrations/chat/discord/settings.hpp"
#include "integrations/chat/discord/write.hpp"
#include "integrations/chat/outbox.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat::discord {

class bot final : public std::enable_shared_from_this<bot> {
 public:
  bot(discord_settings settings, host& at);

  result<void> start();
  // Any thread:
  void told(const event& e);
  void called(web_call call, std::function<void(web_answer)> done);
  std::string state() const;
  void stop();

 private:
  /// An interaction that was not answered yet, or only with "thinking".
  struct open_answer {
    std::function<void(web_answer)> done; ///< empty: deferred
    boot_time patience_ends{};
    std::string application, token;
  };

  // bot.cpp
  void begin();
  std::optional<boot_time> turn(boot_time now);
  void run(std::function<void()> job); ///< on the loop, whose thread never outlives us
  void perform(gateway_machine::effects effects);
  void find_address();
  void heard(const std::string& type, const std::string& data);
  void say(said message);
  void find_application();
  void register_commands(const std::string& application);
  void show_state(boot_time now);
  void log(const std::string& sentence) const;
  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool may_speak_in(std::string_view guild) const;
  web_request request_to(const rest_request& r) const;
  // sending.cpp
  void send_due(boot_time now);
  void send(std::uint64_t number, rest_request request, bool is_post, unsigned tries);
  void sent(std::uint64_t number, const rest_request& request, bool is_post, unsigned tries,
            const web_response& answer);
  void run_later(boot_time at, std::function<void()> job) { later_.emplace(at, std::move(job)); }
  // interactions.cpp
  void interact(const web_call& call, std::function<void(web_answer)> done);
  void ask(const interaction& i);
  void order_stop(const interaction& i);
  void order_approval(const interaction& i);
  void answer(const std::string& id, const std::string& text, bool for_all);
  void defer_what_takes_long(boot_time now);

  const discord_settings settings_;
  host& host_;
  std::unique_ptr<web_loop> loop_;
  std::unique_ptr<gateway_socket> socket_;
  std::atomic<bool> is_over_{false};
  mutable std::mutex guard_;
  std::string state_ = "starting"; ///< under the guard; all else belongs to the loop's thread

  bool has_begun_ = false, knows_commands_ = false;
  std::mt19937_64 random_;
  const std::string nonce_; ///< of this life
  std::uint64_t connection_ = 0;
  gateway_machine machine_;
  outbox outbox_;
  rate_limits limits_;
  interaction_door door_;
  std::map<std::string, open_answer> open_;
  std::multimap<boot_time, std::function<void()>> later_;
};

} // namespace quell::integrations::chat::discord
