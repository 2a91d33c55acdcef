// The common part of connectors for services with an HTTP API: a loop, an outbox whose actions become requests, timers,
// and answers to the service that must not be late.
//
// A service derives from it and defines its requests and the meaning of its answers. Everything protected runs on the
// loop's thread.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "integrations/chat/begun_turns.hpp"
#include "integrations/chat/chat.hpp"
#include "integrations/chat/follow_ups.hpp"
#include "integrations/chat/missed_events.hpp"
#include "integrations/chat/notebook.hpp"
#include "integrations/chat/outbox.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat {

class web_connector : public std::enable_shared_from_this<web_connector> {
 public:
  /// `service`: the first segment of its scopes.
  web_connector(std::string service, outbox_rules rules, host& at, std::function<void(const std::string&)> log,
                memory remembers, change_rules changes = {});
  virtual ~web_connector();
  web_connector(const web_connector&) = delete;
  web_connector& operator=(const web_connector&) = delete;

  /// Starts the thread, which calls `begin`.
  result<void> start();
  // As of `connector`; any thread:
  void on_event(const event& e);
  void called(web_call call, std::function<void(web_answer)> done);
  std::string state() const;
  void stop();

 protected:
  virtual void begin() = 0;
  /// A request from the service. It must be answered once.
  virtual void take(web_call call, std::function<void(web_answer)> done) = 0;
  /// Every event, before the outbox gets it.
  virtual void hear(const event& e) = 0;
  virtual web_request request_of(const action& a) = 0;
  virtual done_how outcome_of(const action& a, const web_response& r) = 0;

  /// Hands the message to quelld; `done` is called on the loop's thread.
  void say(incoming_message message, std::function<void(result<decision>)> done);
  void stop_work(stop_order order, std::function<void(result<stop_answer>)> done);
  /// The same for a Stop button that was pressed at `place`: unsent text of a turn of that place is dropped at once.
  void stop_turn(const scope_path& place, const operation_id& turn, const person& by,
                 std::function<void(result<stop_answer>)> done);
  /// The same for a stop that can be replayed.
  void stop_signed(signed_stop once, std::function<void(result<stop_answer>)> done);
  void approve(approval_order order, std::function<void(result<void>)> done);

  /// The way to the files of a message whose id in the service is `answers`. See `file_tools`.
  std::shared_ptr<file_source> files_of(const scope_path& scope, const std::string& answers,
                                        std::function<result<web_request>(const offered_file&)> request_of,
                                        std::function<result<web_request>(const web_response&)> second_of = {});

  /// Runs `job` once, after at least `wait`.
  void after(milliseconds wait, std::function<void()> job);
  /// An answer that is given once: by the first caller, or `late` after `limit`.
  std::function<void(web_answer)> in_time(std::function<void(web_answer)> done, milliseconds limit, web_answer late);
  /// One line for display; a change is logged.
  void set_state(std::string text);
  void log(const std::string& sentence);
  /// Tells the author that quelld did not take the message with the id `answers`.
  void tell_refused(const scope_path& where, const std::string& answers, const fault& why);
  /// The fault that people are told if a delivery was refused for the moment and does not come again.
  static fault not_now();
  /// Somebody is not admitted: logged at most once a minute, to explain why the bot is silent.
  void turned_away(const std::string& sentence);

  /// Additional state for a restart; "" = none. `more_changes` grows whenever it changes.
  virtual std::string more_to_keep() const = 0;
  virtual std::uint64_t more_changes() const = 0;
  /// Calls `then` once the present state is stored for the next process. `is_stored` false: it cannot be.
  void when_kept(std::function<void(bool is_stored)> then) { waits_for_notes_.push_back(std::move(then)); }
  /// The text of `more_to_keep` from an earlier process; called before `begin`.
  virtual void recall_more(const std::string& kept) = 0;

  /// Submits the new text of an edited message; its reply answers the message with the id `answers`.
  virtual void say_again(incoming_message message, std::string answers) = 0;

  outbox box;
  std::unique_ptr<web_loop> loop;
  follow_ups after_words;

 private:
  std::optional<boot_time> turn(boot_time now);
  void perform(action a);
  void finish_sending();
  void tell_kept();
  void recall();
  /// A function, callable from any thread, that runs a job on the loop while this object lives.
  std::function<void(std::function<void()>)> runner();
  void apply(const event& e);
  std::uint64_t version() const { return box.changes() + more_changes(); }
  std::string to_keep() const;
  /// A function, callable from any thread, that runs `then(value)` on the loop while this object lives.
  template <class T>
  std::function<void(T)> back(std::function<void(T)> then);

  host& at_;
  std::function<void(const std::string&)> log_;
  std::multimap<boot_time, std::function<void()>> timers_;
  begun_turns begun_;
  missed_events missed_;
  notebook notes_;
  std::vector<std::function<void(bool is_stored)>> waits_for_notes_;
  std::shared_ptr<std::promise<void>> idle_; ///< set while we stop: kept once nothing is under way
  bool was_idle_ = false;
  std::atomic<bool> is_stopped_{false};
  boot_time turned_away_at_{};
  mutable std::mutex mutex_;
  std::string state_ = "starting";
};

/// The connector around a web_connector.
std::unique_ptr<connector> wrapped(std::string name, std::shared_ptr<web_connector> inner);

} // namespace quell::integrations::chat
