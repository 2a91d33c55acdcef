// The life of the MCP server: from its registration to its final report.
#include "cli/mcp/server.hpp"

#include <signal.h>
#include <unistd.h>

#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/mcp/words.hpp"
#include "cli/short_id.hpp"
#include "cli/signals.hpp"
#include "protocol/id.hpp"

namespace quell::cli::mcp {
namespace {

constexpr std::size_t most_line_bytes = 1024 * 1024;
constexpr milliseconds before_leaving{2'000}; ///< SURFACE 14: by then the client has read its answers
constexpr milliseconds hurry_within{1'000};
constexpr milliseconds goodbye_within{5'000};
constexpr milliseconds flush_within{1'000};
constexpr milliseconds between_tries{500};

} // namespace

server::server(session& s, api& controller, json create, milliseconds lease, caller where)
    : s_(s), api_(controller), context_(controller, text_of(create, "id"), std::move(where)),
      own_(controller, std::move(create), lease,
           {[this] {
              s_.warn("mcp: everything that is started here lies below operation " + short_id(context_.own_id));
              start_waiting_calls();
              if (is_leaving_ && calls_.empty()) say_goodbye();
            },
            [this](const problem& p) {
              s_.say(p);
              answer_all(clipped(p.detail));
              leave(exit_of_problem(p));
            },
            [this](const std::string& text) { stopped(text); },
            [this](const std::string& text) {
              s_.warn("mcp: " + text);
              answer_all(text);
            },
            [this](const std::optional<problem>& lost) {
              s_.warn("mcp: " + (lost ? lost->detail : std::string("the controller answers again")));
              if (!own_.is_registered()) start_waiting_calls();
            }}) {}

server::~server() {
  s_.loop.forget(hurry_);
  calls_.clear();
  answered_.clear();
}

exit_code server::serve() {
  ::signal(SIGPIPE, SIG_IGN);
  signal_watch signals(s_.loop, {SIGINT, SIGTERM, SIGHUP}, [this](int) { client_gone("a signal"); });
  channel_.emplace(s_.loop, STDIN_FILENO, STDOUT_FILENO, most_line_bytes,
                   stdio_channel::callbacks{[this](std::string_view line) { take_line(line); },
                                            [this] {
                                              channel_->send(
                                                  error_line(nullptr, parse_error,
                                                             "the line is longer than 1 MiB; it was not read"));
                                            },
                                            [this] { client_gone("the end of the input"); }});
  if (::isatty(STDIN_FILENO) == 1)
    s_.hint("mcp: this speaks MCP on standard input and output; put it into an agent's configuration");
  own_.begin();
  s_.loop.run_until([this] {
    answered_.clear();
    return code_.has_value();
  });
  bool is_late = false;
  s_.loop.after(flush_within, [&is_late] { is_late = true; });
  s_.loop.run_until([&] { return channel_->is_flushed() || is_late; });
  channel_.reset();
  return *code_;
}

void server::start_waiting_calls() {
  std::vector<std::string> keys;
  for (const auto& [key, one] : calls_)
    if (one.arguments) keys.push_back(key);
  for (const auto& key : keys) {
    const auto found = calls_.find(key);
    if (found == calls_.end()) continue;
    if (own_.is_registered())
      start(key, *std::exchange(found->second.arguments, std::nullopt));
    else if (own_.lost())
      answer_call(key, {clipped(own_.lost()->detail + " Nothing was started. Call again in a while."), json(), true});
  }
}

void server::start(const std::string& key, call_arguments arguments) {
  // The answer ends the call that is giving it: the call is set aside until control is back in the loop.
  auto answered = [this, key](call_answer a) {
    if (const auto found = calls_.find(key); found != calls_.end() && found->second.work)
      answered_.push_back(std::move(found->second.work));
    answer_call(key, std::move(a));
    if (is_leaving_ && calls_.empty()) say_goodbye();
  };
  auto work = make_call(context_, std::move(arguments), std::move(answered));
  auto& one = *work;
  calls_.at(key).work = std::move(work);
  if (is_leaving_) one.hurry();
  one.begin();
}

void server::answer_all(const std::string& text) {
  while (!calls_.empty()) {
    const auto key = calls_.begin()->first;
    if (auto& work = calls_.begin()->second.work) answered_.push_back(std::move(work));
    answer_call(key, {text, json(), true});
  }
}

void server::stopped(const std::string& text) {
  s_.warn("mcp: " + text);
  answer_all(text);
  if (std::exchange(has_left_, true)) return;
  // The same cancel covers everything that was started here; this server can only report that it has let go of it.
  own_.end(goodbye_within, [this](bool) {
    has_answered_ = true;
    if (is_leaving_) leave(exit_code::done);
  });
  s_.loop.after(before_leaving, [this] { leave(exit_code::done); });
}

void server::client_gone(const char* why) {
  if (is_leaving_) return leave(exit_code::done); // a second signal leaves at once
  is_leaving_ = true;
  channel_->stop_reading();
  if (has_left_ && !has_answered_) return; // leaves when it is acknowledged
  if (own_.over()) return leave(exit_code::done);
  s_.warn(std::string("mcp: ends after ") + why);
  own_.check([this] {
    if (own_.over() && !has_left_) return leave(exit_code::done);
    if (!has_left_) let_calls_end();
  });
}

/// A client that wrote its calls and closed its end can still read their answers.
void server::let_calls_end() {
  std::vector<tool_call*> open;
  for (auto& [key, one] : calls_)
    if (one.work) open.push_back(one.work.get());
  for (auto* one : open) one->hurry();
  const bool is_enrolling = !own_.is_registered() && !own_.lost(); // its answer is still expected
  if (calls_.empty() && !is_enrolling) return say_goodbye();
  hurry_ = s_.loop.after(hurry_within, [this] { say_goodbye(); });
}

void server::say_goodbye() {
  if (std::exchange(has_left_, true)) return;
  answer_all("This MCP server is ending; what it started is being cancelled.");
  own_.end(goodbye_within, [this](bool was_confirmed) {
    if (!was_confirmed)
      s_.warn("mcp: the controller does not answer; it cancels what was started here when the lease of operation " +
              short_id(context_.own_id) + " is over");
    leave(was_confirmed ? exit_code::done : exit_code::unreachable);
  });
}

void server::leave(exit_code code) {
  if (!code_) code_ = code;
}

void server::stop_operation(const std::string& id, const std::string& reason, json body) {
  if (body.is_null()) {
    body = {{"id", cancel_id::fresh().text()}, {"operation", id}, {"reason", reason}};
    context_.own_cancels.insert(text_of(body, "id"));
  }
  // Repeated until it is acknowledged. If this server ends before that, everything below it is cancelled anyway.
  api_.call("POST", "/v1/cancels", body, milliseconds{15'000}, [=, this](answer<json> a) {
    if (a || (a.error().status != 0 && a.error().status != 429 && a.error().status < 502)) return;
    s_.loop.after(between_tries, [=, this] {
      api_.find_again();
      stop_operation(id, reason, body);
    });
  });
}

} // namespace quell::cli::mcp
