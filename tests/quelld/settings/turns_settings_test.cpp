// The configuration of turns: accepted values, refused values with their messages, and the printed form.
#include <catch2/catch.hpp>

#include "protocol/id.hpp"
#include "quelld/config.hpp"
#include "quelld/settings/reach.hpp"
#include "quelld/settings/turn_settings.hpp"
#include "tests/quelld/settings/settings_file.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using namespace quell::testing;
using namespace std::chrono_literals;

namespace {

scope_path scope(const std::string& text) { return scope_path::parse(text).value(); }

const std::string whole = R"(
[http]
listen = "127.0.0.1:0"

[[models]]
name = "big"
provider = "anthropic"
model = "some-model"
key_env = "BIG_KEY"
max_tokens = 1000
retries = 2
timeout = "5m"

[[models]]
name = "local"
provider = "openai"
model = "tiny"
base_url = "http://localhost:11434/v1"

[[agents]]
name = "coder"
scopes = ["team/code", "discord"]
model = "local"
instructions = """
You write "code".
\tAlways."""
tools = ["exec", "read", "mcp:files", "mcp__web__get"]
workspace = "/srv/work"
on = { os = "linux" }
worker = "w1"
budget = { model_calls = 20, depth = 1, width = 4, timeout = "1h" }

[[agents]]
name = "cli"
scopes = ["team"]
command = ["codex", "exec", "{prompt}"]

[[agents]]
name = "editor"
command = ["an-agent", "--acp"]
acp = true

[[agents]]
name = "other"

[tools.timeouts]
exec = "10m"
web_fetch = 0
"mcp:files" = "30s"

[[approval]]
tool = "exec"
match = "rm *"

[[approval]]
tool = "mcp__files__*"

[[approval]]
tool = "read"
action = "allow"

[[mcp]]
name = "files"
command = ["mcp-files", "/srv/work"]
worker = "w1"
env = { LEVEL = "high" }

[[mcp]]
name = "web"
url = "https://example.org/mcp"
key_env = "WEB_KEY"
on = { net = "yes" }
)";

const variables keys{{"BIG_KEY", "sk-big-secret"}, {"WEB_KEY", "web-secret"}};

} // namespace

TEST_CASE("without a file there is a scripted model and an agent with all built-in tools", "[turns][settings]") {
  const auto s = read_turn_settings("", {});
  REQUIRE(s);
  REQUIRE(s->models.size() == 1);
  CHECK(s->models[0].name == "scripted");
  CHECK(s->models[0].provider == integrations::provider::scripted);
  CHECK(s->models[0].base_url.empty());
  REQUIRE(s->agents.size() == 1);
  CHECK(s->agents[0].name == "default");
  CHECK(s->agents[0].model == "scripted");
  CHECK_FALSE(s->agents[0].tools);
  CHECK(agent_for(*s, scope("any/where"), std::nullopt) == &s->agents[0]);
}

TEST_CASE("a whole configuration is read", "[turns][settings]") {
  const auto s = settings_of(whole, keys);
  REQUIRE(s.models.size() == 2);
  CHECK(s.models[0].provider == integrations::provider::anthropic);
  CHECK(s.models[0].key.empty() == false);
  CHECK(s.models[0].max_tokens == 1000);
  CHECK(s.models[0].retries == 2);
  CHECK(s.models[0].whole_timeout == 5min);
  CHECK(s.models[1].base_url == "http://localhost:11434/v1");
  REQUIRE(s.agents.size() == 4);
  const auto& coder = s.agents[0];
  CHECK(coder.scopes == std::vector<scope_path>{scope("team/code"), scope("discord")});
  CHECK(coder.instructions == "You write \"code\".\n\tAlways.");
  REQUIRE(coder.tools);
  CHECK(coder.tools->size() == 4);
  CHECK(coder.workspace == "/srv/work");
  CHECK(coder.worker == "w1");
  CHECK(coder.on.at("os") == "linux");
  CHECK(coder.budget == agent_budget{20, 1, 4, 0, 0, 8, 1h});
  CHECK(s.agents[1].is_command());
  CHECK(s.agents[1].model.empty());
  CHECK(s.agents[2].acp);
  CHECK(s.agents[3].model == "big"); // an agent that names no model uses the first one
  CHECK(s.timeouts == std::map<std::string, milliseconds>{{"exec", 10min}, {"web_fetch", 0ms}, {"mcp:files", 30s}});
  CHECK(s.approvals == std::vector<approval_rule>{
                           {"exec", "rm *"}, {"mcp__files__*", ""}, {"read", "", false, milliseconds{0}, true}});
  REQUIRE(s.mcp.size() == 2);
  CHECK(s.mcp[0].env.at("LEVEL") == "high");
  CHECK(s.mcp[1].key == "web-secret");
}

