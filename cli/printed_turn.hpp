// Prints one turn as it runs, without a screen: the answer on standard output, tools and questions as plain lines on
// standard error, and the end as an exit code. Used by `quell say` and for each line of a piped `quell chat`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/exit_code.hpp"
#include "cli/session.hpp"
#include "cli/turn_story.hpp"
#include "cli/turn_stream.hpp"
#include "protocol/stop_signs.hpp"

namespace quell::cli {

/// When to print tools, questions and stops.
enum class tell_aside : std::uint8_t { on_terminal, always };

class printed_turn {
 public:
  printed_turn(session& s, api& controller, nlohmann::json message, milliseconds reconnect, tell_aside aside);

  ~printed_turn();
  printed_turn(const printed_turn&) = delete;
  printed_turn& operator=(const printed_turn&) = delete;

  /// Runs until the turn has ended; returns the exit code (SURFACE 12, `say`).
  exit_code execute();

 private:
  void decided(const nlohmann::json& decision);
  void after_stop(const nlohmann::json& event);
  void ended(const nlohmann::json& operation);
  void failed(const problem& p);
  void on_signal(int n);
  void leave();
  void text(const std::string& bytes);
  void aside(const std::string& line, color c = color::dim);
  void fresh_line();
  void notice_reader();
  turn_story::listener listener();

  session& s_;
  api& api_;
  tell_aside aside_;
  turn_story story_;
  turn_stream stream_;
  std::optional<exit_code> code_;
  int interruptions_ = 0;
  event_loop::handle leaving_ = 0;
  bool is_reacted_ = false;   ///< the last event about a stop was a reaction
  bool mid_line_ = false;     ///< the cursor of standard output is behind text
  stop_sign_filter signs_;    ///< of the text on a terminal, between lines of ours
  bool out_is_shown_ = false; ///< standard output and error are one terminal
};

} // namespace quell::cli
