// An agent: a turn with everything around it. It performs the turn's effects in order, waits if something must be
// durable first, and checks before and after each step whether it has been stopped.
//
// Each reply actor and each sub-agent actor owns one. It belongs to one thread; the port's answers come back through
// the loop.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/agent/ports.hpp"

namespace quell::actors {

class agent {
 public:
  agent(turn_limits limits, const result_texts& texts, agent_port& port, agent_loop& loop);

  void begin(conversation so_far);
  /// Continues after a restart: `calls` are the operations of the last answer's calls, in their order.
  void resume(conversation so_far, const std::vector<tool_result>& known, std::vector<operation_id> calls,
              turn_past past);

  void stop(abort_reason why, const std::string& reason);
  /// The ledger has stopped this call alone.
  void call_stopped(const operation_id& call, const std::string& reason);
  /// The tool's actor has ended; `stands` is the call's only result.
  void tool_over(call_number number, const tool_result& stands);
  /// The tool's actor has died: the call ends as interrupted, and the turn goes on.
  void tool_broke(call_number number);
  /// A human approved or denied the call, or nobody did in time; a call that was not approved has already ended.
  /// `input`: JSON text; the call runs with it instead of its own.
  void human_decided(const operation_id& call, approval_outcome how, const std::string& reason,
                     const std::optional<std::string>& input = std::nullopt);
  /// A running call waits for a human, or has received the human's answer.
  void call_waits(const operation_id& call, human_wait what);
  void tick();
  std::optional<boot_time> next_tick() const { return turn_.next_tick(); }

  const turn& it() const { return turn_; }
  /// The call with this number, which must be known, with the input that it runs with.
  const tool_call& call(call_number number) const { return calls_.at(number).what; }

 private:
  struct known_call {
    operation_id operation;
    tool_call what;
    bool is_answered = false; ///< its result is stored or is being stored
  };

  void take(std::vector<turn_effect> effects);
  void perform_next();
  void held_up_no_more();
  bool perform(turn_effects::ask_model& e);
  bool perform(turn_effects::hang_up& e);
  bool perform(turn_effects::store_answer& e);
  bool perform(turn_effects::store_result& e);
  bool perform(turn_effects::run_tool& e);
  bool perform(turn_effects::ask_human& e);
  bool perform(turn_effects::stop_tool& e);
  bool perform(turn_effects::say_text& e);
  bool perform(turn_effects::say_thinking& e);
  bool perform(turn_effects::say_model_note& e);
  bool perform(turn_effects::say_call_started& e);
  bool perform(turn_effects::say_call_timed_out& e);
  bool perform(turn_effects::say_call_progress& e);
  bool perform(turn_effects::say_result& e);
  bool perform(turn_effects::end& e);
  void ask_model(std::uint32_t number, conversation messages, const result<operation_id>& opened);
  void on_model_event(std::uint32_t number, model_event event);
  void close_model_call(std::optional<fault> failed, const model_usage& usage);
  void hang_up();
  void end_if_nothing_is_left();
  void answer_stored(const turn_effects::store_answer& e, const result<std::vector<operation_id>>& calls);
  void fail_the_end(const fault& why);
  void say_what_waits();
  void think_what_waits();
  bool say(call_number number, const agent_news& news);
  bool is_over() const { return turn_.phase() == turn_phase::done; }
  known_call* call_of(call_number number);
  std::optional<call_number> number_of(const operation_id& call) const;
  void change_input(known_call& call, const std::string& input);
  /// Wraps a callback so that it runs on the agent's thread, and never after the agent's end.
  template <class T, class Then>
  answer<T> back(Then then) const {
    return
        [post = post_, then](T value) { post([then, value = std::move(value)]() mutable { then(std::move(value)); }); };
  }
  std::function<void()> back(std::function<void()> then) const {
    return [post = post_, then = std::move(then)] { post(then); };
  }

  agent_port& port_;
  agent_loop& loop_;
  const result_texts& texts_;
  turn turn_;
  std::deque<turn_effect> waiting_; ///< effects that wait until an earlier one is durable
  bool is_held_up_ = false;
  std::map<call_number, known_call> calls_;
  std::vector<std::pair<operation_id, std::string>> stopped_early_; ///< of calls unknown so far, with reasons
  std::string stop_reason_;

  std::uint32_t call_number_ = 0; ///< number of the open model call
  std::optional<operation_id> model_call_;
  std::unique_ptr<model_stream> stream_;
  model_usage answer_usage_; ///< usage of the answer that is stored next
  model_usage cut_usage_;    ///< of the calls that were cut: the turn hears no end of them

  // Text is sent one piece at a time, so a slow store makes the pieces larger and never builds up a queue.
  std::string unsaid_;
  std::uint64_t unsaid_offset_ = 0;
  bool is_saying_ = false;
  std::string unthought_; ///< thinking that was not sent yet, in the same way
  std::uint64_t unthought_offset_ = 0;
  bool is_thinking_ = false;
  std::optional<turn_effects::end> end_;   ///< waits only for streams that are closing
  std::optional<last_answer> last_answer_; ///< is stored with the end
  std::size_t closing_ = 0;
  step_poster post_;
};

} // namespace quell::actors
