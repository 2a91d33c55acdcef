// A conversation: typing, sending and receiving. The display is in chat_view.cpp.
#include "cli/chat_room.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/columns.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/raw_terminal.hpp"
#include "cli/short_id.hpp"
#include "cli/signals.hpp"
#include "cli/turn_stream.hpp"
#include "cli/turn_view.hpp"
#include "cli/url.hpp"
#include "protocol/blanks.hpp"
#include "protocol/failure_code.hpp"

namespace quell::cli {

using nlohmann::json;

namespace {

constexpr std::size_t most_waiting = 100;
constexpr milliseconds call_timeout{30'000};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return text;
}

/// True for `/stop`, `/stop all`: a slash, letters, and optional text.
bool is_command(const std::string& text) {
  if (text.size() < 2 || text.front() != '/') return false;
  const auto end = std::min(text.find(' '), text.size());
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return c >= 'a' && c <= 'z'; });
}

constexpr const char* help = R"(  stop, /stop     stop the running turn with all that it started; again to kill
  /stop all       stop also what is queued behind it
  y, n [reason]   answer the question whether a call may run; what an agent asks is answered by your next message
  /history        the last messages of this conversation
  /retry          ask the last question again; its answer is replaced
  /compact        let the model summarise the older part of the conversation
  /clear          begin afresh: nothing of before is read any more
  /fork NAME      copy the conversation to the scope NAME, to go on there
  /quit           stop what runs and leave
  Ctrl-C          as stop; at an empty prompt: leave        Ctrl-D  leave)";

} // namespace

chat_room::chat_room(session& s, api& controller, const chat_options& o, std::string scope, std::string history_file)
    : s_(s), api_(controller), o_(o), scope_(std::move(scope)), history_(std::move(history_file)),
      editor_({.line = [this](const std::string& typed) { line(typed); },
               .end = [this] { leave("left the conversation"); },
               .gone =
                   [this] {
                     s_.loop.unwatch(STDIN_FILENO);
                     if (!leaving_) leave("interrupted: hang-up");
                   },
               .clear_screen =
                   [this] {
                     screen_.clear();
                     s_.print("\x1b[H\x1b[2J");
                     screen_.draw();
                   }},
              history_.lines()),
      screen_([this](std::string_view bytes) { s_.print(bytes); },
              {.rows_above_cursor = [this] { return editor_.rows_above_cursor(screen_.columns()); },
               .draw =
                   [this] {
                     editor_.draw();
                     std::fflush(stdout);
                   }},
              s.term.characters) {}

chat_room::~chat_room() {
  for (const auto call : calls_) s_.loop.abandon(call);
  for (const auto timer : {ticking_, sweeping_}) s_.loop.forget(timer);
}

exit_code chat_room::execute(const json& before) {
  ::signal(SIGPIPE, SIG_IGN);
  signal_watch signals(s_.loop, {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT}, [this](int n) { on_signal(n); });
  resize();
  print_conversation(before);
  s_.print(
      painted("scope " + scope_ + "; /help lists what can be typed, Ctrl-D leaves", color::dim, s_.term.color_out) +
      "\n");
  editor_.start();
  s_.loop.watch(STDIN_FILENO, ready_for::reading, [this] {
    editor_.read();
    refresh();
  });
  refresh();
  s_.loop.run_until([this] { return code_.has_value(); });
  s_.loop.unwatch(STDIN_FILENO);
  screen_.clear();
  editor_.stop();
  return *code_;
}

// --- keyboard input

void chat_room::line(const std::string& typed) {
  screen_.clear();
  editor_.drop();
  const std::string text(trimmed(typed));
  if (text.empty() || leaving_) return;
  history_.add(text);
  editor_.add_history(text);
  const auto open = approvals();
  const auto word = lower(text.substr(0, text.find(' ')));
  const bool is_no = word == "n" || word == "no";
  const bool runs = std::any_of(spoken_.begin(), spoken_.end(), [](const auto& one) { return !one->over; });
  if (is_command(text))
    command(text);
  else if (!open.empty() && !open.front().is_agents && (lower(text) == "y" || lower(text) == "yes" || is_no))
    decide(open.front(), is_no ? decision::deny : decision::approve,
           text.find(' ') == std::string::npos ? "" : std::string(trimmed(text.substr(text.find(' ')))));
  else if (lower(text) == "stop" && runs)
    stop_running("stopped by " + login_name(s_.env));
  else
    send(text);
}

void chat_room::command(const std::string& typed) {
  const auto name = typed.substr(0, typed.find(' '));
  if (name == "/quit" || name == "/exit") return leave("left the conversation");
  if (name == "/help") return screen_.add_line(help);
  if (name == "/history") return show_conversation();
  if (name == "/clear" || name == "/compact" || name == "/retry" || name == "/fork") {
    const auto to = typed.find(' ') == std::string::npos ? "" : std::string(trimmed(typed.substr(typed.find(' '))));
    if ((name == "/fork") == to.empty())
      return note(name == "/fork" ? "where to? /fork NAME" : printable(name) + " takes no more words");
    return change(name.substr(1), to);
  }
  if (name == "/stop") {
    const bool all = typed.find(" all") != std::string::npos;
    bool any = false;
    do any = stop_running("stopped by " + login_name(s_.env)) || any;
    while (all &&
           std::any_of(spoken_.begin(), spoken_.end(), [](const auto& one) { return !one->over && !one->stopping; }));
    if (!any) note("nothing runs");
    return;
  }
  note(printable(name) + " is not a command: /help lists them");
}

