// A turn as a pure state machine. Its inputs come from the model, the tools, the humans and the clock; its outputs are,
// in order, the effects: ask, run, stop, store and publish.
//
// One turn answers one message: it asks the model, runs the calls in the answer, and asks again until an answer has no
// calls. A stop can come between any two inputs. After it the turn asks and runs nothing more, every call of the
// conversation has exactly one result, and late inputs are dropped.
//
// No clock, threads or I/O. The owner performs the effects and makes `store_*` durable before it performs those that
// follow.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "actors/turn/phase.hpp"
#include "actors/turn/repetition.hpp"
#include "actors/turn/result_texts.hpp"
#include "protocol/approval_outcome.hpp"
#include "protocol/conversation.hpp"
#include "protocol/model_stream.hpp"
#include "protocol/time.hpp"

namespace quell::actors {

/// A tool's requirements for being run.
struct tool_traits {
  bool exclusive = false;        ///< no other call of this turn runs beside it
  milliseconds timeout{120'000}; ///< 0 = none
  std::string approval_rule;     ///< "" = no human approval needed
  std::optional<fault>
      unusable; ///< unknown tool, or input that is not JSON or violates the schema: the call fails with this fault
};

struct turn_limits {
  std::uint32_t model_calls = 100;      ///< 0 = no limit of its own
  std::uint32_t calls_per_answer = 128; ///< limit of the model clients
  std::size_t answer_bytes = 1 << 20;
  /// Of the results before the newest round, in memory: more than any model reads. All of them are stored whole.
  std::size_t old_result_bytes = 16 << 20;
  repetition_limits repetition{};
  milliseconds end_timeout{12'000};     ///< how long to wait for the end of a call that has its result
  milliseconds progress{5'000};         ///< a running call says so after this long, and each time after it
  milliseconds least_time_left{10'000}; ///< what a call that a restart met has at least left of its time
};

/// The wait of a running call for a human. It does not count towards the call's time limit.
enum class human_wait : std::uint8_t { begins, ends };

/// Separates the texts of two answers of one turn, in the published text and in the whole text.
inline constexpr std::string_view answer_separator = "\n\n";

/// A call of the last answer that a restart met before its result.
struct met_call {
  std::string call;
  enum class state : std::uint8_t { asking, begun, runs } at = state::begun; ///< begun: nothing of it has run yet
  std::optional<boot_time> started{};                                        ///< of one that runs
  bool is_shown = false;                                                     ///< its start was published
  std::optional<std::string> input{}; ///< JSON text: the one with which a human approved it, if that is another
};

/// The state of a turn from before a restart of its process.
struct turn_past {
  std::string text; ///< text of its answers, with the separators
  model_usage usage;
  std::uint32_t model_calls = 0;
  std::uint64_t tool_calls = 0;
  std::uint64_t thought_points = 0; ///< code points of its published thinking
  std::vector<met_call> met{};
  std::vector<std::string> unshown{}; ///< calls of the last answer whose result was not published
  std::string unsaid{};               ///< the end of `text` that was not published
  bool was_cut = false;               ///< its last answer is a part: it was about to fail
};

enum class abort_reason : std::uint8_t { user, timeout, error, disconnect, parent, superseded, interrupted, budget };

/// The number of a call within its turn: 1, 2, 3 …
using call_number = std::uint32_t;

/// Reports of a model's client besides the answer.
using model_note =
    std::variant<model_events::queued, model_events::admitted, model_events::fell_back, model_events::retrying>;

namespace turn_effects {
/// Register the model call and ask the model. Its events come back with this number.
struct ask_model {
  std::uint32_t number = 0;
  conversation messages;
};
/// Close the stream now; later events of it are dropped.
struct hang_up {
  std::uint32_t number = 0;
};
/// Durable: the model's answer. Its calls become operations that are still pending, numbered from `first_call` on.
struct store_answer {
  assistant_message what;
  call_number first_call = 1;
};
/// Durable: the only result of the call, with the end of its operation unless the operation was stopped.
struct store_result {
  call_number number = 0;
  tool_result what;
};
struct run_tool {
  call_number number = 0;
};
struct ask_human {
  call_number number = 0;
  std::string rule;
};
/// The call already has its result; its running work must end.
struct stop_tool {
  call_number number = 0;
  bool timed_out = false;
};
// Events for the watchers.
struct say_text {
  std::uint64_t offset = 0; ///< in code points, from the beginning of the turn
  std::string text;
};
/// Not part of the answer's text; has offsets of its own.
struct say_thinking {
  std::uint64_t offset = 0; ///< in code points, from the beginning of the turn's thinking
  std::string text;
};
struct say_model_note {
  model_note what;
};
struct say_call_started {
  call_number number = 0;
};
struct say_call_timed_out {
  call_number number = 0;
  milliseconds limit{0};
};
/// The call still runs.
struct say_call_progress {
  call_number number = 0;
  milliseconds elapsed{0};
};
struct say_result {
  call_number number = 0;
  tool_result what;
  milliseconds took{0};
};
/// The turn's own work is over. `text` is everything that the model said in this turn.
struct end {
  std::optional<abort_reason> aborted; ///< absent: it completed
  std::optional<fault> error;          ///< with abort_reason::error
  std::string text;
  model_usage usage;
  model_events::stop why = model_events::stop::end; ///< if it completed: how its last answer ended
};
} // namespace turn_effects

using turn_effect =
    std::variant<turn_effects::ask_model, turn_effects::hang_up, turn_effects::store_answer, turn_effects::store_result,
                 turn_effects::run_tool, turn_effects::ask_human, turn_effects::stop_tool, turn_effects::say_text,
                 turn_effects::say_thinking, turn_effects::say_model_note, turn_effects::say_call_started,
                 turn_effects::say_call_timed_out, turn_effects::say_call_progress, turn_effects::say_result,
                 turn_effects::end>;

/// One thread.
class turn {
 public:
  using look_up = std::function<tool_traits(const tool_call&)>;

  turn(turn_limits limits, look_up traits, const result_texts& texts)
      : limits_(limits), traits_(std::move(traits)), texts_(texts), repetition_(limits.repetition) {}

  /// Begins the turn. `so_far` ends with the message to answer.
  std::vector<turn_effect> begin(conversation so_far, boot_time now);
  /// Continues after a restart. If `so_far` ends with an answer that has calls: those in `known` have their results,
  /// those in `past.met` go on from there, the others begin now. Else the model is asked, or the turn completes with
  /// the answer that it ends with. Offsets, text, usage and budget continue from `past`.
  std::vector<turn_effect> resume(conversation so_far, const std::vector<tool_result>& known, turn_past past,
                                  boot_time now);
  /// People steer the turn: the model that is asked now is told what they say, and all later ones. Answers `more`.
  std::vector<user_message> steered(std::vector<user_message> more);
  std::vector<turn_effect> on_model_event(std::uint32_t number, model_event what, boot_time now);
  /// The tool of this call has ended. A late end (the call already has its result) changes nothing.
  std::vector<turn_effect> tool_ended(call_number number, bool ok, std::string result, boot_time now);
  /// Something other than this turn stopped the call; the turn goes on, and `what` is the call's result.
  std::vector<turn_effect> call_cancelled(call_number number, tool_result what, boot_time now);
  /// `input`: JSON text; the call runs with it instead of its own, so what it may do is looked up again.
  std::vector<turn_effect> human_decided(call_number number, approval_outcome how, const std::string& reason,
                                         boot_time now, const std::optional<std::string>& input = std::nullopt);
  /// Its time limit is suspended during the wait. A repeat changes nothing.
  void call_waits(call_number number, human_wait what, boot_time now);
  std::vector<turn_effect> stop(abort_reason why, boot_time now);
  /// A piece of work could not be registered or stored: the turn fails with this fault.
  std::vector<turn_effect> fail(fault why, boot_time now);
  std::vector<turn_effect> tick(boot_time now);
  std::optional<boot_time> next_tick() const;

  /// The state of a call for `session_status`.
  enum class call_state : std::uint8_t { announced, asking, running, answered, timed_out, cancelled };
  struct call_view {
    tool_call what;
    call_state state = call_state::announced;
    std::optional<boot_time> started;
    std::optional<boot_time> ended;
  };
  turn_phase phase() const { return phase_; }
  std::vector<call_view> calls() const;
  std::uint32_t model_calls() const { return model_calls_; }
  /// Whether the answer that is arriving has calls so far: without any it is the last one.
  bool answer_has_calls() const { return !answer_.calls.empty(); }
  const model_usage& usage() const { return usage_; }
  std::string current_tool() const;
  std::uint64_t tool_calls() const { return tool_calls_; }

 private:
  struct call_slot {
    call_slot(tool_call c, tool_traits t) : what(std::move(c)), traits(std::move(t)) {}
    tool_call what;
    tool_traits traits;
    call_state state = call_state::announced;
    bool approved = false;
    bool is_shown = false; ///< its start was published before a restart
    bool lives = false;    ///< it was started and has not ended, with or without a result
    std::optional<tool_result> result;
    std::optional<boot_time> started, ended;
    std::optional<boot_time> progress; ///< when it next says that it still runs; none while it waits for a human
    std::optional<boot_time> deadline; ///< its own; after a stop, that of others' wait for its end
    std::optional<std::chrono::nanoseconds> left; ///< remaining time, while the call waits for a human
  };
  /// A call of an earlier answer that has its result and still runs.
  struct straggler {
    call_number number = 0;
    std::string name;
    std::optional<boot_time> deadline;
  };

  void move_to(turn_phase next);
  void ask(boot_time now);
  void take_calls(boot_time now);
  void start_what_may_start(boot_time now);
  bool may_start(const call_slot& s) const;
  call_slot* slot_of(call_number number);
  call_number number_of(const call_slot& s) const { return first_ + static_cast<call_number>(&s - slots_.data()); }
  void put_slots();
  std::string never_ending_beside(const call_slot& s) const;
  void answer(call_slot& s, tool_result what, call_state as, boot_time now);
  void after_answers(boot_time now);
  void warn_of_repetition(const tool_call& what, tool_result& result);
  bool refuse_calls(const tool_call* repeated, boot_time now);
  void go_on_with(call_slot& s, const met_call& met, boot_time now);
  void take_input(call_slot& s, const std::string& input) const;
  void recall_calls();
  void hear_note(model_note what);
  void keep_partial_answer(boot_time now);
  void close_calls(abort_reason why, boot_time now);
  void shorten_old_results();
  void finish(std::optional<abort_reason> aborted, std::optional<fault> error);
  enum class result_kind : std::uint8_t { ok, failed, cancelled };
  tool_result result_of(const call_slot& s, result_kind how, std::string text) const;
  std::vector<turn_effect> take() { return std::exchange(out_, {}); }

  turn_limits limits_;
  look_up traits_;
  const result_texts& texts_;
  turn_phase phase_ = turn_phase::asking;
  conversation messages_;
  assistant_message answer_;     ///< the answer received so far
  std::vector<call_slot> slots_; ///< calls of the newest answer
  call_number first_ = 1;        ///< number of slots_[0]
  std::vector<straggler> stragglers_;
  std::vector<call_view> older_calls_; ///< calls of this turn's earlier answers, the newest 100
  repetition_guard repetition_;
  std::uint32_t model_calls_ = 0;
  std::uint64_t tool_calls_ = 0;
  std::string text_; ///< of all answers of this turn
  std::uint64_t code_points_ = 0;
  std::uint64_t thought_points_ = 0; ///< code points of all thinking
  model_events::stop stop_ = model_events::stop::end;
  model_usage usage_;
  std::vector<turn_effect> out_;
};

} // namespace quell::actors