TEST_CASE("the first agent whose prefix fits serves a scope, and a name beats that", "[turns][settings]") {
  const auto s = settings_of(whole, keys);
  const auto name_for = [&](const std::string& where, const std::optional<std::string>& named = {}) {
    const auto* a = agent_for(s, scope(where), named);
    return a ? a->name : std::string("(none)");
  };
  CHECK(name_for("team/code") == "coder");
  CHECK(name_for("team/code/deep") == "coder");
  CHECK(name_for("team/coder") == "other");
  CHECK(name_for("team") == "other");
  CHECK(name_for("discord/g/c") == "coder");
  CHECK(name_for("elsewhere") == "other");
  CHECK(name_for("team/code", "other") == "other");
  CHECK(name_for("team/code", "cli") == "cli");
  CHECK(name_for("discord/g/c", "cli") == "(none)"); // a name selects no agent that does not serve the scope
  CHECK(name_for("teams", "coder") == "(none)");
  CHECK(name_for("team/code", "nobody") == "(none)");
  CHECK(agent_for(settings_of("[[agents]]\nname = \"a\"\nscopes = [\"x\"]\n"), scope("y"), std::nullopt) == nullptr);
  const auto none = settings_of("[[agents]]\nname = \"a\"\nscopes = []\n");
  CHECK(agent_for(none, scope("x"), std::nullopt) == nullptr);
  CHECK(agent_for(none, scope("x"), "a") == nullptr);
  CHECK(settings_of(turn_settings_text(none)).agents == none.agents);
}

TEST_CASE("a command serves no scope, wherever it stands", "[turns][settings]") {
  const auto s = settings_of("[[agents]]\nname = \"cli\"\ncommand = [\"x\"]\n[[agents]]\nname = \"near\"\nscopes = "
                             "[\"a\"]\ncommand = [\"x\"]\n[[agents]]\nname = \"default\"\n");
  CHECK(agent_for(s, scope("a/b"), std::nullopt)->name == "default");
  CHECK(agent_for(s, scope("b"), std::nullopt)->name == "default");
  CHECK(agent_for(s, scope("b"), "cli")->name == "cli");
  CHECK(agent_for(settings_of("[[agents]]\nname = \"cli\"\ncommand = [\"x\"]\n"), scope("b"), std::nullopt) == nullptr);
}

TEST_CASE("what nobody can reach is named", "[turns][settings]") {
  const auto notes = [](const std::string& text) { return what_cannot_be_reached(settings_of(text)); };
  CHECK(notes("").empty());
  CHECK(notes("[[agents]]\nname = \"cli\"\ncommand = [\"x\"]\n[[agents]]\nname = \"default\"\n").empty());
  CHECK(notes("[[agents]]\nname = \"a\"\nscopes = [\"x\"]\n[[agents]]\nname = \"b\"\n").empty());
  using all = std::vector<std::string>;
  CHECK(notes("[[agents]]\nname = \"a\"\n[[agents]]\nname = \"b\"\nscopes = [\"x\"]\n") ==
        all{"agent \"b\" answers no scope: \"a\", which comes first, answers them all; it can only be named"});
  CHECK(notes("[[agents]]\nname = \"a\"\nscopes = [\"x\"]\n[[agents]]\nname = \"b\"\nscopes = [\"x/y\", \"z\"]\n")
            .empty());
  CHECK(notes("[[agents]]\nname = \"a\"\nscopes = [\"x\"]\n[[agents]]\nname = \"b\"\nscopes = [\"x/y\", \"x\"]\n")
            .size() == 1);
  CHECK(notes("[[agents]]\nname = \"cli\"\nscopes = [\"x\"]\ncommand = [\"x\"]\n") ==
        all{"agent \"cli\" is a command, and no agent has the tool spawn_agent to start it",
            "agent \"cli\" is a command: it answers no messages, not even in its own scopes",
            "model \"scripted\" is used by no agent", "no agent answers messages: each is a command"});
  CHECK(notes("[[agents]]\nname = \"cli\"\ncommand = [\"x\"]\n[[agents]]\nname = \"a\"\nbudget = { depth = 0 }\n")
            .size() == 1);
  CHECK(notes("[[mcp]]\nname = \"files\"\ncommand = [\"x\"]\n") ==
        all{"MCP server \"files\" is used by no agent: add \"mcp:files\" to the tools of one"});
  CHECK(notes("[[mcp]]\nname = \"f\"\ncommand = [\"x\"]\n[[agents]]\nname = \"a\"\ntools = [\"mcp__f__read\"]\n")
            .empty());
}

