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
#include "integrations/chat/outbox.hpp"
#include "integrations/chat/signed_stop.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat {

class web_connector : public std::enable_shared_from_this<web_connector> {
 public:
  web_connector(outbox_rules rules, host& at, std::function<void(const std::string&)> log);
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
  void approve(operation_id call, bool approved, person by, std::string reason, std::function<void(result<void>)> done);

  /// `job` once, at least so much later.
  void after(milliseconds wait, std::function<void()> job);
  /// An answer that is given once: by who calls it first, or `late` after `limit`.
  std::function<void(web_answer)> in_time(std::function<void(web_answer)> done, milliseconds limit, web_answer late);
  /// One line for people; a change is logged.
  void set_state(std::string text);
  void log(const std::string& sentence);

  outbox box;
  std::unique_ptr<web_loop> loop;

 private:
  std::optional<boot_time> turn(boot_time now);
  void perform(action a);
  /// A function for any thread that runs `then(value)` on the loop, while this lives.
  template <class T>
  std::function<void(T)> back(std::function<void(T)> then);

  host& at_;
  std::function<void(const std::string&)> log_;
  std::multimap<boot_time, std::function<void()>> timers_;
  mutable std::mutex mutex_;
  std::string state_ = "starting";
};

/// The connector around a web_connector.
std::unique_ptr<connector> wrapped(std::string name, std::shared_ptr<web_connector> core);

} // namespace quell::integrations::chat
