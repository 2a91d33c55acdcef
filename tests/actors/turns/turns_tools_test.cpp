// Tools as they are offered to a model: names, schemas, timeouts, and their number.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "actors/turns/tool_catalogue.hpp"
#include "actors/turns/tool_input.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const tool_definition& tool(const std::string& name) {
  static const auto all = built_in_tools({});
  for (const auto& t : all)
    if (t.offer.name == name) return t;
  FAIL("no tool " + name);
  return all[0];
}

std::string fault_of(const tool_definition& t, const std::string& input) {
  const auto wrong = check_input(t, input);
  if (!wrong) return "";
  CHECK(wrong->code == "invalid_input");
  return wrong->detail;
}
std::string fault_of(const std::string& name, const std::string& input) { return fault_of(tool(name), input); }

bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("\"" << part << "\" in: " << text);
  return text.find(part) != std::string::npos;
}

/// The definition of one tool of a server that has no settings.
tool_definition mcp_tool_definition(const std::string& server, const std::string& name, const std::string& description,
                                    const std::string& schema, bool read_only, bool destructive) {
  return controller::turns::mcp_tool_definition(turn_settings{}, server,
                                                {name, description, schema, read_only, destructive});
}

tool_definition with_schema(const std::string& schema) {
  return mcp_tool_definition("s", "t", "", schema, false, false);
}

} // namespace

TEST_CASE("every built-in tool has a schema of an object whose fields are described", "[turns][tools]") {
  const auto tools = built_in_tools({});
  CHECK(tools.size() == 13);
  for (const auto& t : tools) {
    INFO(t.offer.name);
    CHECK(is_built_in_tool(t.offer.name));
    CHECK_FALSE(t.offer.description.empty());
    const auto schema = json::parse(t.offer.input_schema, nullptr, false);
    REQUIRE(schema.is_object());
    CHECK(schema["type"] == "object");
    CHECK(schema["additionalProperties"] == false);
    for (const auto& [name, field] : schema["properties"].items()) CHECK(field.contains("description"));
  }
  CHECK_FALSE(is_built_in_tool("nothing"));
}

TEST_CASE("exec is exclusive and no other: files are ordered by path", "[turns][tools]") {
  std::set<std::string> exclusive;
  for (const auto& t : built_in_tools({}))
    if (t.exclusive) exclusive.insert(t.offer.name);
  CHECK(exclusive == std::set<std::string>{"exec"});
  CHECK(mcp_tool_definition("s", "t", "", "{}", false, true).exclusive);
  CHECK_FALSE(mcp_tool_definition("s", "t", "", "{}", true, true).exclusive);
  CHECK_FALSE(mcp_tool_definition("s", "t", "", "{}", false, false).exclusive);
}

TEST_CASE("a call's own time beats the configured one, and that beats the built-in one", "[turns][tools]") {
  CHECK(tool("exec").timeout == 0ms);
  CHECK(tool("spawn_agent").timeout == 0ms);
  CHECK(tool("web_fetch").timeout == 60s);
  CHECK(tool("read").timeout == 120s);
  turn_settings s;
  s.timeouts = {{"read", 5s}, {"exec", 10min}, {"mcp:files", 7s}, {"mcp__files__slow", 0ms}};
  const auto tools = built_in_tools(s);
  const auto find = [&](const char* name) {
    return *std::find_if(tools.begin(), tools.end(), [&](const auto& t) { return t.offer.name == name; });
  };
  CHECK(find("read").timeout == 5s);
  CHECK(find("exec").timeout == 10min);
  CHECK(mcp_tool_definition(s, "files", {"any", "", "", false, false}).timeout == 7s);
  CHECK(mcp_tool_definition(s, "files", {"slow", "", "", false, false}).timeout == 0ms);
  CHECK(mcp_tool_definition(s, "web", {"browser", "", "", false, false}).timeout == 180s);
  CHECK(mcp_tool_definition(s, "web", {"other", "", "", false, false}).timeout == 120s);
  const auto time_of = [](const tool_definition& t, const std::string& input) { return read_input(t, input)->timeout; };
  CHECK(time_of(find("read"), R"({"path":"x"})") == 5s);
  CHECK(time_of(find("read"), R"({"path":"x","_meta":{"timeout":250}})") == 250ms);
  CHECK(time_of(find("read"), R"({"path":"x","_meta":{"timeout":0}})") == 0ms);
  CHECK(time_of(find("exec"), R"({"command":"x"})") == 10min);
  CHECK(time_of(find("exec"), R"({"command":"x","timeout_ms":9})") == 9ms);
  CHECK(time_of(find("exec"), R"({"command":"x","timeout_ms":9,"_meta":{"timeout":8}})") == 8ms);
}

