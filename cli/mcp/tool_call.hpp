// One call of a tool in progress: asks the controller, answers once. The state that all calls share is in
// `call_context`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/api.hpp"
#include "cli/mcp/arguments.hpp"
#include "cli/operation_view.hpp"
#include "cli/run_request.hpp"

namespace quell::cli::mcp {

struct call_answer {
  std::string text;
  json structured; ///< the HTTP shape; null = none
  bool is_error = false;
};

/// The state that the calls of one server share.
struct call_context {
  call_context(api& c, std::string own, caller w) : controller(c), own_id(std::move(own)), where(std::move(w)) {}

  api& controller;
  const std::string own_id;          ///< the operation below which everything lies
  const caller where;                ///< default directory of operations started here
  std::set<std::string> mine;        ///< known to lie below; others can, too
  std::set<std::string> starting;    ///< creates without an answer yet
  std::set<std::string> own_cancels; ///< ordered through this server

  void remember(const std::string& id);
  bool was_cancelled_by_others(const json& operation) const;
};

class tool_call {
 public:
  using done = std::function<void(call_answer)>;

  tool_call(call_context& d, done answered) : context_(d), answered_(std::move(answered)) {}
  /// Drops its pending requests; it answers nothing any more.
  virtual ~tool_call();
  tool_call(const tool_call&) = delete;
  tool_call& operator=(const tool_call&) = delete;

  virtual void begin() = 0;
  /// The client has gone: a waiting call answers with the present state.
  virtual void hurry() = 0;
  /// The operation to stop if the client gives up this call; "" = none.
  virtual std::string started() const = 0;

 protected:
  using steady = std::chrono::steady_clock;
  using then = std::function<void(answer<json>)>;

  /// Retries while the controller does not answer, until `allowance` is over.
  void ask(const std::string& method, const std::string& path, const json& body, milliseconds timeout,
           milliseconds allowance, then next);
  void look(const std::string& path, then next);
  /// The operation that `typed` names, if it lies below this server's; any other is `operation_not_found`.
  void find(const std::string& typed, then next);
  /// Every page under `key`, at most 10,000 items.
  void all_pages(const std::string& path, const char* key, then next);
  void pause(milliseconds how_long, std::function<void()> next);
  void abandon_all();
  void finish(call_answer a);
  void fail(const problem& p);
  view now() const;

  call_context& context_;
  milliseconds look_timeout_{3'000}; ///< for a controller that does not answer

 private:
  void attempt(const std::string& method, const std::string& path, const json& body, milliseconds timeout,
               steady::time_point until, milliseconds rest, then next);
  void find_tail(const std::string& typed, then next);
  /// Checks whether `operation` lies below ours, by following its parents.
  void climb(const json& operation, const std::string& at, int steps, then next);
  void more_pages(const std::string& path, const char* key, const std::string& cursor, std::shared_ptr<json> all,
                  then next);

  done answered_;
  std::set<event_loop::handle> transfers_, timers_;
};

/// A call that starts no operation, and that answers as soon as it can.
class prompt_call : public tool_call {
 public:
  using tool_call::tool_call;
  void hurry() override {}
  std::string started() const override { return {}; }
};

/// Does nothing before `begin`.
std::unique_ptr<tool_call> make_call(call_context& d, call_arguments arguments, tool_call::done answered);
std::unique_ptr<tool_call> make_cancel_call(call_context& d, cancel_arguments arguments, tool_call::done answered);

} // namespace quell::cli::mcp
