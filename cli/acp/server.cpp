// The life of the ACP agent and its messages.
#include "cli/acp/server.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cli/columns.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"

namespace quell::cli::acp {
namespace {

constexpr int protocol_version = 1;
constexpr std::size_t most_line_bytes = 24 * 1024 * 1024; ///< a prompt with images in base64
constexpr milliseconds goodbye_within{15'000};            ///< grace + 10 s, and a little for the way
constexpr milliseconds flush_within{1'000};
constexpr std::size_t most_when_full = 64 * 1024 * 1024; ///< sent by an editor that reads nothing

json who_we_are() { return {{"name", "quell"}, {"title", "quell"}, {"version", QUELL_VERSION}}; }

json abilities() {
  return {{"loadSession", true},
          {"promptCapabilities", {{"image", true}, {"audio", false}, {"embeddedContext", true}}},
          {"mcpCapabilities", {{"http", false}, {"sse", false}}},
          {"sessionCapabilities", {{"resume", json::object()}, {"close", json::object()}}}};
}

} // namespace

server::server(session& s, api& controller, std::string below, std::optional<std::string> agent, milliseconds reconnect)
    : s_(s), api_(controller), below_(std::move(below)), agent_(std::move(agent)), reconnect_(reconnect) {}

server::~server() {
  for (const auto call : calls_) s_.loop.abandon(call);
  sessions_.clear();
  over_.clear();
}

exit_code server::serve() {
  ::signal(SIGPIPE, SIG_IGN);
  signal_watch signals(s_.loop, {SIGINT, SIGTERM, SIGHUP}, [this](int) { cancel_all("a signal"); });
  channel_.emplace(s_.loop, STDIN_FILENO, STDOUT_FILENO, most_line_bytes,
                   mcp::stdio_channel::callbacks{[this](std::string_view line) { take_line(line); },
                                                 [this] {
                                                   if (is_patient_with(most_line_bytes))
                                                     refuse(nullptr, mcp::parse_error,
                                                            "the line is longer than 24 MiB; it was not read");
                                                 },
                                                 [this] { cancel_all("the end of the input"); }, [this] { read_on(); }},
                   mcp::full_output::reads_on);
  if (::isatty(STDIN_FILENO) == 1)
    s_.hint("acp: this speaks ACP on standard input and output; put it into an editor's configuration");
  s_.loop.run_until([this] {
    std::erase_if(over_, [](const auto& one) { return !one->lingers(); });
    if (is_leaving_ && !has_open_prompts() && !code_) code_ = exit_code::done;
    return code_.has_value();
  });
  bool is_late = false;
  const auto limit = s_.loop.after(flush_within, [&is_late] { is_late = true; });
  s_.loop.run_until([&] { return channel_->is_flushed() || is_late; });
  s_.loop.forget(limit);
  channel_.reset();
  return *code_;
}

/// The editor has gone: what it left open is stopped, and awaited for as long as a stop may take.
void server::cancel_all(const char* why) {
  if (std::exchange(is_leaving_, true)) {
    code_ = exit_code::unproven; // a second signal leaves at once
    return;
  }
  channel_->stop_reading();
  held_.clear();
  s_.warn(std::string("acp: ends after ") + why);
  for (auto& [id, one] : sessions_)
    if (one.work) one.work->cancel("the editor closed the connection");
  s_.loop.after(goodbye_within, [this] {
    if (!code_) code_ = exit_code::unproven;
  });
}

bool server::has_open_prompts() const {
  for (const auto& [id, one] : sessions_)
    if (one.work) return true;
  return std::any_of(over_.begin(), over_.end(), [](const auto& one) { return one->lingers(); });
}

void server::notify(const char* method, json params) {
  channel_->send(to_line({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}) + "\n");
}

/// False: it reads no answers, and has sent more than can be kept.
bool server::is_patient_with(std::size_t bytes) {
  if (is_leaving_) return false;
  if (!channel_->is_full()) return true;
  bytes_when_full_ += bytes;
  if (bytes_when_full_ <= most_when_full) return true;
  cancel_all("64 MiB of input by an editor that reads no answers");
  return false;
}

/// The editor has read what it was behind with.
void server::read_on() {
  bytes_when_full_ = 0;
  for (auto& [id, one] : sessions_)
    if (one.work && !channel_->is_full()) one.work->catch_up();
  while (!held_.empty() && !channel_->is_full()) {
    auto next = std::move(held_.front());
    held_.pop_front();
    take_request(std::move(next));
  }
}

void server::take_line(std::string_view line) {
  if (!is_patient_with(line.size())) return;
  auto whole = mcp::read_line(line);
  if (whole.is_discarded())
    return refuse(nullptr, mcp::parse_error, "the line is not valid JSON, or nested more than 100 levels deep");
  if (whole.is_object() && !whole.contains("method") && whole.contains("id")) return take_reply(whole);
  auto m = mcp::read_message(std::move(whole));
  switch (m.what) {
  case mcp::message::kind::invalid:
    return refuse(m.id, mcp::invalid_request, m.why);
  case mcp::message::kind::reply:
    return;
  case mcp::message::kind::notification:
    return take_notification(m);
  case mcp::message::kind::request:
    return take_request(std::move(m));
  }
}

/// The answer to a question; an error counts as none.
void server::take_reply(const json& whole) {
  if (!whole.at("id").is_number_integer()) return;
  const auto found = questions_.find(whole.at("id").get<std::int64_t>());
  if (found == questions_.end()) return;
  const auto answered = std::move(found->second.answered);
  questions_.erase(found);
  answered(member(whole, "result"));
}

/// While the editor reads nothing only what stops something is taken at once.
void server::take_request(mcp::message m) {
  if (channel_->is_full() && m.method != "session/close") {
    held_.push_back(std::move(m));
    return;
  }
  if (m.method == "session/close") cancel_held_of(m.params);
  if (m.method == "initialize") {
    const auto& forms = member(member(member(m.params, "clientCapabilities"), "elicitation"), "form");
    editor_ = forms.is_object() ? editor_shows::forms : editor_shows::options;
    return reply(m.id, {{"protocolVersion", protocol_version},
                        {"agentCapabilities", abilities()},
                        {"agentInfo", who_we_are()},
                        {"authMethods", json::array()}});
  }
  if (m.method == "authenticate") return reply(m.id, json::object()); // the token is that of quell
  if (m.method == "session/new") return begin_session(m.id);
  if (m.method == "session/load") return open_again(m, reopened::with_history);
  if (m.method == "session/resume") return open_again(m, reopened::as_it_is);
  if (m.method == "session/close") return close_session(m);
  if (m.method == "session/set_mode") return set_mode(m);
  if (m.method == "session/prompt") return begin_prompt(std::move(m));
  refuse(m.id, mcp::method_not_found, "quell has no method " + cut(one_line(m.method), 80, character_set::utf8));
}

/// Prompts that wait until the editor reads on: a stop that came behind them ends them, before they have begun.
void server::cancel_held(const std::function<bool(const mcp::message&)>& fits) {
  std::vector<json> ended;
  std::erase_if(held_, [&](const mcp::message& m) {
    const bool goes = m.method == "session/prompt" && fits(m);
    if (goes) ended.push_back(m.id);
    return goes;
  });
  for (const auto& id : ended) reply(id, prompt::cancelled_before_its_turn());
}

void server::cancel_held_of(const json& params) {
  cancel_held([&](const mcp::message& m) { return text_of(m.params, "sessionId") == text_of(params, "sessionId"); });
}

void server::take_notification(const mcp::message& m) {
  if (m.method == "session/cancel") {
    cancel_held_of(m.params);
    auto* one = find(m.params);
    if (one && one->work) one->work->cancel("cancelled in the editor");
    return;
  }
  if (m.method != "$/cancel_request") return;
  const auto& id = member(m.params, "requestId");
  cancel_held([&](const mcp::message& held) { return held.id == id; });
  for (auto& [name, one] : sessions_)
    if (one.work && one.request == id) one.work->cancel("cancelled in the editor");
}

} // namespace quell::cli::acp