TEST_CASE("an agent's own limit of exec, and the most that a call gets", "[turns][tools]") {
  agent_settings agent;
  agent.tools = {"exec"};
  const auto exec_of = [&] { return *tools_for({}, agent, {}).find("exec"); };
  const auto time_of = [&](const std::string& input) { return read_input(exec_of(), input)->timeout; };
  CHECK(time_of(R"({"command":"x"})") == 0ms);
  agent.exec_timeout = 10s;
  CHECK(time_of(R"({"command":"x"})") == 10s);
  CHECK(time_of(R"({"command":"x","timeout_ms":0})") == 0ms);
  agent.exec_timeout_max = 1min;
  CHECK(time_of(R"({"command":"x"})") == 10s);
  CHECK(time_of(R"({"command":"x","timeout_ms":9})") == 9ms);
  CHECK(time_of(R"({"command":"x","timeout_ms":0})") == 1min);
  CHECK(time_of(R"({"command":"x","_meta":{"timeout":3600000}})") == 1min);
  CHECK(exec_of().offer.description.find("stopped after 10 s") != std::string::npos);
  CHECK(exec_of().offer.description.find("More than 60 s") != std::string::npos);
  agent.exec_timeout.reset();
  CHECK(time_of(R"({"command":"x"})") == 1min);
}

TEST_CASE("a command in the background has only the limit that was asked for; its call has its own", "[turns][tools]") {
  agent_settings agent;
  agent.exec_timeout = 10s;
  const auto read = [&](const std::string& input) {
    return *read_input(*tools_for({}, agent, {}).find("exec"), input);
  };
  CHECK(read(R"({"command":"x","background":true})").task_timeout == 0ms);
  CHECK(read(R"({"command":"x","background":true})").timeout == 120s);
  CHECK(read(R"({"command":"x","background":true,"timeout_ms":5000})").task_timeout == 5s);
  agent.exec_timeout_max = 1min;
  CHECK(read(R"({"command":"x","background":true})").task_timeout == 1min);
  CHECK(read(R"({"command":"x","background":true,"timeout_ms":0})").task_timeout == 1min);
  CHECK(read(R"({"command":"x","background":false})").timeout == 10s);
}

TEST_CASE("the tools about commands in the background go with exec", "[turns][tools]") {
  agent_settings agent;
  const auto has = [&](const char* name) { return tools_for({}, agent, {}).find(name) != nullptr; };
  agent.tools = {"exec", "task_kill"};
  CHECK((has("task_output") && has("task_wait") && has("task_kill")));
  CHECK(tools_for({}, agent, {}).tools.size() == 4);
  agent.tools = {"read"};
  CHECK_FALSE((has("task_output") || has("task_wait") || has("task_kill")));
}

TEST_CASE("what is meant for us is taken out before a tool sees its input", "[turns][tools]") {
  const auto seen = [](const tool_definition& t, const std::string& input) {
    return json::parse(read_input(t, input)->json);
  };
  CHECK(seen(tool("read"), R"({"path":"x","_meta":{"timeout":1,"other":2}})") == json({{"path", "x"}}));
  CHECK(seen(with_schema("{}"), R"({"a":1,"_meta":{"timeout":1}})") == json({{"a", 1}}));
  CHECK(seen(with_schema("{}"), R"({"a":1,"_meta":{"timeout":1,"b":2}})") == json({{"a", 1}, {"_meta", {{"b", 2}}}}));
  CHECK(seen(tool("read"), R"({"path":"x","lines":null})") == json({{"path", "x"}}));
  CHECK(seen(tool("list"), "") == json::object());
  for (const char* bad : {"-1", "1.5", "\"60s\"", "99999999999999", "true"})
    CHECK(says(fault_of("list", std::string(R"({"_meta":{"timeout":)") + bad + "}}"), "`_meta.timeout`"));
}

