// Uses an MCP server from the command line and prints what it tells, one event a line: for tests against other people's
// servers.
//
// mcp_probe [--url URL [--key KEY] | --stdio COMMAND WORDS...]
//
// Then commands on standard input, one a line; it ends when that does:
//   tools                    "tool NAME read_only|destructive|plain" and "schema NAME SCHEMA" for each, "tools COUNT"
//   or
//                            "fault CODE DETAIL"
//   call ID TOOL INPUT       "progress ID AT TOTAL MESSAGE", "finished ID ok|error RESULT", "failed ID sent|unsent CODE
//   DETAIL" cancel ID REASON         "cancelled ID" when it has returned, "late ID WHAT" when that is known stop ID
//   stops waiting for what became of it
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>

#include <csignal>

#include "integrations/mcp/http_server.hpp"
#include "integrations/mcp/stdio_server.hpp"
#include "tests/system/probed_program.hpp"

using namespace quell;
using namespace quell::integrations;

namespace {

struct event_printer {
  std::string id;
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
};

mcp_hooks printing_hooks() {
  mcp_hooks hooks;
  hooks.ready = [](std::string name, std::string version, std::string protocol) {
    std::printf("ready %s %s %s\n", protocol.c_str(), name.c_str(), version.c_str());
  };
  hooks.tools_changed = [] { std::puts("changed tools"); };
  hooks.complaint = [](std::string what) { std::printf("complaint %s\n", what.c_str()); };
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

void obey(mcp_server& server) {
  std::map<std::string, std::unique_ptr<mcp_call>> calls;
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
      calls[id] = server.call(tool, rest, [id](mcp_call_event event) { std::visit(event_printer{id}, event); });
    } else if (what == "cancel" && calls.contains(id)) {
      std::getline(words >> std::ws, rest);
      calls[id]->cancel(rest, [id](const std::string& late) { std::printf("late %s %s\n", id.c_str(), late.c_str()); });
      std::printf("cancelled %s\n", id.c_str());
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
    obey(started.server());
  } else if (how == "--url") {
    const std::string key = count > 4 ? words[4] : "";
    auto server = mcp_http_server("probed", words[2], key, {}, printing_hooks());
    if (!server) return std::printf("fault %s %s\n", server.error().code.c_str(), server.error().detail.c_str()), 1;
    obey(**server);
  } else {
    return std::fputs("usage: mcp_probe --url URL [--key KEY] | --stdio COMMAND WORDS...\n", stderr), 2;
  }
  std::puts("end");
  return 0;
}
