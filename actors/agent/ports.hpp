// What an agent needs from outside: the ledger and the history, the model, the tools, and those who watch. One port for
// each agent. Answers come on any thread, after everything that they say is durable.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/turn/turn.hpp"
#include "protocol/id.hpp"

namespace quell::actors {

template <class T>
using answer = std::function<void(T)>;

/// A model that is answering.
class model_stream {
 public:
  virtual ~model_stream() = default;
  /// Once it returns nothing is told any more; `closed` is called when the connection is gone.
  virtual void hang_up(std::function<void()> closed) = 0;
};

/// How a tool's work ended, as the model will be told unless the call was told to stop before.
struct work_end {
  bool ok = true;
  std::string result;     ///< JSON text
  bool cancelled = false; ///< somebody cancelled the work itself, not the call; then it is not ok
};

/// What a running call does.
class tool_work {
 public:
  virtual ~tool_work() = default;
  /// `done` is called once, on any thread, when it is really over, stopped or not.
  virtual void start(std::function<void(work_end)> done) = 0;
  /// It shall end. Any number of times, also before `start`, which then does nothing but call `done`.
  virtual void stop(const std::string& reason) = 0;
};

/// News of a call for those who watch.
using agent_news =
    std::variant<turn_effects::say_call_started, turn_effects::say_call_timed_out, turn_effects::say_result>;

class agent_port {
 public:
  virtual ~agent_port() = default;

  virtual tool_traits traits(const tool_call& call) = 0;

  /// Registers the next model call; a fault if the agent was told to stop, or nothing can be stored.
  virtual void open_model_call(std::uint32_t number, answer<result<operation_id>> done) = 0;
  /// `listener` is called on any thread.
  virtual std::unique_ptr<model_stream> ask_model(conversation messages, std::function<void(model_event)> listener) = 0;
  virtual void close_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) = 0;

  /// Stores the answer; its calls become operations that are still pending.
  /// `usage`: what the answer cost.
  virtual void store_answer(const assistant_message& what, const std::vector<tool_traits>& traits,
                            const model_usage& usage, answer<result<std::vector<operation_id>>> done) = 0;
  /// The go: false if it must not begin any more.
  virtual void begin_call(const operation_id& call, answer<bool> done) = 0;
  /// The call is over, on our side; answers the result that stands, which is another if it was told to stop before.
  virtual void close_call(const operation_id& call, const tool_result& what, answer<tool_result> done) = 0;
  /// The same with the stop of what it runs.
  virtual void time_out_call(const operation_id& call, const tool_result& what, answer<tool_result> done) = 0;
  virtual void ask_human(const operation_id& call, const tool_call& what, const std::string& rule) = 0;
  virtual std::unique_ptr<tool_work> work_for(const operation_id& call, const tool_call& what, const turn& so_far) = 0;

  virtual void say(const operation_id& call, const tool_call& what, const agent_news& news) = 0;
  /// `done` when that has left: until then the agent keeps further text together.
  virtual void say_text(std::uint64_t offset, const std::string& text, std::function<void()> done) = 0;
  /// The agent's own work is over, and so is everything that was said before.
  virtual void end(const turn_effects::end& how, std::uint64_t tool_calls, std::function<void()> done) = 0;
};

/// Where an agent lives: its thread, and the actors below it.
class agent_loop {
 public:
  virtual ~agent_loop() = default;
  /// Runs it on the agent's thread, later. Any thread; nothing happens after the agent's end.
  virtual std::function<void(std::function<void()>)> poster() = 0;
  virtual boot_time now() = 0;
  virtual void start_tool(call_number number, const operation_id& call, std::unique_ptr<tool_work> work) = 0;
  virtual void stop_tool(call_number number, const std::string& reason) = 0;
  /// Everything of it is over and durable.
  virtual void over() = 0;
};

} // namespace quell::actors