void chat_room::interrupted() {
  if (leaving_) return leave("");
  // While text is typed, Ctrl-C does not stop a turn whose answer is complete, even if the turn has not ended yet.
  const bool is_answered = std::any_of(spoken_.begin(), spoken_.end(), [](const auto& one) {
    return !one->over && !one->stopping && !one->story->is_over();
  });
  if ((is_answered || editor_.is_empty()) && stop_running("Ctrl-C of " + login_name(s_.env))) return;
  if (editor_.is_empty()) return leave("left the conversation");
  screen_.clear();
  editor_.drop();
}

/// Leaves: the running turns are ours, so they are stopped, and their ends are waited for. A second call leaves at
/// once.
void chat_room::leave(const std::string& reason) {
  bool waits = false;
  for (auto& one : spoken_) {
    if (one->over) continue;
    if (!one->posted) {
      one->over = true;
      continue;
    }
    waits = true;
    if (leaving_) {
      s_.warn("turn " + one->stream->turn() + " may still live: quell why " + short_id(one->stream->turn()));
    } else if (!one->stopping) {
      one->stopping = true;
      one->stream->stop(reason);
    }
  }
  if (!waits || leaving_) code_ = waits ? exit_code::run_cancelled : exit_code::done;
  if (waits && !leaving_) note("leaving when what runs has ended; again to leave at once");
  leaving_ = true;
}

void chat_room::on_signal(int n) {
  if (n == SIGINT) interrupted();
  if (n == SIGTERM) leave("interrupted: SIGTERM");
  if (n == SIGHUP && !leaving_) leave("interrupted: hang-up"); // the end of the terminal can have been noticed before
  if (n == SIGWINCH) resize();
  if (n == SIGCONT) { // the shell had the terminal in the meantime
    editor_.resume();
    screen_.forget();
  }
  refresh();
}

// --- sending

void chat_room::send(const std::string& text) {
  if (text.size() > most_message_text) return note("that is larger than 64 KiB and was not sent", color::red);
  if (spoken_.size() >= most_waiting) return note("too many messages wait already; not sent", color::red);
  auto one = std::make_unique<spoken>();
  one->text = text;
  one->number = ++last_sent_;
  one->since = wall_now();
  one->story = std::make_unique<turn_story>(listener(*one));
  one->stream = std::make_unique<turn_stream>(api_, message_body(scope_, text, o_.agent, s_.env, o_.during_turn),
                                              o_.reconnect, callbacks(*one));
  if (spoken_.empty()) echo(*one);
  spoken_.push_back(std::move(one));
  post_next();
}

/// Posts one message after the other, so that they arrive in the order in which they were typed.
void chat_room::post_next() {
  for (auto& one : spoken_) {
    if (one->over || one->decided) continue;
    if (!one->posted) {
      one->posted = true;
      one->stream->start();
    }
    return;
  }
}

/// Stops the first turn that is not already stopping; if there is none, kills those that are stopping. False: nothing
/// to stop.
bool chat_room::stop_running(const std::string& reason) {
  for (auto& one : spoken_) {
    if (one->over || one->stopping) continue;
    one->stopping = true;
    if (one->posted) {
      one->stream->stop(reason);
    } else {
      one->over = true;
      note("not sent: " + one_line(one->text));
    }
    return true;
  }
  bool any = false;
  for (auto& one : spoken_) {
    if (one->over || one->killing) continue;
    any = one->killing = true;
    one->stream->stop(reason, 0);
  }
  return any;
}

void chat_room::decide(const open_approval& open, decision what, const std::string& reason) {
  answered_.push_back(open.key());
  json body = json::object();
  if (!open.question.empty()) body["question"] = open.key();
  if (!reason.empty()) body["reason"] = reason.substr(0, 500);
  calls_.push_back(api_.call("POST",
                             "/v1/operations/" + open.operation + (what == decision::approve ? "/approve" : "/deny"),
                             body, call_timeout, [this, open](answer<json> a) {
                               if (a) return;
                               const bool is_late = has_code(a.error(), error_code::not_paused);
                               if (!is_late) std::erase(answered_, open.key()); // so that it can be answered again
                               note(a.error().detail, color::red);
                               refresh();
                             }));
}

