// A turn as a task of A2A 1.0. Pure.
//
// The one rule that matters: a task is CANCELED when everything below it is proven to be gone, and never before. Until
// then a cancelled turn is WORKING, and an end without proof is FAILED, because nobody knows what still runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocol/id.hpp"
#include "protocol/time.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller::http::a2a {

enum class task_state : std::uint8_t { submitted, working, completed, failed, canceled, input_required };
std::string_view name_of_state(task_state s);
std::optional<task_state> parse_state(std::string_view name);
/// No further update follows.
constexpr bool is_over(task_state s) {
  return s == task_state::completed || s == task_state::failed || s == task_state::canceled;
}
/// True if a waiting caller gets its answer now: the task is over, or asks its caller.
constexpr bool is_answerable(task_state s) { return is_over(s) || s == task_state::input_required; }

/// The known state of the stop of a turn and of everything below it.
struct stop_facts {
  stop_cause cause = stop_cause::cancel;
  std::optional<cancel_id> cancel;
  std::string reason;
  bool is_settled = false;       ///< nothing that it covers below the turn is being stopped any more
  std::uint64_t unconfirmed = 0; ///< below the turn: told, and silent
  std::uint64_t declared = 0;    ///< below the turn: an admin says that it is gone
  std::uint64_t left = 0; ///< below the turn: detached work that lived when it ended, and that this stop passed by

  /// All that the turn has started is known to have gone with it.
  bool is_proven() const { return is_settled && unconfirmed + declared + left == 0; }
};

/// An agent's question to its caller.
struct caller_question {
  std::string question; ///< its id
  std::string words;
};

struct task_facts {
  operation_id id, root; ///< of the turn, and of its tree
  std::string context;   ///< its contextId
  std::string scope;
  status now = status::pending;
  std::optional<stop_facts> stop;
  std::string error_code, error_message;
  std::string text;                    ///< of the answer, so far
  std::vector<caller_question> asks{}; ///< the open ones; the first is answered next
  wall_time at{};                      ///< of its newest change
};

struct task_status {
  task_state state = task_state::submitted;
  std::string words; ///< for a reader; "" = nothing to add
};
task_status status_of(const task_facts& facts);

/// An agent's question in words: its text, and the choices of its form.
std::string words_of_question(const std::string& message, const nlohmann::json& form);

enum class artifacts : std::uint8_t { left_out, shown };
nlohmann::ordered_json task_json(const task_facts& facts, artifacts answer = artifacts::shown);
/// The stream's update of the status.
nlohmann::ordered_json status_update(const task_facts& facts);
/// An update with other words than those of the status, while the task works.
nlohmann::ordered_json working_update(const task_facts& facts, const std::string& words,
                                      nlohmann::ordered_json metadata = nlohmann::ordered_json::object());
/// `appends`: the text follows what was sent; else it replaces that.
enum class artifact_part : std::uint8_t { appended, whole };
nlohmann::ordered_json artifact_update(const task_facts& facts, const std::string& text, artifact_part which);
/// A message of the agent that belongs to no task.
nlohmann::ordered_json agent_message(const std::string& id, const std::string& context, const std::string& text);

} // namespace quell::controller::http::a2a
