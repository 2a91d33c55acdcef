// A conversation on a terminal: the typed line at the bottom, answers and tools above it, several messages in progress.
#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/input_history.hpp"
#include "cli/line_editor.hpp"
#include "cli/live_screen.hpp"
#include "cli/options.hpp"
#include "cli/session.hpp"
#include "cli/turn_story.hpp"
#include "cli/turn_stream.hpp"

namespace quell::cli {

class chat_room {
 public:
  chat_room(session& s, api& controller, const chat_options& o, std::string scope, std::string history_file);
  ~chat_room();

  /// False: this terminal does not support editing.
  bool is_usable() const { return editor_.is_usable(); }
  /// Runs until the person leaves; returns the exit code. `before` is the conversation so far.
  exit_code execute(const nlohmann::json& before);

 private:
  /// One message of ours and its turn.
  struct spoken {
    std::string text;
    std::uint64_t number = 0; ///< 1 for the first
    std::unique_ptr<turn_story> story;
    std::unique_ptr<turn_stream> stream;
    wall_time since{};
    bool posted = false, decided = false, echoed = false, stopping = false, killing = false, over = false;
  };

  // Keyboard input.
  void line(const std::string& typed);
  void command(const std::string& typed);
  void interrupted();
  void leave(const std::string& reason);
  void on_signal(int n);
  // Sending.
  void send(const std::string& text);
  void post_next();
  bool stop_running(const std::string& reason);
  enum class decision : std::uint8_t { approve, deny };
  void decide(const open_approval& open, decision what, const std::string& reason);
  void change(const std::string& action, const std::string& to);
  void follow(const std::string& turn);
  void show_conversation();
  // Receiving.
  turn_story::listener listener(spoken& one);
  turn_stream::callbacks callbacks(spoken& one);
  void ended(spoken& one, const nlohmann::json& operation);
  void failed(spoken& one, const problem& p);
  // Display.
  void echo(spoken& one);
  void note(const std::string& text, color c = color::dim);
  void print_conversation(const nlohmann::json& messages);
  void refresh();
  void resize();
  std::vector<std::string> rows() const;
  std::string prompt() const;
  std::vector<open_approval> approvals() const;
  void sweep();

  session& s_;
  api& api_;
  const chat_options& o_;
  const std::string scope_;
  input_history history_;
  line_editor editor_;
  live_screen screen_;
  std::deque<std::unique_ptr<spoken>> spoken_;
  std::vector<std::string> answered_; ///< approvals that we have answered, until an event confirms it
  std::vector<event_loop::handle> calls_;
  std::uint64_t last_sent_ = 0, last_echoed_ = 0;
  std::optional<exit_code> code_;
  event_loop::handle ticking_ = 0, sweeping_ = 0;
  std::string lost_; ///< why contact is lost; "" = contact
  bool leaving_ = false;
};

} // namespace quell::cli
