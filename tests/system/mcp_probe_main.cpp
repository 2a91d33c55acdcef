// Uses an MCP server from the command line and prints its events, one per line: for tests against other people's
// servers.
//
// mcp_probe [--url URL [--key KEY | --oauth CLIENT_ID CLIENT_SECRET METADATA_URL] | --stdio COMMAND WORDS...]
//
// Then commands on standard input, one per line; it ends when standard input does:
//   tools                    prints "tool NAME read_only|destructive|plain" and "schema NAME SCHEMA" for each, then
//                            "tools COUNT"; or "fault CODE DETAIL"
//   call ID TOOL INPUT       prints "progress ID AT TOTAL MESSAGE", "finished ID ok|error RESULT" or
//                            "failed ID sent|unsent CODE DETAIL"
//   cancel ID REASON         prints "cancelled ID" when the call has returned, "late ID WHAT" when its outcome is known
//   stop ID                  stops waiting for the outcome
//   answer ID NUMBER accept|decline|cancel VALUES
//                            answers "question ID NUMBER MESSAGE" or "form ID NUMBER SCHEMA"; defaults are added;
//                            prints "fault …" for invalid values; "withdrawn ID NUMBER" ends a question
//   login REDIRECT_URI       with --oauth: prints "login URL" for the browser, or "fault CODE DETAIL"
//   redirected QUERY         the query of the browser's redirect; prints "logged in", or "fault CODE DETAIL"
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include <csignal>

#include "integrations/mcp/form.hpp"
#include "integrations/mcp/http_server.hpp"
#include "integrations/mcp/stdio_server.hpp"
#include "integrations/oauth/account.hpp"
#include "tests/system/probed_program.hpp"

using namespace quell;
using namespace quell::integrations;

namespace {

/// The schema of each open question, by the call's id and the question's number.
using open_forms = std::map<std::pair<std::string, std::uint64_t>, std::string>;

struct event_printer {
  std::string id;
  std::shared_ptr<open_forms> forms;
  void operator()(const mcp_call_events::progress& e) const {
    std::printf("progress %s %g %g %s\n", id.c_str(), e.progress, e.total.value_or(-1), e.message.c_str());
  }
  void operator()(const mcp_call_events::finished& e) const {
    std::printf("finished %s %s %s\n", id.c_str(), e.ok ? "ok" : "error", e.result.c_str());
  }
  void operator()(const mcp_call_events::failed& e) const {
    std::printf("failed %s %s %s %s\n", id.c_str(), e.sent ? "sent" : "unsent", e.why.code.c_str(),
                e.why.detail.c_str());
  }
  void operator()(const mcp_call_events::question& e) const {
    (*forms)[{id, e.number}] = e.form;
    std::printf("form %s %llu %s\n", id.c_str(), static_cast<unsigned long long>(e.number), e.form.c_str());
    std::printf("question %s %llu %s\n", id.c_str(), static_cast<unsigned long long>(e.number), e.message.c_str());
  }
  void operator()(const mcp_call_events::named&) const {} // of remote agents only
  void operator()(const mcp_call_events::withdrawn& e) const {
    std::printf("withdrawn %s %llu\n", id.c_str(), static_cast<unsigned long long>(e.number));
  }
};

void answer(mcp_call& call, const std::string& form, std::uint64_t number, const std::string& action,
            const std::string& values) {
  using what = mcp_answer::action;
  if (action != "accept") return call.answer(number, {action == "decline" ? what::decline : what::cancel, {}});
  const auto filled = filled_form(form, values);
  if (!filled)
    return static_cast<void>(std::printf("fault %s %s\n", filled.error().code.c_str(), filled.error().detail.c_str()));
  call.answer(number, {what::accept, *filled});
}

mcp_hooks printing_hooks() {
  mcp_hooks hooks;
  hooks.ready = [](std::string name, std::string version, std::string protocol) {
    std::printf("ready %s %s %s\n", protocol.c_str(), name.c_str(), version.c_str());
  };
  hooks.tools_changed = [] { std::puts("changed tools"); };
  hooks.warning = [](std::string what) { std::printf("complaint %s\n", what.c_str()); };
  return hooks;
}

/// An MCP server that is a program.
class program {
 public:
  explicit program(char** command)
      : server_(
            "probed", [this](std::string bytes) { pipes_.write(bytes); }, printing_hooks()),
        pipes_(
            command, [this](std::string_view bytes) { server_.received(bytes); },
            [this] { server_.closed("its output has ended"); }) {
    server_.started();
  }
  mcp_server& server() { return server_; }

