// Calls as tasks: the command, worker and stdin of each, and the result that the model gets of its end.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "actors/turns/result_json.hpp"
#include "actors/turns/sub_agent.hpp"
#include "actors/turns/task_work.hpp"
#include "actors/turns/tool_task.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

tool_definition tool(const std::string& name) {
  for (auto& t : built_in_tools({}))
    if (t.offer.name == name) return t;
  FAIL("no tool " + name);
  return {};
}

agent_settings coder() {
  agent_settings a;
  a.name = "coder";
  a.workspace = "/srv/work";
  a.on = {{"os", "linux"}};
  return a;
}

task_request task(const std::string& name, const json& input, const agent_settings& agent = coder()) {
  auto made = task_for_call(tool(name), agent, input.dump());
  INFO((made ? "" : made.error().detail));
  REQUIRE(made);
  return *made;
}

std::string refusal(const std::string& name, const json& input, const agent_settings& agent = coder()) {
  const auto made = task_for_call(tool(name), agent, input.dump());
  if (made) return "(accepted)";
  CHECK(made.error().code == "invalid_input");
  return made.error().detail;
}

bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("\"" << part << "\" in: " << text);
  return text.find(part) != std::string::npos;
}

exit_state code(int c) { return {c, std::nullopt}; }
exit_state signal(const std::string& s) { return {std::nullopt, s}; }

} // namespace

TEST_CASE("exec runs a line by sh, or argv as it is, in the workspace", "[turns][tasks]") {
  const auto line = task("exec", {{"command", "make -j4 && echo \"ok\""}});
  CHECK(line.spec.command == std::vector<std::string>{"sh", "-c", "make -j4 && echo \"ok\""});
  CHECK(line.spec.cwd == "/srv/work");
  CHECK_FALSE(line.spec.stdin_open);
  CHECK(line.stdin_text.empty());
  CHECK(line.spec.leader_exit == on_leader_exit::kill);
  CHECK_FALSE(line.background);
  CHECK(line.spec.on == std::map<std::string, std::string>{{"os", "linux"}});
  CHECK(line.timeout == 0ms);
  const auto argv = task("exec", {{"argv", {"ls", "a b", ""}},
                                  {"cwd", "sub/x"},
                                  {"env", {{"A", "b=c"}}},
                                  {"worker", "w2"},
                                  {"on", {{"gpu", "1"}}},
                                  {"timeout_ms", 1500}});
  CHECK(argv.spec.command == std::vector<std::string>{"ls", "a b", ""});
  CHECK(argv.spec.cwd == "/srv/work/sub/x");
  CHECK(argv.spec.env == std::map<std::string, std::string>{{"A", "b=c"}});
  CHECK(argv.spec.worker == "w2");
  CHECK(argv.spec.on == std::map<std::string, std::string>{{"os", "linux"}, {"gpu", "1"}});
  CHECK(argv.timeout == 1500ms);
  CHECK(task("exec", {{"command", "x"}, {"cwd", "/tmp"}}).spec.cwd == "/tmp");
  CHECK_FALSE(task("exec", {{"command", "x"}}, agent_settings{}).spec.cwd);
}

TEST_CASE("a command in the background keeps the limit that was asked for", "[turns][tasks]") {
  const auto request = task("exec", {{"command", "x"}, {"background", true}, {"timeout_ms", 1500}});
  CHECK(request.background);
  CHECK(request.timeout == 1500ms);
  CHECK(request.spec.leader_exit == on_leader_exit::kill);
}

