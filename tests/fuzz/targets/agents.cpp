// Configuration of agents by people, and inputs of calls by models: read with limits, refused with a reason; the result
// never exceeds the limits.
#include <nlohmann/json.hpp>

#include "actors/turns/approval.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/sub_agent.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/tool_task.hpp"
#include "protocol/utf8.hpp"
#include "quelld/settings/turn_settings.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::controller::turns;

void configuration(std::string_view text) {
  const memory_file file(text);
  const auto read = read_turn_settings(file.path(), {});
  if (!read) return expect(!read.error().detail.empty(), "a bad configuration is refused with a reason");
  expect(!read->models.empty() && !read->agents.empty(), "there is always a model and an agent");
  const auto printed = turn_settings_text(*read);
  const memory_file second(printed);
  const auto again = read_turn_settings(second.path(), {});
  expect(again.has_value(), "a printed configuration can be read");
  expect(turn_settings_text(*again) == printed, "a printed configuration is the same configuration");
}

const turn_settings& plain_settings() {
  static const turn_settings settings = *read_turn_settings("", {});
  return settings;
}

void input_of_a_call(std::string_view bytes) {
  choices from(bytes);
  static const auto tools = built_in_tools(plain_settings());
  const auto& tool = tools[from.below(tools.size())];
  const std::string input(from.rest());
  const auto read = read_input(tool, input);
  if (!read) {
    expect(!read.error().detail.empty() && is_utf8(read.error().detail), "a bad input is refused in words");
    return;
  }
  expect(read->timeout.count() >= 0, "a timeout is not negative");
  expect(nlohmann::json::accept(read->json), "what the tool sees is JSON");
  if (tool.how == tool_definition::runs::task) {
    const auto task = task_for_call(tool, plain_settings().agents.front(), input);
    if (task) expect(!task->spec.command.empty(), "a task has a command");
  }
  if (tool.how == tool_definition::runs::sub_agent) (void)read_sub_agent_request(input);
}

void shell_line(std::string_view bytes) {
  choices from(bytes);
  const std::string pattern(from.text());
  const std::string line(from.rest());
  for (const auto& command : commands_of(line)) expect(command.size() <= line.size(), "a command is part of its line");
  (void)glob_fits(pattern, line);
  const nlohmann::json input = {{"command", line}};
  if (!is_utf8(line)) return;
  (void)rule_for({{"exec", pattern}}, "exec", input.dump());
  expect(!rule_for({{"exec", ""}}, "exec", input.dump()).empty(), "a rule without a match always asks");
}

void result(std::string_view bytes) {
  const auto kept = bounded_result(std::string(bytes), 1024);
  expect(kept.size() <= 1024, "a result is bounded");
  expect(nlohmann::json::accept(kept), "a result is JSON");
  bool was_cut = false;
  const auto text = bounded_text(bytes, 200, was_cut);
  expect(is_utf8(text) && text.size() <= 200, "a text is UTF-8 and bounded");
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto rest = bytes.substr(1);
  switch (bytes.front() & 3) {
  case 0:
    return configuration(rest);
  case 1:
    return input_of_a_call(rest);
  case 2:
    return shell_line(rest);
  default:
    return result(rest);
  }
}

std::vector<std::string> seeds() {
  const auto call = [](std::uint8_t tool, std::string_view input) {
    return choice_writer().byte(1).byte(tool).done() + std::string(input);
  };
  return {std::string(1, '\0') + turn_settings_text(plain_settings()),
          std::string(1, '\0') +
              "[[models]]\nname = \"m\"\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"x\"\n"
              "[[agents]]\nname = \"a\"\nmodel = \"m\"\nscopes = [\"chat\"]\ntools = [\"exec\", \"mcp:files\"]\n"
              "budget = { depth = 1, timeout = \"5m\" }\n[[approval]]\ntool = \"exec\"\nmatch = \"rm *\"\n"
              "[[mcp]]\nname = \"files\"\ncommand = [\"node\", \"x\"]\n[tools.timeouts]\nexec = \"1m\"\n",
          call(0, R"({"command":"cd x && rm -rf y","_meta":{"timeout":1000}})"),
          call(1, R"({"path":"a/b"})"),
          call(2, R"({"path":"a","content":"b"})"),
          call(7, R"({"task":"look","agent":"a","tools":["read"]})"),
          choice_writer().byte(2).piece("rm *").done() + "sudo -u x env A=b rm -rf / | sh -c 'rm y' && $CMD z",
          "\3{\"ok\":true,\"result\":\"" + std::string(3000, 'x') + "\"}",
          "\3\xff\xfe no json"};
}

const known_target known("agents", run, seeds);

} // namespace
} // namespace quell::fuzz
