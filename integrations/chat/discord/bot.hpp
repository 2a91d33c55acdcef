// A running Discord bot: the gateway's session, the send queue and the interactions, all on one loop's thread.
//
// The websocket has its own thread, which only hands over. The host replies on any thread, and its replies are handed
// over too; a reply after the end is dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "integrations/chat/begun_turns.hpp"
#include "integrations/chat/discord/gateway_machine.hpp"
#include "integrations/chat/discord/gateway_socket.hpp"
#include "integrations/chat/discord/history_queue.hpp"
#include "integrations/chat/discord/interaction_verifier.hpp"
#include "integrations/chat/discord/rate_limits.hpp"
#include "integrations/chat/discord/read.hpp"
#include "integrations/chat/discord/settings.hpp"
#include "integrations/chat/discord/threads.hpp"
#include "integrations/chat/discord/write.hpp"
#include "integrations/chat/follow_ups.hpp"
#include "integrations/chat/handled_marks.hpp"
#include "integrations/chat/missed_events.hpp"
#include "integrations/chat/missed_messages.hpp"
#include "integrations/chat/notebook.hpp"
#include "integrations/chat/outbox.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat::discord {

class bot final : public std::enable_shared_from_this<bot> {
 public:
  bot(discord_settings settings, host& at);

  result<void> start();
  // Any thread:
  void on_event(const event& e);
  void called(web_call call, std::function<void(web_answer)> done);
  std::string state() const;
  void stop();

 private:
  /// An interaction that is not answered yet, or only with "thinking".
  struct open_answer {
    std::function<void(web_answer)> done; ///< empty: deferred
    boot_time waits_until{};
    std::string application, token;
  };

  // bot.cpp
  void begin();
  std::optional<boot_time> turn(boot_time now);
  void run(std::function<void()> job); ///< runs a job on the loop, whose thread ends before us
  /// Callable from any thread, and as long as wanted: the same while this object lives.
  std::function<void(std::function<void()>)> runner();
  void perform(gateway_machine::effects effects);
  void find_address();
  void find_application();
  void register_commands(const std::string& application);
  void show_state(boot_time now);
  void log(const std::string& sentence) const;
  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  /// `guild` "": a direct message.
  bool is_admitted(std::string_view guild, const person& who, const scope_path& where);
  web_request request_to(const rest_request& r) const;
  // hearing.cpp
  void on_dispatch(const std::string& type, const std::string& data);
  void hear_message(const std::string& data);
  void hear_edit(const std::string& data);
  /// `place`: the channel of the message; nullopt: it is not said.
  void hear_deletion(const std::string& id, const std::optional<scope_path>& place);
  void hear_end_of(const scope_path& place, const std::string& what);
  /// `answers`: the id of the message to which the reply is attached.
  void say(incoming_message message, std::string answers);
  /// Threads below the place in which somebody has written to us.
  std::vector<scope_path> threads_below(const scope_path& place) const;
  /// Stops all operations in them; `shown_at`: an additional place where the stop is reported.
  void stop_threads(const std::vector<scope_path>& all, const person& by, std::optional<scope_path> shown_at);
  bool stop_with_threads(const incoming_message& message);
  bool is_cancel(const incoming_message& message) const;
  /// Adds what is attached to the message; the files are fetched if it begins a turn.
  void attach_to(incoming_message& message, const std::string& data, bool is_stop);
  static bool is_for_another(const incoming_message& message, bool is_stop, const std::string& data);
  // catching_up.cpp
  void recall();
  void apply(const event& e);
  std::string to_keep() const;
  std::string positions_to_keep() const;
  /// Returns the latest time for the next call.
  std::optional<boot_time> keep_positions(boot_time now);
  void catch_up();
  /// Begins as many requests as may be under way.
  void fetch_missed(boot_time now);
  /// When Discord lets a history be read that could begin otherwise; nullopt: none waits for that.
  std::optional<boot_time> next_history_at(boot_time now) const;
  void missed(const history_queue::request& wanted, const web_response& answer);
  /// False: it was not fetched, and will not be.
  bool ask_again(history_queue::request wanted, const web_response& answer);
  void caught_up(const std::string& place);
  // sending.cpp
  void send_due(boot_time now);
  void send(std::uint64_t number, rest_request request, bool is_post);
  void sent(std::uint64_t number, const rest_request& request, bool is_post, const web_response& answer);
  // interactions.cpp
  void interact(const web_call& call, std::function<void(web_answer)> done);
  void ask(const interaction& i);
  void order_stop(const interaction& i);
  void order_approval(const interaction& i);
  enum class readers : std::uint8_t { the_asker, everybody };
  void answer(const std::string& id, const std::string& text, readers of);
  void defer_what_takes_long(boot_time now);

  const discord_settings settings_;
  host& host_;
  std::unique_ptr<web_loop> loop_;
  std::unique_ptr<gateway_socket> socket_;
  std::atomic<bool> is_over_{false};
  mutable std::mutex guard_;
  std::string state_ = "starting"; ///< guarded by the mutex; everything else belongs to the loop's thread

  bool has_begun_ = false, knows_commands_ = false;
  std::mt19937_64 random_;
  std::string nonce_; ///< the same in later processes: it identifies a repeated post
  std::uint64_t connection_ = 0;
  boot_time turned_away_at_{}; ///< when the log last reported that somebody is not admitted
  gateway_machine machine_;
  follow_ups follow_ups_;
  handled_marks marks_{20'000}; ///< a bot has at most 2,500 servers
  history_queue histories_;
  threads threads_;
  std::map<std::string, missed_messages<std::string>> held_; ///< by place whose history is being fetched
  begun_turns begun_;
  outbox outbox_;
  missed_events missed_;
  notebook notes_, positions_;
  rate_limits limits_;
  interaction_verifier door_;
  std::map<std::string, open_answer> open_;
  std::multimap<boot_time, std::function<void()>> later_;
};

} // namespace quell::integrations::chat::discord
