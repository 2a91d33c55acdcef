// One turn as its events describe it: text, running tools, questions to a human, the end. Pure: events in, news out.
//
// Events can come twice after a lost connection: text is reported by its offset, a call by its id, an end once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protocol/time.hpp"

namespace quell::cli {

/// A running tool call.
struct tool_in_flight {
  std::string key;       ///< agent and call: a sub-agent can use the same call ids
  std::string operation; ///< of the call
  std::string what;      ///< `exec echo hello`
  std::string name;
  std::size_t depth = 0; ///< number of sub-agents above it
  wall_time since{};
  std::string line{}; ///< the newest that it printed
};

/// An open question to a human.
struct open_approval {
  std::string operation, what, rule;
  // For a call that has begun and asks something; otherwise "" and empty:
  std::string question{}; ///< its id
  std::string message{};
  std::vector<std::string> lines{}, commands{}; ///< the question's lines, and the commands that answer it
  bool is_agents = false;                       ///< the person's next message answers it
  /// Each question has its own key: a call can wait to begin, and ask several things after that.
  const std::string& key() const { return question.empty() ? operation : question; }
};

struct tool_ending {
  std::string what, outcome;
  milliseconds took{0};
  std::size_t depth = 0;
  bool ok = false, cancelled = false;
};

class turn_story {
 public:
  struct listener {
    std::function<void()> started;
    /// A new answer of the model begins: its text does not continue the previous line.
    std::function<void()> next_answer;
    std::function<void(const std::string& text)> text;
    std::function<void(const tool_in_flight&)> tool_started;
    /// It printed lines; not everything is shown.
    std::function<void(const tool_in_flight&, const std::vector<std::string>& lines)> tool_printed;
    std::function<void(const tool_in_flight&, milliseconds elapsed)> tool_still_runs;
    std::function<void(const tool_ending&)> tool_ended;
    std::function<void(const open_approval&)> on_approval;
    std::function<void(const open_approval&, const std::string& decision, const std::string& by)> answered;
    /// The model's client waits, tries again, or asks another model.
    std::function<void(const std::string& words)> noted;
    /// `reason` as in SURFACE 7, and which commands go on in the background; the processes can still be alive.
    std::function<void(const std::string& reason)> aborted;
  };

  explicit turn_story(listener to) : to_(std::move(to)) {}

  void take(const nlohmann::json& event, const std::string& turn);
  /// Takes its last state: reports the text that no event reported (stored events can have been dropped).
  void end(const nlohmann::json& operation);

  const std::vector<tool_in_flight>& tools() const { return tools_; }
  const std::vector<open_approval>& approvals() const { return approvals_; }
  /// The names of the calls that a stop interrupted.
  const std::vector<std::string>& interrupted() const { return interrupted_; }
  bool has_started() const { return started_; }
  bool is_over() const { return over_; }

 private:
  void say(std::uint64_t offset, const std::string& text);
  void resumed(std::uint64_t offset);
  void created(const nlohmann::json& operation, const std::string& turn);
  void tool_start(const nlohmann::json& event);
  void tool_running(const nlohmann::json& event);
  void tool_result(const nlohmann::json& event);
  void approval(const nlohmann::json& event);
  std::size_t depth_of(const std::string& agent) const;

  listener to_;
  std::uint64_t shown_ = 0; ///< code points
  std::vector<tool_in_flight> tools_;
  std::vector<open_approval> approvals_;
  std::vector<std::string> interrupted_;
  std::map<std::string, std::string> parents_; ///< of sub-agents and their calls
  std::map<std::string, std::string> whats_;   ///< of calls, by agent and call
  std::map<std::string, bool> is_sub_agent_;
  bool started_ = false, over_ = false;
};

} // namespace quell::cli