TEST_CASE("the model is told what its command left running", "[turns][tasks]") {
  CHECK(note_of_left(0, {}).empty());
  CHECK(note_of_left(1, {{12, "S", "sleep 1000"}}) ==
        "1 process that the command left running was killed: sleep 1000 (pid 12); use background: true to keep work "
        "running");
  std::vector<process_view> many(12, {7, "R", std::string(500, 'x')});
  const auto note = note_of_left(1'000, many);
  CHECK(note.starts_with("1000 processes that the command left running were killed: xxx"));
  CHECK(note.find(" and 992 more;") != std::string::npos);
  CHECK(note.size() < 1'000);
}

TEST_CASE("the model is told what a command had printed whose worker was lost", "[turns][tasks]") {
  task_end end;
  end.how.as = status::failed;
  end.how.error = records::own_error(failure_code::worker_lost, "worker w1 is lost");
  const auto result = [&](const std::string& name) {
    const auto how = end_of(end, tool(name), json_result_texts{});
    CHECK_FALSE(how.ok);
    return json::parse(how.result);
  };
  CHECK_FALSE(result("exec").contains("printed"));
  end.out = "so far\n";
  end.err = std::string(10'000, 'e');
  const auto answer = result("exec");
  CHECK(answer["error"]["code"] == "worker_lost");
  CHECK(answer["printed"]["stdout"] == "so far\n");
  CHECK(answer["printed"]["stderr"].get<std::string>().size() < 5'000);
  CHECK(answer["printed"]["truncated"] == true);
  CHECK_FALSE(result("read").contains("printed"));
}

TEST_CASE("an exec that cannot run says why", "[turns][tasks]") {
  using namespace std::string_literals;
  CHECK(says(refusal("exec", {{"command", "a\0b"s}}), "NUL"));
  CHECK(says(refusal("exec", {{"command", std::string(200'000, 'x')}}), "write"));
  CHECK(says(refusal("exec", {{"argv", {"", "x"}}}), "begin with a program"));
  CHECK(says(refusal("exec", {{"command", "x"}, {"env", {{"A=", "b"}}}}), "`env`"));
  CHECK(says(refusal("exec", {{"command", "x"}, {"env", {{"QUELL_TOKEN", "b"}}}}), "set by quell"));
  CHECK(says(refusal("exec", {{"command", "x"}, {"cwd", "sub"}}, agent_settings{}), "must be absolute"));
  CHECK(says(refusal("exec", {{"command", "x"}, {"on", {{"os", "mac"}}}}), "os=linux"));
  CHECK(says(refusal("exec", {{"command", "x"}, {"worker", ""}}), "name of a worker"));
  auto pinned = coder();
  pinned.worker = "w1";
  CHECK(says(refusal("exec", {{"command", "x"}, {"worker", "w2"}}, pinned), "works on w1 only"));
  CHECK(task("exec", {{"command", "x"}, {"worker", "w1"}}, pinned).spec.worker == "w1");
  json many;
  for (int i = 0; i < 65; ++i) many["V" + std::to_string(i)] = "x";
  CHECK(says(refusal("exec", {{"command", "x"}, {"env", many}}), "more than 64"));
  CHECK(task_for_call(tool("spawn_agent"), coder(), R"({"task":"x"})").error().code == "internal");
}

TEST_CASE("a file tool is quell-tool with its request on stdin", "[turns][tasks]") {
  const auto r = task("read", {{"path", "a/ä.txt"}, {"_meta", {{"timeout", 900}}}});
  CHECK(r.spec.command == std::vector<std::string>{"quell-tool"});
  CHECK(r.spec.stdin_open);
  CHECK(r.timeout == 900ms);
  CHECK(json::parse(r.stdin_text) == json({{"tool", "read"},
                                           {"workspace", "/srv/work"},
                                           {"input", {{"path", "a/ä.txt"}}},
                                           {"limits", {{"media_bytes", most_shown_file}}}}));
  CHECK(r.most_output > most_shown_file / 3 * 4);
  CHECK(json::parse(task("list", json::object(), agent_settings{}).stdin_text)["workspace"] == "/proc/self/cwd");
}

TEST_CASE("what exec is told has code or signal, both streams, and whether something is missing", "[turns][tasks]") {
  const auto outcome = [](const exit_state& e, const std::string& out, const std::string& err, std::uint64_t dropped) {
    const auto o = call_outcome_of(tool("exec"), e, out, err, dropped);
    const auto r = json::parse(o.result);
    CHECK(r["ok"] == o.ok);
    return r;
  };
  CHECK(outcome(code(0), "out\n", "", 0) ==
        json::parse(R"({"ok":true,"result":{"exit_code":0,"stdout":"out\n","stderr":"","truncated":false}})"));
  CHECK(outcome(code(3), "", "bad", 0) ==
        json::parse(R"({"ok":false,"result":{"exit_code":3,"stdout":"","stderr":"bad","truncated":false}})"));
  const auto killed = outcome(signal("KILL"), "", "", 7);
  CHECK(killed["result"]["signal"] == "KILL");
  CHECK_FALSE(killed["result"].contains("exit_code"));
  CHECK(killed["result"]["truncated"] == true);
  CHECK(outcome(code(1), "cancelled: aborted by user", "", 0).contains("cancelled") == false);
  const auto big = outcome(code(0), "begin" + std::string(10 << 20, '\x01') + "end", std::string(100'000, '\xff'), 0);
  CHECK(big["result"]["truncated"] == true);
  CHECK(big["result"]["stdout"].get<std::string>().size() <= most_stream_bytes);
  CHECK(big["result"]["stderr"].get<std::string>().size() <= most_stream_bytes);
  CHECK(big["result"]["stdout"].get<std::string>().starts_with("begin"));
  CHECK(big["result"]["stdout"].get<std::string>().ends_with("end"));
  CHECK(big.dump().size() <= most_result_bytes);
}

TEST_CASE("quell-tool's answer is passed on, and what is none is a clear error", "[turns][tasks]") {
  const auto outcome = [](const exit_state& e, const std::string& out, const std::string& err = "") {
    return call_outcome_of(tool("read"), e, out, err, 0);
  };
  const auto good = outcome(code(0), R"({"ok":true,"result":{"text":"x"}})");
  CHECK(good.ok);
  CHECK(json::parse(good.result) == json::parse(R"({"ok":true,"result":{"text":"x"}})"));
  const auto refused = outcome(code(0), R"({"ok":false,"error":{"code":"not_found","message":"a does not exist"}})");
  CHECK_FALSE(refused.ok);
  CHECK(json::parse(refused.result)["error"]["code"] == "not_found");
  for (const auto& [e, out] : std::vector<std::pair<exit_state, std::string>>{{code(0), ""},
                                                                              {code(0), "{"},
                                                                              {code(0), "[]"},
                                                                              {code(0), "{}"},
                                                                              {code(0), R"({"ok":1})"},
                                                                              {code(0), R"({"ok":true})"},
                                                                              {code(0), std::string(100'000, '[')},
                                                                              {code(1), R"({"ok":true,"result":1})"},
                                                                              {signal("KILL"), ""},
                                                                              {exit_state{}, ""}}) {
    const auto o = outcome(e, out, "it broke \xff");
    CHECK_FALSE(o.ok);
    const auto r = json::parse(o.result);
    CHECK(r["error"]["code"] == "tool_broken");
    CHECK(says(r["error"]["message"], "read"));
    CHECK(says(r["error"]["message"], "it broke"));
  }
  CHECK(says(outcome(signal("KILL"), "").result, "signal KILL"));
  CHECK(says(outcome(code(127), "").result, "PATH"));
}

TEST_CASE("an agent that is a command gets its prompt in its arguments, or on stdin", "[turns][tasks]") {
  auto a = coder();
  a.command = {"codex", "exec", "--task={prompt}", "{prompt}"};
  a.budget.timeout = 5s;
  const auto in_arguments = task_for_command(a, "fix {prompt} it").value();
  CHECK(in_arguments.spec.command ==
        std::vector<std::string>{"codex", "exec", "--task=fix {prompt} it", "fix {prompt} it"});
  CHECK_FALSE(in_arguments.spec.stdin_open);
  CHECK(in_arguments.stdin_text.empty());
  CHECK(in_arguments.timeout == 5s);
  CHECK(in_arguments.spec.cwd == "/srv/work");
  CHECK(says(task_for_command(a, std::string(200'000, 'x')).error().detail, "too long"));
  CHECK(says(task_for_command(a, std::string(1, '\0')).error().detail, "NUL"));
  a.command = {"claude", "-p"};
  const auto on_stdin = task_for_command(a, "fix it").value();
  CHECK(on_stdin.spec.command == a.command);
  CHECK(on_stdin.spec.stdin_open);
  CHECK(on_stdin.stdin_text == "fix it");
  a.acp = true;
  a.command = {"agent", "{prompt}"};
  const auto acp = task_for_command(a, "fix it").value();
  CHECK(acp.spec.command == a.command);
  CHECK(acp.spec.stdin_open);
  CHECK(acp.stdin_text.empty());
  CHECK(task_for_command(coder(), "x").error().code == "internal");
  const auto done = command_outcome_of(a, code(0), "the answer", "", 0);
  CHECK(done.ok);
  CHECK(json::parse(done.result)["result"]["stdout"] == "the answer");
  CHECK(json::parse(done.result)["result"]["agent"] == "coder");
}

TEST_CASE("an MCP tool's answer becomes the result, and its own error a failure in its words", "[turns][tasks]") {
  const auto done = mcp_outcome_of(true, R"({"content":[{"type":"text","text":"hi"}],"structuredContent":{"a":1}})");
  CHECK(done.ok);
  CHECK(json::parse(done.result)["ok"] == true);
  CHECK(json::parse(done.result)["result"]["structuredContent"]["a"] == 1);
  const auto wrong = mcp_outcome_of(
      false,
      R"({"isError":true,"content":[{"type":"text","text":"cancelled: no"},7,{"type":"text"},{"type":"text","text":"b"}]})");
  CHECK_FALSE(wrong.ok);
  CHECK(json::parse(wrong.result)["ok"] == false);
  CHECK(json::parse(wrong.result)["error"]["code"] == "tool_failed");
  CHECK(json::parse(wrong.result)["error"]["message"] == "cancelled: no\nb");
  for (const char* odd : {"", "7", "[]", "{}", R"({"content":7})", R"({"content":[{"type":7,"text":8}]})"}) {
    INFO(odd);
    const auto message = json::parse(mcp_outcome_of(false, odd).result)["error"]["message"].get<std::string>();
    CHECK(message.find("does not say why") != std::string::npos);
  }
  CHECK(mcp_outcome_of(true, "\"" + std::string(3 << 20, 'x') + "\"").result.size() <= most_result_bytes);
}

TEST_CASE("a sub-agent is the named agent, or one like its parent, with fewer tools and less depth", "[turns][tasks]") {
  turn_settings s;
  s.agents = {coder(), agent_settings{}, agent_settings{}};
  s.agents[0].tools = {"exec", "read", "spawn_agent", "mcp:files"};
  s.agents[1].name = "reader";
  s.agents[1].tools = {"read", "mcp:files"};
  s.agents[1].worker = "w1";
  s.agents[2].name = "cli";
  s.agents[2].command = {"codex"};
  const auto made = [&](const json& input) -> result<agent_settings> {
    auto request = read_sub_agent_request(input.dump());
    if (!request) return tl::unexpected(request.error());
    return sub_agent_settings(s, s.agents[0], *request);
  };
  const auto why = [&](const json& input) {
    const auto m = made(input);
    return m ? std::string("(accepted)") : m.error().detail;
  };
  const auto like = made({{"task", "x"}, {"instructions", "be brief"}, {"tools", {"read", "exec"}}, {"worker", "w9"}});
  REQUIRE(like);
  CHECK(like->name == "coder");
  CHECK(like->instructions == "be brief");
  CHECK(like->tools == std::vector<std::string>{"read", "exec"});
  CHECK(like->worker == "w9");
  CHECK(like->workspace == "/srv/work");
  CHECK(like->budget.depth == s.agents[0].budget.depth - 1);
  const auto reader = made({{"task", "x"}, {"agent", "reader"}, {"tools", {"mcp__files__get"}}});
  REQUIRE(reader);
  CHECK(reader->name == "reader");
  CHECK(reader->worker == "w1");
  CHECK(made({{"task", "x"}, {"agent", "cli"}})->is_command());
  CHECK(says(why({{"task", "x"}, {"agent", "rader"}}), "there are coder, reader and cli"));
  CHECK(
      says(why({{"task", "x"}, {"agent", "reader"}, {"tools", {"exec"}}}), "exec is not a tool that agent reader has"));
  CHECK(says(why({{"task", "x"}, {"agent", "reader"}, {"worker", "w2"}}), "works on w1 only"));
  CHECK(says(why({{"task", "x"}, {"agent", "cli"}, {"tools", {"exec"}}}), "is a command"));
  CHECK(says(why({{"task", " \n"}}), "`task`"));
  CHECK(says(why({{"tools", {"read"}}}), "`task` is required"));
  CHECK(says(why({{"task", "x"}, {"instructions", std::string(70'000, 'x')}}), "`instructions`"));
  s.agents[0].budget.depth = 0;
  CHECK(made({{"task", "x"}}).error().code == "too_deep");
}
