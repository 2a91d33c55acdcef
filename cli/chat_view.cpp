// A conversation: the display.
#include <algorithm>

#include "cli/chat_room.hpp"
#include "cli/columns.hpp"
#include "cli/duration.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/raw_terminal.hpp"
#include "cli/short_id.hpp"
#include "cli/turn_view.hpp"

namespace quell::cli {

namespace {

constexpr milliseconds between_ticks{500};
constexpr std::size_t most_requested = 40; ///< columns of the question in the prompt

/// In tenths of a second, so that it does not change with every event.
std::string elapsed(wall_time since) {
  const auto tenths = std::max(milliseconds{0}, wall_now() - since).count() / 100;
  return tenths < 10 ? "0." + std::to_string(tenths) + "s" : duration_text(milliseconds{tenths * 100});
}

std::string indented(std::size_t depth) { return std::string(2 + 2 * std::min<std::size_t>(depth, 8), ' '); }

} // namespace

turn_story::listener chat_room::listener(spoken& one) {
  turn_story::listener to;
  to.started = [this, &one] { echo(one); };
  to.next_answer = [this] { screen_.end_text(); };
  to.text = [this](const std::string& text) { screen_.add_text(safe_text(text)); };
  to.tool_ended = [this](const tool_ending& end) {
    note(indented(end.depth) + end.what + "  " + duration_text(end.took) + "  " + end.outcome, end.ok ? color::dim
                                                                                               : end.cancelled
                                                                                                   ? color::yellow
                                                                                                   : color::red);
  };
  to.on_approval = [this](const open_approval& open) {
    if (!open.question.empty()) {
      for (const auto& line : open.lines) note(line, color::yellow);
      std::string commands;
      for (const auto& command : open.commands) commands += (commands.empty() ? "" : "   ") + command;
      const std::string here = open.is_agents ? "your next message here" : "y (with its defaults) or n here";
      note("  " + here + ", or elsewhere: " + commands, color::yellow);
      return;
    }
    note("a human must say whether this may run (rule " + open.rule + "):", color::yellow);
    note("  " + open.what, color::bold);
    std::string commands;
    for (const auto& command : approval_commands(open.operation)) commands += (commands.empty() ? "" : "   ") + command;
    note("  y or n here, or elsewhere: " + commands, color::yellow);
  };
  to.answered = [this](const open_approval& open, const std::string& decision, const std::string& by) {
    std::erase(answered_, open.key());
    note(printable(decision) + (by == "-" ? "" : " by " + by) + ": " + open.what);
  };
  to.noted = [this](const std::string& words) { note(words); };
  to.aborted = [this, &one](const std::string& reason) {
    one.stopping = true;
    if (reason != "user") note("the turn is aborted: " + printable(reason), color::yellow);
  };
  return to;
}

/// Prints the person's message once, where its answer begins.
void chat_room::echo(spoken& one) {
  if (one.echoed) return;
  one.echoed = true;
  last_echoed_ = one.number;
  screen_.add_line("\n" + painted((s_.term.characters == character_set::utf8 ? "› " : "> ") + safe_text(one.text),
                                  color::bold, s_.term.color_out));
}

void chat_room::note(const std::string& text, color c) {
  screen_.add_line(
      painted(cut_columns(safe_text(text), 4 * screen_.columns(), s_.term.characters), c, s_.term.color_out));
}

void chat_room::print_conversation(const nlohmann::json& messages) {
  const view v = view_of(s_);
  for (const auto& line : conversation_lines(messages, v, 4 * screen_.columns())) s_.print(line + "\n");
}

std::vector<open_approval> chat_room::approvals() const {
  std::vector<open_approval> out;
  for (const auto& one : spoken_)
    for (const auto& open : one->story->approvals())
      if (!one->over && std::find(answered_.begin(), answered_.end(), open.key()) == answered_.end())
        out.push_back(open);
  return out;
}

std::vector<std::string> chat_room::rows() const {
  std::vector<std::string> out;
  const auto add = [&](const std::string& text, color c) { out.push_back(painted(text, c, s_.term.color_out)); };
  std::size_t queued = 0;
  for (const auto& one : spoken_) {
    if (one->over) continue;
    const auto& story = *one->story;
    for (const auto& tool : story.tools())
      add(indented(tool.depth) + elapsed(tool.since) + "  " + tool.what + (tool.line.empty() ? "" : "  › " + tool.line),
          color::blue);
    if (one->stopping)
      add("  stopping" + std::string(one->killing ? ", killing" : "") + "  (again to kill)", color::yellow);
    else if (!one->echoed)
      add("  queued " + std::to_string(++queued) + ": " + one_line(one->text), color::dim);
    else if (story.tools().empty() && !story.is_over() && story.approvals().empty())
      add("  " + elapsed(one->since) + (story.has_started() ? "  answering" : "  waiting"), color::dim);
  }
  if (!lost_.empty()) add("  " + one_line(lost_), color::red);
  return out;
}

std::string chat_room::prompt() const {
  const auto open = approvals();
  std::string text;
  if (!open.empty() && !open.front().question.empty())
    text = cut_columns(open.front().message, most_requested, s_.term.characters) +
           (open.front().is_agents ? " " : " y/n ");
  else if (!open.empty())
    text = "run " + cut_columns(open.front().what, most_requested, s_.term.characters) + "? y/n ";
  text += s_.term.characters == character_set::utf8 ? "›" : ">";
  // libedit counts an escape as part of the text that follows it, so the blank comes after the last escape.
  return (s_.term.color_out ? "\1\x1b[1m\1" + text + "\1\x1b[0m\1" : text) + " ";
}

/// Draws the parts that have changed; prompts change only here.
void chat_room::refresh() {
  if (code_) return;
  const auto next = prompt();
  if (next != editor_.prompt()) {
    screen_.clear();
    editor_.set_prompt(next);
  }
  screen_.set_rows(rows());
  s_.loop.forget(ticking_);
  ticking_ = 0;
  if (!spoken_.empty()) ticking_ = s_.loop.after(between_ticks, [this] { refresh(); });
}

void chat_room::resize() {
  const auto size = window_size();
  screen_.clear();
  screen_.set_size(size ? static_cast<std::size_t>(size->second) : 80,
                   size ? static_cast<std::size_t>(size->first) : 24);
  editor_.resized();
}

} // namespace quell::cli
