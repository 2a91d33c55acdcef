// Editing one line of input on a terminal while other things go on: libedit, fed by the loop and never blocking.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quell::cli {

class line_editor {
 public:
  struct callbacks {
    /// Enter. The line still stands on the screen and in the editor: the owner clears it, calls `drop`, and draws.
    std::function<void(const std::string& line)> line;
    /// Ctrl-D on an empty line.
    std::function<void()> end;
    /// The terminal is gone: nothing more can be read.
    std::function<void()> gone;
    /// Ctrl-L.
    std::function<void()> clear_screen;
  };

  line_editor(callbacks c, const std::vector<std::string>& history);
  ~line_editor();
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;

  /// False: the terminal cannot be edited on.
  bool is_usable() const;
  /// Takes the terminal (raw mode); the first `draw` shows the prompt.
  void start();
  /// The terminal as it was; the cursor stays where it is.
  void stop();
  /// To be called when standard input can be read.
  void read();

  const std::string& prompt() const { return prompt_; }
  void set_prompt(std::string text) { prompt_ = std::move(text); }
  /// Draws prompt and line; the cursor must stand at the start of an empty row.
  void draw();
  /// Rows between the prompt's first row and the cursor on a terminal of that width.
  std::size_t rows_above_cursor(std::size_t columns) const;
  bool is_empty() const;
  /// Forgets what is typed; to be drawn anew.
  void drop();
  void add_history(const std::string& line);
  /// Somebody else had the terminal meanwhile.
  void resume();
  /// The terminal has another size.
  void resized();

 private:
  struct implementation;
  std::string prompt_;
  std::unique_ptr<implementation> self_;
};

} // namespace quell::cli