 private:
  mcp_stdio_server server_;
  quell::testing::probed_program pipes_; ///< last: its reader uses the server
};

/// Keeps its tokens in memory.
class logins {
 public:
  logins(const std::string& url, oauth::client_settings client) {
    auto loop = chat::web_loop::start([](boot_time) { return std::nullopt; });
    if (!loop) return;
    loop_ = std::move(*loop);
    oauth::account_ports ports;
    ports.fetch = [this](chat::web_request ask, auto done) { loop_->fetch(std::move(ask), std::move(done)); };
    ports.now = [] { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); };
    ports.keep = [](const oauth::grant*) { return result<void>(); };
    account_ = std::make_shared<oauth::account>(oauth::account_settings{url, std::move(client), {}}, std::move(ports),
                                                std::nullopt);
  }
  std::shared_ptr<mcp_credentials> credentials() const { return account_; }
  void begin(const std::string& redirect_uri) {
    account_->begin(redirect_uri, [](const result<oauth::account::started>& how) {
      if (how)
        std::printf("login %s\n", how->url.c_str());
      else
        std::printf("fault %s %s\n", how.error().code.c_str(), how.error().detail.c_str());
    });
  }
  void finish(const std::string& query) {
    oauth::authorization_answer answer;
    for (const auto& [name, value] : chat::form_fields(query)) {
      if (name == "state") answer.state = value;
      if (name == "code") answer.code = value;
      if (name == "iss") answer.issuer = value;
      if (name == "error") answer.error = value;
    }
    account_->finish(answer, [](const result<void>& how) {
      if (how)
        std::puts("logged in");
      else
        std::printf("fault %s %s\n", how.error().code.c_str(), how.error().detail.c_str());
    });
  }

 private:
  std::unique_ptr<chat::web_loop> loop_;
  std::shared_ptr<oauth::account> account_;
};

void obey(mcp_server& server, logins* accounts) {
  std::map<std::string, std::unique_ptr<mcp_call>> calls;
  std::map<std::string, std::shared_ptr<open_forms>> forms; // one per call: written on another thread, one at a time
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, id, rest;
    words >> what >> id;
    if (what == "tools") {
      server.tools([](const result<std::vector<mcp_tool>>& tools) {
        if (!tools)
          return static_cast<void>(
              std::printf("fault %s %s\n", tools.error().code.c_str(), tools.error().detail.c_str()));
        for (const mcp_tool& tool : *tools)
          std::printf("tool %s %s\n", tool.name.c_str(),
                      tool.read_only     ? "read_only"
                      : tool.destructive ? "destructive"
                                         : "plain");
        for (const mcp_tool& tool : *tools) std::printf("schema %s %s\n", tool.name.c_str(), tool.input_schema.c_str());
        std::printf("tools %zu\n", tools->size());
      });
    } else if (what == "call") {
      std::string tool;
      words >> tool;
      std::getline(words >> std::ws, rest);
      forms[id] = std::make_shared<open_forms>();
      calls[id] = server.call(
          tool, rest, [printer = event_printer{id, forms[id]}](mcp_call_event event) { std::visit(printer, event); });
    } else if (what == "answer" && calls.contains(id)) {
      std::uint64_t number = 0;
      std::string action;
      words >> number >> action;
      std::getline(words >> std::ws, rest);
      answer(*calls[id], (*forms[id])[{id, number}], number, action, rest);
    } else if (what == "cancel" && calls.contains(id)) {
      std::getline(words >> std::ws, rest);
      calls[id]->cancel(rest, [id](const std::string& late) { std::printf("late %s %s\n", id.c_str(), late.c_str()); });
      std::printf("cancelled %s\n", id.c_str());
    } else if (what == "login" && accounts) {
      accounts->begin(id);
    } else if (what == "redirected" && accounts) {
      accounts->finish(id);
    } else if (what == "stop" && calls.contains(id)) {
      calls[id]->stop_waiting();
    } else {
      std::printf("what? %s\n", line.c_str());
    }
  }
}

} // namespace

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGPIPE, SIG_IGN);
  const std::string how = count > 2 ? words[1] : "";
  if (how == "--stdio") {
    program started(words + 2);
    obey(started.server(), nullptr);
  } else if (how == "--url") {
    const std::string with = count > 4 ? words[3] : "";
    std::optional<logins> accounts;
    mcp_http_options options;
    if (with == "--oauth" && count > 6) {
      accounts.emplace(words[2], oauth::client_settings{words[4], words[5], words[6]});
      options.credentials = accounts->credentials();
    }
    auto server = mcp_http_server("probed", words[2], with == "--key" ? words[4] : "", options, printing_hooks());
    if (!server) return std::printf("fault %s %s\n", server.error().code.c_str(), server.error().detail.c_str()), 1;
    obey(**server, accounts ? &*accounts : nullptr);
  } else {
    return std::fputs(
               "usage: mcp_probe --url URL [--key KEY | --oauth ID SECRET METADATA_URL] | --stdio COMMAND WORDS...\n",
               stderr),
           2;
  }
  std::puts("end");
  return 0;
}
