// The configuration of models: how they answer, their limits, headers, prices and fallbacks.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "protocol/id.hpp"
#include "quelld/settings/reach.hpp"
#include "quelld/settings/turn_settings.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace std::chrono_literals;

namespace {

struct model_file {
  std::string path =
      (std::filesystem::temp_directory_path() / ("quell-models-" + operation_id::fresh().text())).string();
  explicit model_file(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~model_file() { std::filesystem::remove(path); }
};

using variables = std::map<std::string, std::string>;

turn_settings settings_of(const std::string& text, const variables& environment = {}) {
  const model_file f(text);
  auto read = read_turn_settings(f.path, environment);
  INFO((read ? "" : read.error().detail));
  REQUIRE(read);
  return *read;
}

std::string refusal_of(const std::string& text, const variables& environment = {}) {
  const model_file f(text);
  const auto read = read_turn_settings(f.path, environment);
  if (read) return "(accepted)";
  CHECK(read.error().code == "invalid_field");
  return read.error().detail;
}

bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("\"" << part << "\" in: " << text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a model's answer settings, limits, headers, prices and fallbacks are read and printed, without secrets") {
  const std::string text = R"(
[[models]]
name = "big"
provider = "anthropic"
model = "b"
key_env = "KEY"
max_tokens = 20000
thinking = 4000
top_p = 1
idle_timeout = "90s"
first_event_timeout = "3m"
prompt_cache = false
images = false
concurrency = 4
rate = 120
queue_timeout = "2h"
price = { input = 3, output = 15, cached = 0.3, written = 3.75 }
headers = { X-Team = "team-secret" }
headers_env = { X-Gateway = "GATEWAY" }
fallback = ["reasoner", "small"]

[[models]]
name = "reasoner"
provider = "openai"
api = "responses"
model = "r"
effort = "high"
base_url = "http://localhost:1/v1"

[[models]]
name = "small"
provider = "openai"
model = "s"
base_url = "http://localhost:2/v1"
temperature = 0.5
tool_choice = "exec"
response_schema = '{"type":"object"}'

[[agents]]
name = "main"
model = "big"
thinking = 8000
tool_choice = "auto"
)";
  const variables environment{{"KEY", "k"}, {"GATEWAY", "gateway-secret"}};
  const auto s = settings_of(text, environment);
  const auto& big = s.models[0];
  CHECK(big.answer.thinking_tokens == 4000);
  CHECK(big.idle_timeout == 90s);
  CHECK(big.first_event_timeout == 180s);
  CHECK_FALSE(big.prompt_cache);
  CHECK_FALSE(big.images);
  CHECK(big.documents);
  CHECK(big.concurrency == 4);
  CHECK(big.rate == 120);
  CHECK(big.queue_timeout == 2h);
  CHECK(s.models[2].queue_timeout == 24h);
  CHECK(big.prices == integrations::token_prices{3, 15, 0.3, 3.75});
  CHECK(big.headers == std::map<std::string, std::string>{{"X-Team", "team-secret"}, {"X-Gateway", "gateway-secret"}});
  CHECK(s.models[1].provider == integrations::provider::responses);
  const auto chosen = model_of(s, s.agents[0]);
  REQUIRE(chosen);
  CHECK(chosen->answer.thinking_tokens == 8000);
  REQUIRE(chosen->fallbacks.size() == 2);
  CHECK(chosen->fallbacks[0].answer.effort == "high");
  CHECK_FALSE(chosen->fallbacks[0].answer.thinks()); // not its provider's
  CHECK(chosen->fallbacks[1].answer.tool_choice == "auto");
  CHECK(what_cannot_be_reached(s).empty());
  CHECK(what_costs_nothing(s).empty()); // without max_cost no price is needed

  const auto printed = turn_settings_text(s);
  CHECK_FALSE(says(printed, "team-secret"));
  CHECK_FALSE(says(printed, "gateway-secret"));
  CHECK(says(printed, "X-Team"));
  const auto again = settings_of(printed, environment);
  CHECK(turn_settings_text(again).size() + std::string("# headers (values are not printed): X-Team\n").size() ==
        printed.size());
  CHECK(again.models[0].queue_timeout == 2h);
  CHECK(again.models[2].answer == s.models[2].answer);
  CHECK_FALSE(again.models[0].images);
  CHECK(again.agents[0].answer == s.agents[0].answer);
}

TEST_CASE("wrong settings of models say where and what to do") {
  const auto model = [](const std::string& more) {
    return refusal_of("[[models]]\nname = \"m\"\nprovider = \"openai\"\nmodel = \"x\"\nbase_url = \"http://h/v1\"\n" +
                      more);
  };
  CHECK(model("temperature = 2") == "(accepted)");
  CHECK(says(model("temperature = 3"), "temperature must be a number from 0 to 2"));
  CHECK(says(model("temprature = 1"), "the nearest known one is temperature"));
  CHECK(says(model("thinking = 5000"), "here use effort"));
  CHECK(says(model("thinking = \"much\""), "must be off, adaptive, or a number"));
  CHECK(says(model("effort = \"huge\""), "effort must be none, minimal"));
  CHECK(says(model("api = \"soap\""), "must be chat"));
  CHECK(says(model("prompt_cache = true"), "is for provider anthropic"));
  CHECK(model("rate = 1\nqueue_timeout = \"1h\"") == "(accepted)");
  CHECK(says(model("rate = 1\nqueue_timeout = \"0s\""), "queue_timeout must be at least 100ms"));
  CHECK(says(model("rate = 1\nqueue_timeout = \"soon\""), "queue_timeout must be a duration"));
  CHECK(says(model("queue_timeout = \"1h\""), "queue_timeout is for a model with concurrency or rate"));
  CHECK(says(model("fallback = [\"m\"]"), "names the model itself"));
  CHECK(says(model("fallback = [\"mm\"]"), "nearest known one is \"m\""));
  CHECK(says(model("concurrency = 0"), "whole number from 1"));
  CHECK(says(model("price = { inputs = 1 }"), "unknown key inputs"));
  CHECK(says(model("price = { input = -1 }"), "from 0"));
  CHECK(says(model("headers = { Authorization = \"x\" }"), "key_env"));
  CHECK(says(model("headers = { \"a b\" = \"x\" }"), "not the name of a header"));
  CHECK(says(model("headers = { X-A = \"a\\nB: c\" }"), "not one line"));
  CHECK(says(model("headers_env = { X-A = \"NOT_SET\" }"), "NOT_SET"));
  CHECK(says(model("response_format = \"xml\""), "must be text or json"));
  CHECK(says(model("response_schema = \"{\""), "not a JSON object"));
  // An agent's own settings must fit its model, and those that a message can ask for.
  CHECK(says(model("[[agents]]\nname = \"a\"\nmodel = \"m\"\ntemperature = 1.5\nresponse_schema = \"[]\""),
             "[[agents]] \"a\": model \"m\": response_schema"));
  CHECK(says(model("[[models]]\nname = \"s\"\nprovider = \"scripted\"\n[[agents]]\nname = \"a\"\nmodel = \"s\"\n"
                   "models = [\"m\"]\nresponse_schema = \"[]\""),
             "[[agents]] \"a\": model \"m\": response_schema"));
  CHECK(says(model("[[agents]]\nname = \"a\"\ncommand = [\"x\"]\ntemperature = 1"), "means nothing to an agent"));
}