TEST_CASE("the printed settings are read back as the same, and hold no key", "[turns][settings]") {
  const auto s = settings_of(whole, keys);
  const auto text = turn_settings_text(s);
  CHECK_FALSE(text.find("secret") != std::string::npos);
  CHECK(says(text, "key_env = \"BIG_KEY\""));
  const auto again = settings_of(text, keys);
  CHECK(again.agents == s.agents);
  CHECK(again.approvals == s.approvals);
  CHECK(again.timeouts == s.timeouts);
  CHECK(again.mcp == s.mcp);
  CHECK(again.keys == s.keys);
  CHECK(turn_settings_text(again) == text);
  CHECK(says(text, "[[approval]]\ntool = \"mcp__files__*\"\naction = \"ask\"\ntimeout = \"0\"\n")); // defaults
  CHECK(says(text, "[[approval]]\ntool = \"read\"\naction = \"allow\"\n\n"));
  const auto defaults = turn_settings_text(*read_turn_settings("", {}));
  CHECK(turn_settings_text(settings_of(defaults)) == defaults);
}

TEST_CASE("texts with quotes, control characters and other letters survive printing", "[turns][settings]") {
  turn_settings s = *read_turn_settings("", {});
  s.agents[0].instructions = "a \"b\" \\ c\r\n\tx \x01 \x7f ä 🛑 ''' \"\"\"";
  CHECK(settings_of(turn_settings_text(s)).agents[0].instructions == s.agents[0].instructions);
}

TEST_CASE("an unknown key is refused with file, line, place and the nearest known one", "[turns][settings]") {
  const auto why = refusal_of("[[models]]\nname = \"m\"\nprovider = \"scripted\"\nmodle = \"x\"\n");
  CHECK(why.starts_with(":4: "));
  CHECK(says(why, "[[models]] \"m\""));
  CHECK(says(why, "unknown key modle"));
  CHECK(says(why, "nearest known one is model"));
  CHECK(says(refusal_of("[[agents]]\nname = \"a\"\nworkspce = \"/x\"\n"), "workspace"));
  CHECK(says(refusal_of("[[agents]]\nname = \"a\"\nbudget = { wdith = 2 }\n"), "width"));
  CHECK(says(refusal_of("[[approval]]\ntool = \"exec\"\nmach = \"x\"\n"), "nearest known one is match"));
  CHECK(says(refusal_of("[[mcp]]\nname = \"a\"\ncommand = [\"x\"]\nenvs = {}\n"), "nearest known one is env"));
  CHECK(says(refusal_of("[tools]\ntimeout = {}\n"), "nearest known one is timeouts"));
}

TEST_CASE("names are there, are plain, and are there once", "[turns][settings]") {
  CHECK(says(refusal_of("[[models]]\nprovider = \"scripted\"\n"), "has no name"));
  CHECK(says(refusal_of("[[agents]]\nmodel = \"m\"\n"), "[[agents]] number 1 has no name"));
  CHECK(says(refusal_of("[[agents]]\nname = \"a b\"\n"), "1 to 64 letters"));
  CHECK(says(refusal_of("[[agents]]\nname = \"\"\n"), "1 to 64 letters"));
  CHECK(says(refusal_of("[[agents]]\nname = \"" + std::string(65, 'a') + "\"\n"), "1 to 64"));
  CHECK(says(refusal_of("[[mcp]]\nname = \"" + std::string(33, 'a') + "\"\ncommand = [\"x\"]\n"), "1 to 32"));
  CHECK(says(refusal_of("[[agents]]\nname = \"a\"\n[[agents]]\nname = \"a\"\n"), "has \"a\" twice"));
  CHECK(
      says(refusal_of("[[models]]\nname=\"m\"\nprovider=\"scripted\"\n[[models]]\nname=\"m\"\nprovider=\"scripted\"\n"),
           "[[models]] has \"m\" twice"));
}

