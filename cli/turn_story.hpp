// One turn as its events tell it: text, tools that run, questions to a human, the end. Pure: events in, news out.
//
// Events may come twice after a lost connection: text is told by its offset, a call by its id, an end once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "protocol/time.hpp"

namespace quell::cli {

/// A tool call that runs.
struct tool_in_flight {
  std::string key;       ///< agent and call: a sub-agent may use the same call ids
  std::string operation; ///< of the call
  std::string what;      ///< `exec echo hello`
  std::string name;
  std::size_t depth = 0; ///< sub-agents above it
  wall_time since{};
};

/// A question to a human that is open.
struct open_approval {
  std::string operation, what, rule;
  // Of a call that has begun and asks something; else "" and none:
  std::string question{}; ///< its id
  std::string message{};
  std::vector<std::string> lines{}, commands{}; ///< what is asked, and how it is answered
  /// Each has its own: a call may wait to begin, and ask several things after that.
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
    /// A new answer of the model begins: its text is no continuation of the line before.
    std::function<void()> next_answer;
    std::function<void(const std::string& text)> text;
    std::function<void(const tool_in_flight&)> tool_started;
    std::function<void(const tool_ending&)> tool_ended;
    std::function<void(const open_approval&)> asked;
    std::function<void(const open_approval&, const std::string& decision, const std::string& by)> answered;
    /// `reason` as in SURFACE 7; the processes may still live.
    std::function<void(const std::string& reason)> aborted;
  };

  explicit turn_story(listener to) : to_(std::move(to)) {}

  void take(const nlohmann::json& event, const std::string& turn);
  /// Its last state: tells the text that no event told (kept events may have been dropped).
  void end(const nlohmann::json& operation);

  const std::vector<tool_in_flight>& tools() const { return tools_; }
  const std::vector<open_approval>& approvals() const { return approvals_; }
  /// Names of the calls that a stop cut off.
  const std::vector<std::string>& interrupted() const { return interrupted_; }
  bool has_started() const { return started_; }
  bool is_over() const { return over_; }

 private:
  void say(std::uint64_t offset, const std::string& text);
  void created(const nlohmann::json& operation, const std::string& turn);
  void tool_start(const nlohmann::json& event);
  void tool_result(const nlohmann::json& event);
  void approval(const nlohmann::json& event);
  std::size_t depth_of(const std::string& agent) const;

  listener to_;
  std::uint64_t told_ = 0; ///< code points
  std::vector<tool_in_flight> tools_;
  std::vector<open_approval> approvals_;
  std::vector<std::string> interrupted_;
  std::map<std::string, std::string> parents_; ///< of sub-agents and their calls
  std::map<std::string, std::string> whats_;   ///< of calls, by agent and call
  std::map<std::string, bool> is_sub_agent_;
  bool started_ = false, over_ = false;
};

} // namespace quell::cli
