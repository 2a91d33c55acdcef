// The external operation that represents this server: registered, kept alive, listened to, ended. Everything that is
// started here lies below it, so a stop of it stops all of that.
//
// Contact can be lost and come back at any moment: each report to the controller is repeated with the same id until it
// is acknowledged. The lease bounds every silence: when it is over, the controller cancels everything that was started
// here.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/api.hpp"
#include "cli/backoff.hpp"
#include "cli/mcp/json.hpp"

namespace quell::cli::mcp {

class own_operation {
 public:
  struct callbacks {
    std::function<void()> registered;
    /// The controller refuses the operation permanently.
    std::function<void(const problem&)> refused;
    /// The operation was stopped; every call answers `text` from now on.
    std::function<void(const std::string& text)> stopped;
    /// The operation ended without a stop; `text` says why.
    std::function<void(const std::string& text)> ended;
    /// Contact was lost, or came back (nullopt).
    std::function<void(const std::optional<problem>& lost)> contact;
  };

  /// `body` is the create, with an id of our choice.
  own_operation(api& controller, json body, milliseconds lease, callbacks c);
  ~own_operation();
  own_operation(const own_operation&) = delete;
  own_operation& operator=(const own_operation&) = delete;

  void begin();
  /// Sends the final report (`stopped` if it was stopped, otherwise `complete`) until it is acknowledged or `allowance`
  /// is over; `done(true)`: nothing is left to report.
  void end(milliseconds allowance, std::function<void(bool was_confirmed)> done);

  /// Asks the controller whether a stop is pending, so that a goodbye is not taken for a normal end; then calls `next`,
  /// even without an answer.
  void check(std::function<void()> next);

  const std::string& id() const { return id_; }
  bool is_registered() const { return phase_ != phase::registering; }
  /// Why nothing can be started or queried any more; nullopt while it lives.
  const std::optional<std::string>& over() const { return over_; }
  /// Why the controller cannot be asked at the moment.
  const std::optional<problem>& lost() const { return lost_; }

 private:
  enum class phase { registering, live, stopping, over };

  void enrol();
  void beat();
  void listen();
  void say_last_word();
  void has_controller_answered();
  void lost_contact(const problem& p);
  /// The operation has ended at the controller: takes its end from its row.
  void take_end(const json& operation, const std::string& detail);
  void take_stop(const std::string& cause, const std::string& reason);
  /// True if the problem means that the operation has ended.
  bool is_end(const problem& p);
  void hush();
  milliseconds pause();

  api& api_;
  const json body_;
  const std::string id_;
  const milliseconds lease_;
  callbacks tell_;
  phase phase_ = phase::registering;
  std::optional<std::string> over_;
  std::optional<problem> lost_;
  backoff contact_{std::chrono::hours(24 * 365)};
  bool may_exist_ = false; ///< a create was sent, so a controller can know the id
  event_loop::handle call_ = 0, beat_call_ = 0, listen_call_ = 0; ///< create or final report, heartbeat, signal
  event_loop::handle check_call_ = 0, timer_ = 0, beat_timer_ = 0, listen_timer_ = 0, bound_ = 0;
  std::function<void(bool)> done_;
};

} // namespace quell::cli::mcp