/// Asks for a change of the conversation, which the controller refuses while something runs here.
void chat_room::change(const std::string& action, const std::string& to) {
  json body{{"scope", scope_}, {"action", action == "retry" ? "regenerate" : action}};
  if (!to.empty()) body["to"] = to;
  calls_.push_back(api_.call("POST", "/v1/history", body, call_timeout, [this, action, to](const answer<json>& a) {
    if (!a) {
      note(a.error().detail, color::red);
    } else if (action == "retry") {
      follow(text_of(*a, "operation"));
    } else if (action == "compact") {
      note("a summary is being written; " + std::to_string(number_of(*a, "messages")) + " messages give way to it");
    } else if (action == "fork") {
      note(std::to_string(number_of(*a, "messages")) + " messages copied: quell chat --scope " + printable(to));
    } else {
      note("nothing of before is read any more");
    }
    refresh();
  }));
}

/// The answer of a turn that is there already.
void chat_room::follow(const std::string& turn) {
  auto one = std::make_unique<spoken>();
  one->text = "(again)";
  one->number = ++last_sent_;
  one->since = wall_now();
  one->posted = one->decided = true;
  one->story = std::make_unique<turn_story>(listener(*one));
  one->stream = std::make_unique<turn_stream>(api_, json::object(), o_.reconnect, callbacks(*one));
  if (spoken_.empty()) echo(*one);
  spoken_.push_back(std::move(one));
  spoken_.back()->stream->follow(turn);
}

void chat_room::show_conversation() {
  const auto path = with_query("/v1/messages", {{"scope", scope_}, {"order", "desc"}, {"limit", "10"}});
  calls_.push_back(api_.call("GET", path, nullptr, call_timeout, [this](answer<json> a) {
    if (!a) return note(a.error().detail, color::red);
    auto messages = member(*a, "messages");
    if (messages.is_array()) std::reverse(messages.begin(), messages.end());
    screen_.clear();
    print_conversation(messages);
    screen_.draw();
  }));
}

// --- receiving

turn_stream::callbacks chat_room::callbacks(spoken& one) {
  turn_stream::callbacks c;
  c.decided = [this, &one](const json& decision) {
    one.decided = true;
    const auto what = text_of(decision, "decision");
    if (what == "cancel")
      note(stop_line("understood as a stop of " + stopped_text(member(decision, "cancel")), s_.term.characters));
    if (what == "ignored") note("ignored: " + printable(text_of(decision, "why")));
    post_next();
    refresh();
  };
  c.event = [this, &one](const json& event) {
    const auto type = type_of(event);
    const auto& data = member(event, "data");
    if (type == event_type::acknowledgement) note(printable(acknowledgement_text(data)), color::bold);
    if (type == event_type::cancel_settled) note(stop_line(stop_summary(data), s_.term.characters));
    one.story->take(event, one.stream->turn());
    refresh();
  };
  c.contact = [this](const std::string& lost) {
    lost_ = lost;
    refresh();
  };
  c.ended = [this, &one](const json& operation) { ended(one, operation); };
  c.failed = [this, &one](const problem& p) { failed(one, p); };
  return c;
}

void chat_room::ended(spoken& one, const json& operation) {
  one.story->end(operation);
  one.over = true;
  const auto status = text_of(operation, "status");
  echo(one);
  if (status == "cancelled") {
    std::string names;
    for (const auto& name : one.story->interrupted()) names += (names.empty() ? "" : ", ") + name;
    // The next answer can have begun meanwhile: then the line must say which turn has ended.
    const bool is_last = one.number == last_echoed_;
    const auto& cancel = one.stream->cancel();
    const auto of = is_last ? "" : "\"" + cut_columns(one_line(one.text), 40, s_.term.characters) + "\" ";
    const auto how =
        cancel.is_null() ? " (" + text_of(member(operation, "stop"), "cause") + ")" : "; " + stop_summary(cancel);
    note(stop_line(of + stop_word(cancel) + (names.empty() ? "" : ": " + names) + how, s_.term.characters),
         color::yellow);
  }
  if (status == "failed") {
    const auto& error = member(operation, "error");
    const auto code = text_of(error, "code");
    note("failed" + (code == name_of(failure_code::error) ? "" : " (" + code + ")") + ": " +
             one_line(text_of(error, "message")),
         color::red);
  }
  if (const auto why = stop_reason_words(member(operation, "turn")); !why.empty()) note(why, color::yellow);
  screen_.end_text();
  sweep();
}

void chat_room::failed(spoken& one, const problem& p) {
  one.over = true;
  echo(one);
  note(one_line(p.detail), color::red);
  if (!one.stream->turn().empty())
    note("turn " + one.stream->turn() + " may go on: quell cancel " + short_id(one.stream->turn()), color::red);
  lost_.clear();
  sweep();
}

/// Drops finished messages, but not from inside a callback of their stream.
void chat_room::sweep() {
  s_.loop.forget(sweeping_);
  sweeping_ = s_.loop.after(milliseconds{0}, [this] {
    std::erase_if(spoken_, [](const auto& one) { return one->over; });
    if (spoken_.empty()) answered_.clear();
    if (leaving_ && spoken_.empty()) code_ = exit_code::done;
    post_next();
    refresh();
  });
}

} // namespace quell::cli
