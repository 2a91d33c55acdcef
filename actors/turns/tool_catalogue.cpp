// The built-in tools with their descriptions for a model. Input names are those of quell-tool.
#include "actors/turns/tool_catalogue.hpp"

#include <algorithm>
#include <array>

#include "actors/turns/mcp_tools.hpp"

namespace quell::controller::turns {
namespace {

using runs = tool_definition::runs;

struct built_in {
  const char* name;
  runs how;
  bool exclusive;
  const char* description;
  const char* schema;
};

constexpr std::array<built_in, 14> all{{
    {"exec", runs::task, true,
     "Runs a command on a worker, in the workspace, and returns its exit code, stdout and stderr (64 KiB of each, "
     "beginning and end). Give either `command` (a line for sh) or `argv`. It has no stdin. When the command "
     "ends, whatever it left running is killed. For work that must go on (a server, a long build) set `background`: "
     "the call then answers at once with the id of a task, for task_output, task_wait and task_kill.",
     R"({"type":"object","properties":{"command":{"type":"string","minLength":1,"description":"a line for sh -c"},)"
     R"("argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":"program and arguments, without a shell"},)"
     R"("cwd":{"type":"string","description":"directory, relative to the workspace; default: the workspace"},)"
     R"("env":{"type":"object","additionalProperties":{"type":"string"},"description":"environment variables to add"},)"
     R"("timeout_ms":{"type":"integer","minimum":0,"description":"stop it after so long; 0 or absent: no limit"},)"
     R"("background":{"type":"boolean","description":"leave it running and go on; default false"},)"
     R"("worker":{"type":"string","description":"name of the worker that it must run on"},)"
     R"("on":{"type":"object","additionalProperties":{"type":"string"},"description":"labels that the worker must have"}},)"
     R"("additionalProperties":false})"},
    {"read", runs::task, false,
     "Reads a text file in the workspace, or some lines of it. An image (PNG, JPEG, GIF, WebP) or a PDF file is shown "
     "to you.",
     R"({"type":"object","properties":{"path":{"type":"string","description":"in the workspace"},)"
     R"("first_line":{"type":"integer","minimum":1,"description":"default 1"},)"
     R"("lines":{"type":"integer","minimum":1,"maximum":1000000,"description":"how many; default 2000"}},)"
     R"("required":["path"],"additionalProperties":false})"},
    {"write", runs::task, false,
     "Writes a text file in the workspace: makes it, with the folders above it, or replaces all of it.",
     R"({"type":"object","properties":{"path":{"type":"string","description":"in the workspace"},)"
     R"("text":{"type":"string","description":"the whole content"}},)"
     R"("required":["path","text"],"additionalProperties":false})"},
    {"edit", runs::task, false,
     "Replaces `old` by `new` in a text file in the workspace. `old` must stand there exactly once, unless `all` is "
     "set. Refused when the file changed since you read it: read it again first.",
     R"({"type":"object","properties":{"path":{"type":"string","description":"in the workspace"},)"
     R"("old":{"type":"string","minLength":1,"description":"exact text, white space included"},)"
     R"("new":{"type":"string","description":"what stands there afterwards"},)"
     R"("all":{"type":"boolean","description":"replace every occurrence; default false"}},)"
     R"("required":["path","old","new"],"additionalProperties":false})"},
    {"list", runs::task, false, "Lists what is in a folder of the workspace.",
     R"({"type":"object","properties":{"path":{"type":"string","description":"a folder; default: the workspace"},)"
     R"("depth":{"type":"integer","minimum":1,"maximum":32,"description":"levels of folders; default 1"},)"
     R"("glob":{"type":"string","description":"only names or paths that fit, such as *.cpp"}},)"
     R"("additionalProperties":false})"},
    {"search", runs::task, false, "Finds lines in the text files of the workspace that match a regular expression.",
     R"({"type":"object","properties":{"pattern":{"type":"string","description":"regular expression, as RE2 has them"},)"
     R"("path":{"type":"string","description":"a folder or file; default: the workspace"},)"
     R"("glob":{"type":"string","description":"only files whose name or path fits, such as *.cpp"},)"
     R"("ignore_case":{"type":"boolean","description":"default false"},)"
     R"("limit":{"type":"integer","minimum":1,"maximum":1000,"description":"matches at most; default 100"}},)"
     R"("required":["pattern"],"additionalProperties":false})"},
    {"web_fetch", runs::task, false, "Fetches one text page over HTTP or HTTPS from a public address.",
     R"({"type":"object","properties":{"url":{"type":"string","description":"http:// or https://"},)"
     R"("max_bytes":{"type":"integer","minimum":1,"maximum":262144,"description":"default 100000"}},)"
     R"("required":["url"],"additionalProperties":false})"},
    {"web_search", runs::web_search, false,
     "Searches the web and returns titles, addresses and short extracts of pages. Read a page itself with web_fetch.",
     R"({"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":1000,"description":"what to search for"},)"
     R"("count":{"type":"integer","minimum":1,"maximum":20,"description":"results at most; default 8"}},)"
     R"("required":["query"],"additionalProperties":false})"},
    {"spawn_agent", runs::sub_agent, false,
     "Gives a task to a sub-agent and returns its answer. It sees nothing of this conversation: say everything it "
     "needs "
     "to know in `task`. Several of them at once run in parallel.",
     R"({"type":"object","properties":{"task":{"type":"string","minLength":1,"description":"what it is to do, in full"},)"
     R"("agent":{"type":"string","description":"name of a configured agent; default: one like you"},)"
     R"("tools":{"type":"array","items":{"type":"string"},"description":"the tools that it may use, among its own; default: all of them"},)"
     R"("instructions":{"type":"string","description":"its system text instead of the configured one"},)"
     R"("worker":{"type":"string","description":"name of the worker that its tools run on"}},)"
     R"("required":["task"],"additionalProperties":false})"},
    {"task_output", runs::background, false,
     "Reads what a command in the background has printed, from a byte on or the newest. Does not wait.",
     R"({"type":"object","properties":{"task":{"type":"string","description":"its id, as exec answered it"},)"
     R"("stream":{"type":"string","enum":["stdout","stderr"],"description":"default stdout"},)"
     R"("offset":{"type":"integer","minimum":0,"description":"first byte to read; default: the newest bytes"},)"
     R"("max_bytes":{"type":"integer","minimum":1,"maximum":65536,"description":"default 16384"}},)"
     R"("required":["task"],"additionalProperties":false})"},
    {"task_wait", runs::background, false,
     "Waits until a command in the background ends, or for `timeout_ms`, and returns how it stands and the newest of "
     "what it printed.",
     R"({"type":"object","properties":{"task":{"type":"string","description":"its id, as exec answered it"},)"
     R"("timeout_ms":{"type":"integer","minimum":0,"maximum":600000,"description":"default 30000"}},)"
     R"("required":["task"],"additionalProperties":false})"},
    {"task_kill", runs::background, false,
     "Stops a command in the background with everything that it started, and returns when it is gone.",
     R"({"type":"object","properties":{"task":{"type":"string","description":"its id, as exec answered it"}},)"
     R"("required":["task"],"additionalProperties":false})"},
    {"session_status", runs::session_status, false,
     "Says how long this turn has taken, which calls run, timed out or were cancelled, and what is left of the budget.",
     R"({"type":"object","properties":{},"additionalProperties":false})"},
    {"ask_user", runs::question, false,
     "Asks the user one question and waits for the answer. Use it when you cannot go on well without knowing: a choice "
     "that is theirs, a missing fact. Offer `choices` if there are few. `answered` is false if they would not say.",
     R"({"type":"object","properties":{"question":{"type":"string","minLength":1,"description":"one clear question"},)"
     R"("choices":{"type":"array","items":{"type":"string","minLength":1},"minItems":2,"maxItems":20,"description":"the possible answers; absent: any text"},)"
     R"("default":{"type":"string","description":"the answer if the user only agrees; one of the choices"}},)"
     R"("required":["question"],"additionalProperties":false})"},
}};

struct named_time {
  const char* name;
  milliseconds time;
};

/// DESIGN 4. Names that no built-in tool has belong to MCP tools.
constexpr std::array<named_time, 10> own_times{{{"exec", milliseconds{0}},
                                                {"ask_user", milliseconds{0}},
                                                {"task_wait", milliseconds{0}},
                                                {"spawn_agent", milliseconds{0}},
                                                {"sessions_ask", milliseconds{0}},
                                                {"sessions_spawn", milliseconds{0}},
                                                {"browser", milliseconds{180'000}},
                                                {"web_fetch", milliseconds{60'000}},
                                                {"web_search", milliseconds{60'000}},
                                                {"session_status", milliseconds{10'000}}}};

milliseconds built_in_time(std::string_view name) {
  const auto at = std::find_if(own_times.begin(), own_times.end(), [&](const auto& t) { return name == t.name; });
  return at == own_times.end() ? milliseconds{120'000} : at->time;
}

} // namespace

milliseconds time_of(const turn_settings& settings, const std::string& offered, const std::string& server,
                     const std::string& own_name) {
  if (const auto at = settings.timeouts.find(offered); at != settings.timeouts.end()) return at->second;
  if (!server.empty()) {
    const auto whole = is_remote_agent(server) ? server : "mcp:" + server;
    if (const auto at = settings.timeouts.find(whole); at != settings.timeouts.end()) return at->second;
  }
  if (is_remote_agent(server))
    for (const auto& one : settings.mcp)
      if (one.name == server) return one.timeout;
  return built_in_time(own_name);
}

std::vector<tool_definition> built_in_tools(const turn_settings& settings) {
  std::vector<tool_definition> tools;
  const bool can_search = settings.web_search.by != integrations::search_settings::provider::none;
  for (const auto& t : all) {
    if (t.how == runs::web_search && !can_search) continue;
    tool_definition d;
    d.offer = {t.name, t.description, t.schema};
    d.exclusive = t.exclusive;
    d.how = t.how;
    d.timeout = time_of(settings, t.name, "", t.name);
    tools.push_back(std::move(d));
  }
  return tools;
}

bool is_built_in_tool(std::string_view name) {
  return std::any_of(all.begin(), all.end(), [&](const built_in& t) { return name == t.name; });
}

bool must_be_named(std::string_view name) { return name == "ask_user" || name == "web_search"; }

bool goes_with_exec(std::string_view name) {
  return name == "task_output" || name == "task_wait" || name == "task_kill";
}

const std::vector<std::string>& default_tool_names() {
  static const auto names = [] {
    auto n = built_in_tool_names();
    std::erase_if(n, [](const std::string& name) { return must_be_named(name); });
    return n;
  }();
  return names;
}

const std::vector<std::string>& built_in_tool_names() {
  static const auto names = [] {
    std::vector<std::string> n;
    for (const auto& t : all) n.emplace_back(t.name);
    return n;
  }();
  return names;
}

} // namespace quell::controller::turns
