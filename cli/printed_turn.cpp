// Prints a turn line by line.
#include "cli/printed_turn.hpp"

#include <signal.h>

#include <cstdio>

#include "cli/columns.hpp"
#include "cli/duration.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/signals.hpp"
#include "cli/turn_view.hpp"
#include "protocol/failure_code.hpp"

namespace quell::cli {

using nlohmann::json;

namespace {
constexpr milliseconds longest_farewell{1'000};
}

printed_turn::printed_turn(session& s, api& controller, json message, milliseconds reconnect, tell_aside aside)
    : s_(s), api_(controller), aside_(aside), story_(listener()),
      stream_(controller, std::move(message), reconnect,
              {.decided = [this](const json& decision) { decided(decision); },
               .event =
                   [this](const json& event) {
                     if (s_.json()) s_.print_line(event);
                     after_stop(event);
                     story_.take(event, stream_.turn());
                     notice_reader();
                   },
               .contact = [this](const std::string& lost) { this->aside(lost.empty() ? "contact is back" : lost); },
               .stopping =
                   [this](const json& cancel) {
                     if (const auto n = number_of(member(cancel, "report"), "operations"); n > 0)
                       this->aside("stopping " + std::to_string(n) + (n == 1 ? " operation" : " operations"));
                     if (leaving_ != 0) leave();
                   },
               .ended = [this](const json& operation) { ended(operation); },
               .failed = [this](const problem& p) { failed(p); }}),
      out_is_shown_(s.term.out_is_terminal) {}

printed_turn::~printed_turn() { s_.loop.forget(leaving_); }

exit_code printed_turn::execute() {
  ::signal(SIGPIPE, SIG_IGN);
  signal_watch signals(s_.loop, {SIGINT, SIGTERM, SIGHUP}, [this](int n) { on_signal(n); });
  stream_.start();
  s_.loop.run_until([this] { return code_.has_value(); });
  return *code_;
}

turn_story::listener printed_turn::listener() {
  turn_story::listener to;
  to.next_answer = [this] { fresh_line(); };
  to.text = [this](const std::string& bytes) { text(out_is_shown_ ? signs_.pass(bytes) : bytes); };
  const auto indented = [](std::size_t depth) { return std::string(2 + 2 * depth, ' '); };
  to.tool_started = [this, indented](const tool_in_flight& tool) { aside(indented(tool.depth) + tool.what + " ..."); };
  to.tool_printed = [this, indented](const tool_in_flight& tool, const std::vector<std::string>& lines) {
    for (const auto& line : lines) aside(indented(tool.depth + 1) + line, color::dim);
  };
  to.tool_still_runs = [this, indented](const tool_in_flight& tool, milliseconds elapsed) {
    aside(indented(tool.depth) + tool.what + "  still runs after " + duration_text(elapsed), color::dim);
  };
  to.tool_ended = [this, indented](const tool_ending& end) {
    aside(indented(end.depth) + end.what + "  " + duration_text(end.took) + "  " + end.outcome,
          end.ok || end.cancelled ? color::dim : color::red);
  };
  to.on_approval = [this](const open_approval& open) {
    if (!open.question.empty()) {
      for (const auto& line : open.lines) aside(line, color::yellow);
      for (const auto& command : open.commands) aside("  " + command, color::yellow);
      return;
    }
    aside("a human must say whether this may run (rule " + open.rule + "): " + open.what, color::yellow);
    for (const auto& command : approval_commands(open.operation)) aside("  " + command, color::yellow);
  };
  to.answered = [this](const open_approval& open, const std::string& decision, const std::string& by) {
    aside(printable(decision) + (by == "-" ? "" : " by " + by) + ": " + open.what);
  };
  to.noted = [this](const std::string& words) { aside(words); };
  to.aborted = [this](const std::string& reason) { aside("the turn is aborted (" + printable(reason) + ")"); };
  return to;
}

void printed_turn::decided(const json& decision) {
  const auto what = text_of(decision, "decision"), turn = text_of(member(decision, "turn"), "id");
  if (s_.json())
    s_.print_line({{"type", text_of(event_type::message_decided)},
                   {"operation", turn.empty() ? json() : json(turn)},
                   {"data", decision}});
  if (what == "ignored") aside("the message was ignored: " + printable(text_of(decision, "why")));
  if (what == "cancel") {
    const auto& cancel = member(decision, "cancel");
    aside(stop_line("understood as a stop: cancel " + short_id(text_of(cancel, "id")) + " of " + stopped_text(cancel),
                    s_.term.characters));
  }
  if (turn.empty()) return;
  const auto position = number_of(member(decision, "turn"), "position");
  aside("turn " + short_id(turn) + (position > 0 ? ", behind " + std::to_string(position) + " others" : ""));
}

/// Handles the events after a message that ordered a stop: a sentence, and the report.
void printed_turn::after_stop(const json& event) {
  const auto type = type_of(event);
  const auto& data = member(event, "data");
  if (type == event_type::acknowledgement && !s_.json()) text(acknowledgement_text(data) + "\n");
  if (type == event_type::acknowledgement) is_reacted_ = member(data, "reaction").is_string();
  if (type != event_type::cancel_settled) return;
  const bool is_proven = member(member(data, "report"), "proven") == true;
  // The sentences that follow report it themselves; nothing follows a reaction.
  if (is_reacted_ && !is_proven) text("⚠️ " + stop_summary(data) + "\n");
  aside(stop_line(stop_summary(data), s_.term.characters));
}

void printed_turn::text(const std::string& bytes) {
  if (s_.json() || bytes.empty()) return;
  s_.print(s_.term.out_is_terminal ? safe_text(bytes) : bytes);
  mid_line_ = !bytes.ends_with('\n');
  std::fflush(stdout);
}

/// Nothing reads the answer any more, so the turn is stopped.
void printed_turn::notice_reader() {
  if (std::ferror(stdout) == 0 || interruptions_ > 0) return;
  ++interruptions_;
  stream_.stop("the reader of the output is gone");
}

void printed_turn::fresh_line() {
  signs_.begin_line();
  if (!mid_line_) return;
  s_.print("\n");
  mid_line_ = false;
}

void printed_turn::aside(const std::string& line, color c) {
  if (s_.json() || (aside_ == tell_aside::on_terminal && !s_.term.err_is_terminal)) return;
  if (out_is_shown_) fresh_line();
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", painted(line, c, s_.term.color_err).c_str());
}

void printed_turn::ended(const json& operation) {
  story_.end(operation);
  if (!s_.json()) fresh_line();
  if (operation.is_null()) { // the message was not a turn
    code_ = exit_code::done;
    return;
  }
  if (s_.json()) s_.print_line({{"type", "operation"}, {"operation", operation}});
  const auto status = text_of(operation, "status");
  if (status == "cancelled") {
    std::string names;
    for (const auto& name : story_.interrupted()) names += (names.empty() ? "" : ", ") + name;
    aside(stop_line(stop_word(stream_.cancel()) + (names.empty() ? "" : ": " + names) +
                        (stream_.cancel().is_null() ? "" : "; " + stop_summary(stream_.cancel())),
                    s_.term.characters));
    if (stream_.cancel().is_null())
      for (const auto& line : operation_reasons(operation, plain_view_of(s_))) aside(line);
  } else if (status == "failed") {
    const auto& error = member(operation, "error");
    const auto code = text_of(error, "code");
    if (!s_.json())
      s_.warn("turn " + short_id(stream_.turn()) + " failed" +
              (code == name_of(failure_code::error) ? "" : " (" + code + ")") + ": " + text_of(error, "message"));
  } else {
    if (const auto why = stop_reason_words(member(operation, "turn")); !why.empty() && !s_.json()) s_.warn(why);
    if (const auto used = usage_text(member(member(operation, "turn"), "usage")); !used.empty()) aside(used);
  }
  code_ = exit_of_operation(operation);
}

void printed_turn::failed(const problem& p) {
  if (!s_.json()) fresh_line();
  s_.say(p);
  if (!stream_.turn().empty())
    s_.warn("turn " + stream_.turn() + " may go on: quell wait " + short_id(stream_.turn()) + ", quell cancel " +
            short_id(stream_.turn()));
  else if (stream_.may_exist())
    s_.warn("the message may have been taken all the same: quell ps --kind turn");
  code_ = exit_of_run_problem(p);
}

void printed_turn::on_signal(int n) {
  const char* what = n == SIGINT ? "Ctrl-C" : n == SIGHUP ? "hang-up" : "SIGTERM";
  if (++interruptions_ == 1) {
    aside(std::string("cancelling (") + what + "); again to leave at once");
    return stream_.stop(std::string("interrupted: ") + what);
  }
  // Leaves at once, but first waits a moment for the confirmation that the cancel arrived.
  if (interruptions_ > 2 || !stream_.cancel().is_null()) return leave();
  leaving_ = s_.loop.after(longest_farewell, [this] { leave(); });
}

void printed_turn::leave() {
  if (code_) return;
  if (!s_.json()) fresh_line();
  const auto turn = short_id(stream_.turn());
  if (!turn.empty() && !stream_.cancel().is_null())
    s_.warn("turn " + turn + " is being stopped: quell why " + turn);
  else if (!turn.empty())
    s_.warn("the cancel of turn " + turn + " was not answered: quell cancel " + turn);
  else
    s_.warn("whether the message was taken is not known: quell ps --kind turn");
  code_ = exit_code::run_cancelled;
}

} // namespace quell::cli
