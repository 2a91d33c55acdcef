// The outside of an agent: the ledger and the history, the model, the tools, and the watchers. Each agent has its own
// port. Answers come on any thread, after everything that they report is durable.
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

/// Runs a step as a later message of an actor. Any thread; after the actor's end the step is dropped.
using step_poster = std::function<void(std::function<void()>)>;

/// The stream of a model that is answering.
class model_stream {
 public:
  virtual ~model_stream() = default;
  /// After this returns, no event is delivered; `closed` is called when the connection is gone.
  virtual void hang_up(std::function<void()> closed) = 0;
  /// After `hang_up`: the tokens that the cut call has used, partly estimated.
  virtual model_usage used() const = 0;
};

/// The end of a tool's work, as the model will see it unless the call was stopped before.
struct work_end {
  bool ok = true;
  std::string result;     ///< JSON text
  bool cancelled = false; ///< the work itself was cancelled, not the call; then `ok` is false
  model_usage used{};     ///< by a sub-agent, with those below it
  bool closed = false;    ///< the call has ended with this result already, in the ledger
};

/// The work of a running call. It belongs to the call's actor, which calls every function and destroys it.
class tool_work {
 public:
  virtual ~tool_work() = default;
  /// Answers that come on other threads become steps of the actor through `post`; such a step may use the work, which
  /// lives as long as the actor. `done` may be called on any thread, when the work is really over, stopped or not; the
  /// first end stands. A step that throws ends the call as interrupted.
  virtual void start(step_poster post, std::function<void(work_end)> done) = 0;
  /// Asks the work to end. May be called any number of times, also before `start`, which then only calls `done`.
  virtual void stop(const std::string& reason) = 0;
};

/// Events of a call for the watchers.
using agent_news = std::variant<turn_effects::say_call_started, turn_effects::say_call_timed_out,
                                turn_effects::say_call_progress, turn_effects::say_result>;

/// The answer with which a turn ends: it has no calls.
struct last_answer {
  assistant_message what;
  model_usage usage; ///< the answer's token count
};

class agent_port {
 public:
  virtual ~agent_port() = default;

  /// Any thread.
  virtual tool_traits traits(const tool_call& call) = 0;
  /// A human approved the call with the input that it has now.
  virtual void input_changed(const tool_call& what) = 0;

  /// The conversation with which the next model call will be asked, so that it can be let in with what it will cost.
  virtual void expect_request(const conversation& messages) = 0;
  /// Registers the next model call. Returns a fault if the agent was stopped or nothing can be stored.
  virtual void open_model_call(std::uint32_t number, answer<result<operation_id>> done) = 0;
  /// Messages that were stored with that call: they steer the turn, and this call is the first to be told of them.
  virtual std::vector<user_message> take_steering() = 0;
  /// `listener` is called on any thread. `post`: to the agent, to which the stream belongs.
  virtual std::unique_ptr<model_stream> ask_model(conversation messages, step_poster post,
                                                  std::function<void(model_event)> listener) = 0;
  virtual void close_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) = 0;
  /// The same for the call with which the agent's own work ends.
  virtual void close_last_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) = 0;

  /// Stores the answer; its calls become operations that are still pending. `usage` is the answer's token count.
  virtual void store_answer(const assistant_message& what, const std::vector<tool_traits>& traits,
                            const model_usage& usage, answer<result<std::vector<operation_id>>> done) = 0;
  /// The go: false if the call must no longer begin.
  virtual void begin_call(const operation_id& call, answer<bool> done) = 0;
  /// Reports the agent's end of the call. Answers the result that stands, which differs from `what` if the call was
  /// stopped before.
  virtual void close_call(const operation_id& call, const tool_result& what, answer<tool_result> done) = 0;
  /// As `close_call`, and also stops the work that the call runs.
  virtual void time_out_call(const operation_id& call, const tool_result& what, answer<tool_result> done) = 0;
  virtual void ask_human(const operation_id& call, const tool_call& what, const std::string& rule) = 0;
  virtual std::unique_ptr<tool_work> work_for(const operation_id& call, const tool_call& what, const turn& so_far) = 0;

  virtual void say(const operation_id& call, const tool_call& what, const agent_news& news) = 0;
  /// Calls `done` when the text has been sent; until then the agent collects further text.
  virtual void say_text(std::uint64_t offset, const std::string& text, std::function<void()> done) = 0;
  /// As `say_text`, for what the model thinks aloud.
  virtual void say_thinking(std::uint64_t offset, const std::string& text, std::function<void()> done) = 0;
  /// An event in place of an answer: a wait, another try, another model.
  virtual void say_model_note(const model_note& what) = 0;
  /// Reports that the agent's own work is over: no text follows. `answer` is stored with the end, both or neither; if
  /// it cannot be stored, the turn has failed, whatever end it reports.
  virtual void end(const turn_effects::end& how, const std::optional<last_answer>& answer, std::uint64_t tool_calls,
                   std::function<void()> done) = 0;
};

/// The place where an agent lives: its thread, and the actors below it.
class agent_loop {
 public:
  virtual ~agent_loop() = default;
  /// Returns a function that runs a closure later on the agent's thread. Callable from any thread; does nothing after
  /// the agent's end.
  virtual step_poster poster() = 0;
  virtual boot_time now() = 0;
  virtual void start_tool(call_number number, const operation_id& call, std::unique_ptr<tool_work> work) = 0;
  virtual void stop_tool(call_number number, const std::string& reason) = 0;
  /// The agent and everything below it is over and durable.
  virtual void over() = 0;
};

} // namespace quell::actors