TEST_CASE("entries that do not fit together are refused with what would fit", "[turns][settings]") {
  CHECK(says(refusal_of("[[models]]\nname=\"fast\"\nprovider=\"scripted\"\n[[agents]]\nname=\"a\"\nmodel=\"fats\"\n"),
             "nearest known one is \"fast\""));
  CHECK(says(refusal_of("[[agents]]\nname=\"a\"\nmodel=\"none\"\n"), "model \"none\" is in no [[models]]"));
  CHECK(says(refusal_of("[[agents]]\nname=\"a\"\ntools=[\"raed\"]\n"), "nearest known one is \"read\""));
  CHECK(says(refusal_of("[[agents]]\nname=\"a\"\ntools=[\"mcp:x\"]\n"), "no [[mcp]] has"));
  CHECK(says(refusal_of("[[agents]]\nname=\"a\"\ntools=[\"mcp__x__y\"]\n"), "mcp__SERVER__TOOL"));
  CHECK(says(refusal_of("[[agents]]\nname=\"a\"\ntools=[\"read\",\"read\"]\n"), "twice"));
  CHECK(says(refusal_of("[tools.timeouts]\nexce = \"1s\"\n"), "nearest known one is \"exec\""));
}

TEST_CASE("values of the wrong kind or size are refused", "[turns][settings]") {
  const std::string model = "[[models]]\nname=\"m\"\nprovider=\"scripted\"\n", agent = "[[agents]]\nname=\"a\"\n",
                    server = "[[mcp]]\nname=\"s\"\n";
  CHECK(says(refusal_of("[[models]]\nname=\"m\"\nprovider=\"gpt\"\n"), "scripted, anthropic or openai"));
  CHECK(says(refusal_of("[[models]]\nname=\"m\"\n"), "scripted, anthropic or openai"));
  CHECK(says(refusal_of(model + "max_tokens=0\n"), "max_tokens must be a whole number"));
  CHECK(says(refusal_of(model + "max_tokens=\"1\"\n"), "max_tokens must be a whole number"));
  CHECK(says(refusal_of(model + "timeout=10\n"), "must be a duration"));
  CHECK(says(refusal_of(model + "timeout=\"10ms\"\n"), "at least 1s"));
  CHECK(says(refusal_of(model + "key_env=\"A\"\nkey_file=\"/b\"\n"), "keep one"));
  CHECK(says(refusal_of(agent + "scopes=\"x\"\n"), "must be a list of strings"));
  CHECK(says(refusal_of(agent + "scopes=[\"a//b\"]\n"), "not a scope"));
  CHECK(says(refusal_of(agent + "may_spawn=[\"b\"]\n"), "there is no agent \"b\""));
  CHECK(says(refusal_of(model + agent + "models=[\"m\",\"b\"]\n"), "models: \"b\" is in no [[models]]"));
  CHECK(says(refusal_of(agent + "scopes=[\"slack/*\"]\n"), "not a scope"));
  CHECK(says(refusal_of(agent + "workspace=\"work\"\n"), "absolute path"));
  CHECK(says(refusal_of(agent + "tools=[1]\n"), "list of strings"));
  CHECK(says(refusal_of(agent + "on={a=1}\n"), "pairs of strings"));
  CHECK(says(refusal_of(agent + "on=\"a\"\n"), "must be a table"));
  CHECK(says(refusal_of(agent + "worker=\"\"\n"), "name of a worker"));
  CHECK(says(refusal_of(agent + "acp=true\n"), "needs `command`"));
  CHECK(says(refusal_of(agent + "command=[]\n"), "must name a program"));
  CHECK(says(refusal_of(agent + "command=[\"x\"]\nmodel=\"m\"\n"), "means nothing to an agent that is a command"));
  CHECK(says(refusal_of(agent + "budget={depth=100}\n"), "0 to 32"));
  CHECK(says(refusal_of(agent + "budget=3\n"), "must be a table"));
  CHECK(says(refusal_of(agent + "instructions=\"" + std::string(70'000, 'x') + "\"\n"), "65536 bytes"));
  CHECK(says(refusal_of("[[approval]]\nmatch=\"x\"\n"), "must name a tool"));
  CHECK(says(refusal_of("[[approval]]\ntool=\"exec\"\nmatch=\"\"\n"), "leave it out"));
  CHECK(says(refusal_of("[[approval]]\ntool=\"exec\"\naction=\"maybe\"\n"), "ask, deny or allow"));
  const std::string allows = "action=\"allow\"\n";
  CHECK(says(refusal_of("[[approval]]\ntool=\"exec\"\ntimeout=\"1m\"\n" + allows), "a rule that asks"));
  CHECK(says(refusal_of("[[approval]]\ntool=\"write\"\nmatch=\"*\"\n" + allows), "exec alone"));
  CHECK(refusal_of("[[approval]]\ntool=\"exec\"\nmatch=\"git *\"\n" + allows) == "(accepted)");
  CHECK(says(refusal_of("[[approval]]\ntool=\"exce\"\n"), "nearest known one is \"exec\""));
  CHECK(says(refusal_of("[[approval]]\ntool=\"mcp:nobody\"\n"), "no [[mcp]] has"));
  CHECK(says(refusal_of("[[approval]]\ntool=\"acp:nobody\"\n"), "no [[agents]] with acp"));
  CHECK(refusal_of("[[approval]]\ntool=\"mcp__nobody__*\"\n") == "(accepted)");
  CHECK(says(refusal_of(server), "either `command`"));
  CHECK(says(refusal_of(server + "command=[\"x\"]\nurl=\"http://h\"\n"), "either `command`"));
  CHECK(says(refusal_of(server + "url=\"ftp://h\"\n"), "http://"));
  CHECK(says(refusal_of(server + "url=\"http://h\"\nenv={A=\"b\"}\n"), "no environment"));
  CHECK(says(refusal_of(server + "command=[\"x\"]\nkey_env=\"K\"\n"), "for a server with `url`"));
  CHECK(says(refusal_of(server + "command=[\"x\"]\nenv=[\"PATH\"]\n"), "must be a table"));
  CHECK(says(refusal_of("[models]\nname=\"m\"\n"), "two brackets"));
  CHECK(says(refusal_of("models = [1]\n"), "two brackets"));
  CHECK(says(refusal_of("tools = 1\n"), "[tools.timeouts]"));
  CHECK(says(refusal_of("[[models]\n"), "line 1"));
}

TEST_CASE("every count has a limit", "[turns][settings]") {
  const auto many = [](const std::string& entry, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += entry;
    return text;
  };
  CHECK(says(refusal_of(many("[[models]]\nname=\"m\"\nprovider=\"scripted\"\n", 65)), "at most 64"));
  CHECK(says(refusal_of(many("[[agents]]\nname=\"a\"\n", 4097)), "at most 4096"));
  CHECK(says(refusal_of(many("[[approval]]\ntool=\"exec\"\n", 257)), "at most 256"));
  CHECK(says(refusal_of(many("[[mcp]]\nname=\"m\"\ncommand=[\"x\"]\n", 33)), "at most 32"));
  CHECK(says(refusal_of("[[agents]]\nname=\"a\"\ntools=[" + many("\"read\",", 129) + "]\n"), "at most 128"));
  CHECK(says(refusal_of("[[agents]]\nname=\"a\"\nscopes=[" + many("\"s\",", 65) + "]\n"), "at most 64"));
  CHECK(says(refusal_of("#" + std::string(5 << 20, 'x')), "4 MiB"));
}

TEST_CASE("a key that is needed and missing is named by its variable, and never shown", "[turns][settings]") {
  const std::string model = "[[models]]\nname=\"m\"\nprovider=\"openai\"\nmodel=\"x\"\nkey_env=\"MY_KEY\"\n";
  const auto why = refusal_of(model);
  CHECK(says(why, "[[models]] \"m\""));
  CHECK(says(why, "MY_KEY"));
  CHECK(says(refusal_of(model, {{"MY_KEY", ""}}), "MY_KEY"));
  CHECK(settings_of(model, {{"MY_KEY", "k-123"}}).models[0].key == "k-123");
  const auto broken = refusal_of(model, {{"MY_KEY", "very secret"}}); // a key contains no blank
  CHECK(says(broken, "\"m\""));
  CHECK_FALSE(broken.find("very secret") != std::string::npos);
  // A model that no agent uses may lack its key.
  const auto unused = settings_of("[[models]]\nname=\"s\"\nprovider=\"scripted\"\n" + model);
  CHECK(unused.model("m")->key.empty());
  // One that only messages ask for is used, and so are its fallbacks.
  const auto in_models =
      "[[models]]\nname=\"s\"\nprovider=\"scripted\"\n[[agents]]\nname=\"a\"\nmodels=[\"m\"]\n" + model;
  CHECK(says(refusal_of(in_models), "MY_KEY"));
  CHECK(settings_of(in_models, {{"MY_KEY", "k-123"}}).model("m")->key == "k-123");
  CHECK(what_cannot_be_reached(settings_of(in_models, {{"MY_KEY", "k-123"}})).empty());
  const auto behind =
      "[[models]]\nname=\"s\"\nprovider=\"scripted\"\n[[models]]\nname=\"t\"\nprovider=\"scripted\"\nfallback=[\"m\"]\n"
      "[[agents]]\nname=\"a\"\nmodels=[\"t\"]\n" +
      model;
  CHECK(says(refusal_of(behind), "MY_KEY"));
  CHECK(says(refusal_of("[[mcp]]\nname=\"w\"\nurl=\"http://h\"\nkey_env=\"NOT_SET\"\n"), "NOT_SET"));
}

TEST_CASE("a key comes from a file without the white space around it", "[turns][settings]") {
  const file key(" k-in-a-file \n"), empty("\n");
  const auto model = [](const std::string& path) {
    return "[[models]]\nname=\"m\"\nprovider=\"anthropic\"\nmodel=\"x\"\nkey_file=\"" + path + "\"\n";
  };
  CHECK(settings_of(model(key.path)).models[0].key == "k-in-a-file");
  CHECK(says(refusal_of(model(empty.path)), "is empty"));
  CHECK(says(refusal_of(model(key.path + ".gone")), "cannot be read"));
  CHECK(says(refusal_of(model("/")), "cannot be read"));
}

TEST_CASE("a model's own settings are judged before any turn asks", "[turns][settings]") {
  CHECK(says(refusal_of("[[models]]\nname=\"m\"\nprovider=\"openai\"\n"), "does not say which model"));
  CHECK(says(refusal_of("[[models]]\nname=\"m\"\nprovider=\"openai\"\nmodel=\"x\"\nbase_url=\"nonsense://\"\n"),
             "base_url"));
  CHECK(says(refusal_of("[[models]]\nname=\"m\"\nprovider=\"scripted\"\nbase_url=\"/does/not/exist\"\n"), "\"m\""));
}

TEST_CASE("the rest of the configuration goes on as it is beside these sections", "[turns][settings][config]") {
  const file f(whole);
  const auto c = load_config(f.path, {});
  REQUIRE(c);
  CHECK(c->http_listen == "127.0.0.1:0");
  CHECK(config_text(*load_config(file(config_text(*c) + turn_settings_text(settings_of(whole, keys))).path, {})) ==
        config_text(*c));
  const file unknown("[[agent]]\nname = \"x\"\n");
  const auto refused = load_config(unknown.path, {});
  REQUIRE_FALSE(refused);
  CHECK(says(refused.error().detail, "agents"));
  const file scalar("[htp]\nlisten = \"x\"\n");
  CHECK(says(load_config(scalar.path, {}).error().detail, "http.listen"));
}

TEST_CASE("a file that is not there is said", "[turns][settings]") {
  const auto read = read_turn_settings("/does/not/exist.toml", {});
  REQUIRE_FALSE(read);
  CHECK(says(read.error().detail, "/does/not/exist.toml"));
}
