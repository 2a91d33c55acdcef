// Edits one line of input on a terminal while other events are handled: libedit, fed by the loop and never blocking.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quell::cli {

class line_editor {
 public:
  struct callbacks {
    /// Enter was pressed. The line is still on the screen and in the editor: the owner clears it, calls `drop`, and
    /// draws.
    std::function<void(const std::string& line)> line;
    /// Ctrl-D on an empty line.
    std::function<void()> end;
    /// The terminal is gone: no more input.
    std::function<void()> gone;
    /// Ctrl-L.
    std::function<void()> clear_screen;
  };

  line_editor(callbacks c, const std::vector<std::string>& history);
  ~line_editor();
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;

  /// False: the terminal does not support editing.
  bool is_usable() const;
  /// Takes the terminal (raw mode); the first `draw` shows the prompt.
  void start();
  /// Restores the terminal; the cursor stays where it is.
  void stop();
  /// Call when standard input is readable.
  void read();

  const std::string& prompt() const { return prompt_; }
  void set_prompt(std::string text) { prompt_ = std::move(text); }
  /// Draws prompt and line; the cursor must stand at the start of an empty row.
  void draw();
  /// Rows between the prompt's first row and the cursor on a terminal of that width.
  std::size_t rows_above_cursor(std::size_t columns) const;
  bool is_empty() const;
  /// Drops the typed text; the owner must draw again.
  void drop();
  void add_history(const std::string& line);
  /// Another process had the terminal in the meantime.
  void resume();
  /// The terminal's size has changed.
  void resized();

 private:
  struct implementation;
  std::string prompt_;
  std::unique_ptr<implementation> self_;
};

} // namespace quell::cli