TEST_CASE("an input that cannot be used is explained with its field", "[turns][tools]") {
  CHECK(fault_of("read", R"({"path":"x","first_line":3})") == "");
  CHECK(says(fault_of("read", "{"), "not JSON"));
  CHECK(says(fault_of("read", "path: x"), "not JSON"));
  CHECK(says(fault_of("read", "[]"), "must be a JSON object, not array"));
  CHECK(says(fault_of("read", "\"x\""), "must be a JSON object, not string"));
  CHECK(says(fault_of("read", "{\"path\":\"\xff\"}"), "UTF-8"));
  CHECK(says(fault_of("read", "{}"), "`path` is required"));
  CHECK(says(fault_of("read", R"({"path":null})"), "`path` is required"));
  CHECK(says(fault_of("read", R"({"path":7})"), "`path` must be of type string, not number"));
  CHECK(says(fault_of("read", R"({"path":"x","first_line":0})"), "`first_line`"));
  CHECK(says(fault_of("read", R"({"path":"x","lines":"3"})"), "`lines` must be of type integer, not string"));
  CHECK(says(fault_of("read", R"({"path":"x","pth":1})"), "`pth` is not a field of this tool"));
  CHECK(says(fault_of("read", R"({"path":"x","pth":1})"), "known:"));
  CHECK(says(fault_of("write", R"({"path":"x"})"), "`text` is required"));
  CHECK(says(fault_of("edit", R"({"path":"x","old":"","new":"y"})"), "`old`"));
  CHECK(says(fault_of("edit", R"({"path":"x","old":"a","new":"y","all":"yes"})"), "`all` must be of type boolean"));
  CHECK(says(fault_of("list", R"({"depth":99})"), "`depth`"));
  CHECK(says(fault_of("exec", R"({"command":"x","env":{"A":1}})"), "`env.A` must be of type string"));
  CHECK(says(fault_of("exec", R"({"argv":["a",2]})"), "`argv[1]` must be of type string"));
  CHECK(says(fault_of("exec", "{}"), "either `command` or `argv`"));
  CHECK(says(fault_of("exec", R"({"command":"x","argv":["y"]})"), "either `command` or `argv`"));
  CHECK(says(fault_of("exec", R"({"argv":[]})"), "`argv`"));
  CHECK(says(fault_of("exec", R"({"command":""})"), "`command`"));
  CHECK(says(fault_of("exec", R"({"command":"x","timeout_ms":-1})"), "`timeout_ms`"));
  CHECK(says(fault_of("exec", R"({"command":"x","timeout_ms":18446744073709551615})"), "`timeout_ms`"));
  CHECK(says(fault_of("read", R"({"path":"x","it's 'odd'":1})"), "is not a field of this tool"));
  CHECK(says(fault_of("session_status", R"({"x":1})"), "`x` is not a field"));
  CHECK(fault_of("session_status", "{}") == "");
  CHECK(says(fault_of("spawn_agent", R"({"agent":"x"})"), "`task` is required"));
  CHECK(says(fault_of("write", R"({"path":"x","text":")" + std::string(2 << 20, 'x') + "\"}"), "bytes"));
  std::string deep(200'000, '[');
  CHECK(says(fault_of("read", "{\"path\":" + deep), "nested deeper"));
}

TEST_CASE("a server's schema is kept to as far as it is understood", "[turns][tools]") {
  const auto t = with_schema(R"({"type":"object","required":["a"],"properties":{
    "a":{"type":"string","enum":["x","y"]}, "b":{"type":["integer","null"],"minimum":2},
    "c":{"type":"array","items":{"type":"object","required":["d"],"properties":{"d":{"type":"number"}}}},
    "e":{"anyOf":[{"type":"string"},{"type":"integer"}]}, "f":{"const":5}, "g":{"$ref":"#/$defs/g"},
    "h":{"type":"string","pattern":"^(a+)+$","format":"date"}, "pattern":{"type":"string"}},
    "$defs":{"g":{"type":"string","maxLength":3}}})");
  CHECK(fault_of(t, R"({"a":"x","b":null,"c":[{"d":1}],"e":7,"f":5,"g":"abc","other":[1]})") == "");
  CHECK(says(fault_of(t, R"({"a":"z"})"), "`a` must be one of [\"x\",\"y\"]"));
  CHECK(says(fault_of(t, R"({"a":"x","b":1})"), "`b`"));
  CHECK(says(fault_of(t, R"({"a":"x","c":[{"d":1},{}]})"), "`c[1].d` is required"));
  CHECK(says(fault_of(t, R"({"a":"x","c":[{"d":"1"}]})"), "`c[0].d` must be of type number"));
  CHECK(says(fault_of(t, R"({"a":"x","e":[]})"), "`e` fits none of the forms"));
  CHECK(says(fault_of(t, R"({"a":"x","f":6})"), "`f` must be one of [5]"));
  CHECK(says(fault_of(t, R"({"a":"x","g":"abcd"})"), "`g`"));
  CHECK(says(fault_of(t, R"({"a":"x","pattern":1})"), "`pattern` must be of type string"));
  CHECK(says(fault_of(t, "[1]"), "object")); // is reported also if the schema allows anything
}

TEST_CASE("a schema that cannot be read, or that would take long, allows anything", "[turns][tools]") {
  for (const char* schema : {"",
                             "no schema",
                             "[]",
                             "7",
                             "null",
                             R"({"type":"nonsense"})",
                             R"({"type":7,"properties":7})",
                             R"({"properties":{"a":7}})",
                             R"({"$ref":"#"})",
                             R"({"$ref":"#/nowhere"})",
                             R"({"$ref":"http://127.0.0.1/x"})",
                             R"({"$ref":"#/~9"})",
                             R"({"allOf":[{"$ref":"#"}]})",
                             R"({"properties":{"b":{"$ref":"#"}}})",
                             R"({"not":{"pattern":"x"}})",
                             R"({"required":"a"})",
                             R"({"required":["b","b",7]})",
                             R"({"minProperties":-1})",
                             R"({"patternProperties":{"^(a+)+$":{"type":"string"}},"additionalProperties":false})",
                             R"({"oneOf":[{"required":["a"]},{"type":"object"}]})",
                             R"({"enum":[]})",
                             R"({"exclusiveMinimum":true})",
                             R"({"properties":{"a":{"pattern":"^(a+)+$"}}})",
                             R"({"dependencies":{"a":["b"]}})"}) {
    INFO(schema);
    CHECK(fault_of(with_schema(schema), R"({"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"})") == "");
  }
  CHECK(fault_of(with_schema(std::string(100'000, '[')), "{}") == "");
  CHECK(fault_of(with_schema("{\"description\":\"" + std::string(1 << 20, 'x') + "\",\"required\":[\"b\"]}"), "{}") ==
        "");
  std::string deep;
  for (int i = 0; i < 50; ++i) deep += R"({"properties":{"a":)";
  CHECK(fault_of(with_schema(deep + "{}" + std::string(100, '}')), R"({"a":{"a":1}})") == "");
}

TEST_CASE("a schema that contains itself is kept to for some levels", "[turns][tools]") {
  const auto t = with_schema(R"({"type":"object","properties":{"n":{"type":"integer"},"a":{"$ref":"#"}}})");
  CHECK(fault_of(t, R"({"n":1,"a":{"n":2,"a":{"n":3}}})") == "");
  CHECK(says(fault_of(t, R"({"n":1,"a":{"n":2,"a":{"n":"3"}}})"), "`a.a.n` must be of type integer"));
  std::string deep = R"({"n":"x"})";
  for (int i = 0; i < 50; ++i) deep = R"({"a":)" + deep + "}";
  CHECK(fault_of(t, deep) == "");
}

TEST_CASE("a schema that doubles with each level ends all the same", "[turns][tools]") {
  json schema{{"type", "object"}};
  for (int i = 0; i < 30; ++i) {
    const auto next = "#/$defs/d" + std::to_string(i + 1);
    schema["$defs"]["d" + std::to_string(i)] = {{"properties", {{"a", {{"$ref", next}}}, {"b", {{"$ref", next}}}}}};
  }
  schema["properties"] = {{"x", {{"$ref", "#/$defs/d0"}}}};
  CHECK(fault_of(with_schema(schema.dump()), R"({"x":{"a":{"b":1}}})") == "");
}

TEST_CASE("a name of a server's tool is one that every provider takes, and its own", "[turns][tools]") {
  const auto name = [](const std::string& server, const std::string& own) {
    const auto t = mcp_tool_definition(server, own, "", "", false, false);
    CHECK(t.mcp_server == server);
    CHECK(t.mcp_tool == own);
    CHECK(t.how == tool_definition::runs::mcp);
    return t.offer.name;
  };
  CHECK(name("files", "read_file") == "mcp__files__read_file");
  std::set<std::string> names;
  std::size_t count = 0;
  for (const std::string server : {"a", "a_", "a__b", "b"})
    for (const std::string& own :
         {std::string("t"), std::string("_t"), std::string("b__t"), std::string("read.file"), std::string("read/file"),
          std::string("read_file"), std::string("ä"), std::string(), std::string(100, 'x'), std::string(101, 'x'),
          std::string("\xff\n"), std::string("a b")}) {
      const auto n = name(server, own);
      INFO(n);
      CHECK(n.size() <= 64);
      CHECK(n.starts_with("mcp__" + server));
      CHECK(n.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
            std::string::npos);
      names.insert(n);
      ++count;
      CHECK(name(server, own) == n);
    }
  CHECK(names.size() == count);
}

TEST_CASE("what a server says about a tool is bounded and always an object's schema", "[turns][tools]") {
  const auto t = mcp_tool_definition("s", "t", std::string(1 << 20, 'd'), R"({"type":"string"})", false, false);
  CHECK(t.offer.description.size() <= 4096);
  CHECK(json::parse(t.offer.input_schema) == json({{"type", "object"}}));
  CHECK(json::parse(with_schema(R"({"properties":{"a":{}}})").offer.input_schema)["type"] == "object");
  CHECK(json::parse(with_schema(R"({"type":"object","description":"x"})").offer.input_schema)["description"] == "x");
}

TEST_CASE("an agent has the tools that its configuration names", "[turns][tools]") {
  turn_settings s;
  s.mcp.resize(2);
  s.mcp[0].name = "files";
  s.mcp[1].name = "web";
  const std::vector<tool_definition> of_mcp{mcp_tool_definition("files", "get", "", "", false, false),
                                            mcp_tool_definition("files", "put.it", "", "", false, false),
                                            mcp_tool_definition("web", "get", "", "", false, false)};
  const auto names = [&](std::optional<std::vector<std::string>> tools) {
    agent_settings a;
    a.name = "a";
    a.tools = std::move(tools);
    std::vector<std::string> n;
    const auto set = tools_for(s, a, of_mcp);
    CHECK(set.note.empty());
    for (const auto& o : set.offers()) n.push_back(o.name);
    return n;
  };
  CHECK(names(std::nullopt) == default_tool_names());
  CHECK(names(std::vector<std::string>{"ask_user"}) ==
        std::vector<std::string>{"ask_user"}); // never without being named
  CHECK(names(std::vector<std::string>{}).empty());
  CHECK(names({{"read", "mcp__web__get"}}) == std::vector<std::string>{"read", "mcp__web__get"});
  CHECK(names({{"mcp:files"}}).size() == 2);
  CHECK(names({{"mcp__files__put.it"}}).size() == 1);
  agent_settings a;
  CHECK(mcp_servers_of(s, a).empty());
  a.tools = {"exec", "mcp__web__get"};
  CHECK(mcp_servers_of(s, a) == std::vector<std::string>{"web"});
  a.tools = {"mcp:web", "mcp:files"};
  CHECK(mcp_servers_of(s, a) == std::vector<std::string>{"files", "web"});
}

TEST_CASE("of a thousand tools 128 are offered and the rest is said", "[turns][tools]") {
  turn_settings s;
  s.mcp.resize(1);
  s.mcp[0].name = "big";
  std::vector<tool_definition> many;
  for (int i = 0; i < 1000; ++i)
    many.push_back(mcp_tool_definition("big", "t" + std::to_string(i), "", "", false, false));
  many.insert(many.begin(), many[0]); // a server that lists one tool twice
  agent_settings a;
  a.name = "coder";
  a.tools = {"exec", "mcp:big"};
  const auto set = tools_for(s, a, many);
  CHECK(set.tools.size() == most_offers);
  CHECK(set.find("exec"));
  CHECK(set.find("mcp__big__t0"));
  CHECK_FALSE(set.find("mcp__big__t999"));
  CHECK(says(set.note, "876 tools are not offered to agent coder"));
  CHECK(says(set.note, "Named twice"));
  CHECK(set.note.size() < 2000);
}

TEST_CASE("a turn is told all that it wants to know of a call", "[turns][tools]") {
  agent_settings a;
  const auto set = tools_for({}, a, {});
  const std::vector<approval_rule> rules{{"exec", "rm *"}};
  const auto traits = [&](const std::string& name, const std::string& input) {
    return traits_of(set, rules, tool_call{"c", name, input});
  };
  const auto ask = traits("exec", R"({"command":"cd x; rm y","timeout_ms":5})");
  CHECK(ask.exclusive);
  CHECK(ask.timeout == 5ms);
  CHECK(ask.approval_rule == "exec: rm *");
  CHECK_FALSE(ask.unusable);
  CHECK(traits("read", R"({"path":"x"})").approval_rule == "");
  const auto broken = traits("exec", "{");
  REQUIRE(broken.unusable);
  CHECK(broken.unusable->code == "invalid_input");
  const auto unknown = traits("raed", "{}");
  REQUIRE(unknown.unusable);
  CHECK(unknown.unusable->code == "unknown_tool");
  CHECK(says(unknown.unusable->detail, "nearest one is read"));
}
