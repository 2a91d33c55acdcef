// What connectors of services with an HTTP API have in common: a loop, an outbox whose actions become requests, timers,
// and answers to the service that may not come late.
//
// A service derives from it and says what a request looks like and what its answer means. Everything protected runs on
// the loop's thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "integrations/chat/chat.hpp"
#include "integrations/chat/follow_ups.hpp"
#include "integrations/chat/notebook.hpp"
#include "integrations/chat/outbox.hpp"
#include "integrations/chat/signed_stop.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat {

class web_connector : public std::enable_shared_from_this<web_connector> {
 public:
  web_connector(outbox_rules rules, host& at, std::function<void(const std::string&)> log, memory remembers);
  virtual ~web_connector();
  web_connector(const web_connector&) = delete;
  web_connector& operator=(const web_connector&) = delete;

  /// Starts the thread; then `begin` is called there.
  result<void> start();
  // As of `connector`; any thread:
  void told(const event& e);
  void called(web_call call, std::function<void(web_answer)> done);
  std::string state() const;
  void stop();

 protected:
  virtual void begin() = 0;
  /// A request that the service made. To be answered once.
  virtual void take(web_call call, std::function<void(web_answer)> done) = 0;
  /// Every event, before the outbox hears of it.
  virtual void hear(const event& e) { (void)e; }
  virtual web_request request_of(const action& a) = 0;
  virtual done_how outcome_of(const action& a, const web_response& r) = 0;

  /// Hands it to quelld; `done` is called on the loop's thread.
  void say(said message, std::function<void(result<decision>)> done);
  void stop_work(stop_order order, std::function<void(result<stop_answer>)> done);
  /// The same for one that may be replayed.
  void stop_signed(signed_stop once, std::function<void(result<stop_answer>)> done);
  void approve(approval_order order, std::function<void(result<void>)> done);

  /// `job` once, at least so much later.
  void after(milliseconds wait, std::function<void()> job);
  /// An answer that is given once: by who calls it first, or `late` after `limit`.
  std::function<void(web_answer)> in_time(std::function<void(web_answer)> done, milliseconds limit, web_answer late);
  /// One line for people; a change is logged.
  void set_state(std::string text);
  void log(const std::string& sentence);
  /// Somebody is not admitted: logged once a minute, for who wonders why the bot is silent.
  void turned_away(const std::string& sentence);

  /// What else is to be known after a restart; "" = nothing. `more_changes` grows when it becomes another.
  virtual std::string more_to_keep() const { return {}; }
  virtual std::uint64_t more_changes() const { return 0; }
  /// What `more_to_keep` said in an earlier life; called before `begin`.
  virtual void recall_more(const std::string& kept) { (void)kept; }

  /// Says the other words of an edited message; its reply answers the message of that id.
  virtual void say_again(said message, std::string answers) = 0;

  outbox box;
  std::unique_ptr<web_loop> loop;
  follow_ups after_words;

 private:
  std::optional<boot_time> turn(boot_time now);
  void perform(action a);
  void recall();
  std::uint64_t version() const { return box.changes() + more_changes(); }
  std::string to_keep() const;
  /// A function for any thread that runs `then(value)` on the loop, while this lives.
  template <class T>
  std::function<void(T)> back(std::function<void(T)> then);

  host& at_;
  std::function<void(const std::string&)> log_;
  std::multimap<boot_time, std::function<void()>> timers_;
  notebook notes_;
  std::atomic<bool> is_stopped_{false};
  boot_time turned_away_at_{};
  mutable std::mutex mutex_;
  std::string state_ = "starting";
};

/// The connector around a web_connector.
std::unique_ptr<connector> wrapped(std::string name, std::shared_ptr<web_connector> core);

} // namespace quell::integrations::chat
