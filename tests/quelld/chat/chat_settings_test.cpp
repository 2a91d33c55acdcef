// The sections of chat services: required fields, refused values, and that no secret is ever shown.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "protocol/id.hpp"
#include "quelld/chat/connectors.hpp"
#include "quelld/chat/settings.hpp"

using namespace quell;
using namespace quell::controller::chat;

namespace {

const std::map<std::string, std::string> environment = {{"TOKEN", "  xoxb-very-secret\n"}, {"SIGNING", "sign-secret"}};

struct written {
  std::string path = (std::filesystem::temp_directory_path() / ("quell-chat-" + operation_id::fresh().text())).string();
  explicit written(const std::string& text) { std::ofstream(path) << text; }
  ~written() { std::filesystem::remove(path); }
};

result<chat_settings> read(const std::string& text) {
  const written file(text);
  return read_chat_settings(file.path, environment);
}

std::string refusal_of(const std::string& text) {
  const auto got = read(text);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == "invalid_field");
  CHECK(got.error().detail.find("secret\n") == std::string::npos);
  CHECK(got.error().detail.find("very-secret") == std::string::npos);
  return got.error().detail;
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

const std::string slack = "[slack]\nbot_token_env = \"TOKEN\"\nsigning_secret_env = \"SIGNING\"\n";

records::event_record event(std::uint64_t id, const std::string& scope = "slack/a") {
  records::event_record e;
  e.id = id;
  e.type = event_type::text_delta;
  e.scope = *scope_path::parse(scope);
  return e;
}

} // namespace

TEST_CASE("no file and a file without chat sections connect nothing", "[chat]") {
  CHECK(read_chat_settings("", environment)->connectors.empty());
  CHECK(read("[http]\nlisten = \"127.0.0.1:0\"\n")->connectors.empty());
}

TEST_CASE("a section with its secrets makes a connector, and prints as it reads, without them", "[chat]") {
  const auto got = read(slack + "base_url = \"https://proxy.test/api/\"\n[telegram]\ntoken_env = \"TOKEN\"\n");
  REQUIRE(got);
  REQUIRE(got->connectors.size() == 2);
  CHECK(got->connectors[0].name == "slack");
  CHECK(got->connectors[1].name == "telegram");
  CHECK(says(got->text, "[slack]"));
  CHECK(says(got->text, "base_url = \"https://proxy.test/api\""));
  CHECK_FALSE(says(got->text, "secret\""));
  CHECK_FALSE(says(got->text, "xoxb"));
  const auto again = read(got->text);
  REQUIRE(again);
  CHECK(again->text == got->text);
}

TEST_CASE("the addresses of files are a list, and an empty one is kept", "[chat]") {
  const auto plain = read(slack);
  REQUIRE(plain);
  CHECK(says(plain->text, "file_urls = [\"https://files.slack.com\"]"));
  const auto none = read(slack + "file_urls = []\n");
  REQUIRE(none);
  CHECK(says(none->text, "file_urls = []"));
  const auto own = read(slack + "file_urls = [\"https://files.test/\"]\n");
  REQUIRE(own);
  CHECK(says(own->text, "file_urls = [\"https://files.test\"]"));
  CHECK(says(refusal_of(slack + "file_urls = [\"files.test\"]\n"), "each must begin with http"));
}

TEST_CASE("a secret is named, once, and must be there", "[chat]") {
  CHECK(says(refusal_of("[slack]\nbot_token = \"xoxb-very-secret\"\nsigning_secret_env = \"SIGNING\"\n"),
             "bot_token_env"));
  CHECK(says(refusal_of("[slack]\nbot_token_env = \"NOT_THERE\"\nsigning_secret_env = \"SIGNING\"\n"), "NOT_THERE"));
  CHECK(says(refusal_of(slack + "bot_token_file = \"/x\"\n"), "one of the two"));
  CHECK(says(refusal_of("[slack]\nbot_token_file = \"/nowhere/at/all\"\nsigning_secret_env = \"SIGNING\"\n"),
             "cannot be read"));
  const written token("  xoxb-from-file \n");
  const auto got = read_chat_settings("", environment);
  REQUIRE(got);
  CHECK(
      says(refusal_of("[telegram]\ntoken_env = \"TOKEN\"\nwebhook_url = \"https://x.test\"\n"), "webhook_secret_env"));
}

TEST_CASE("unknown keys, wrong kinds and wrong brackets are refused with the nearest known thing", "[chat]") {
  CHECK(says(refusal_of(slack + "edit_evry = \"1s\"\n"), "edit_every"));
  CHECK(says(refusal_of(slack + "buttons = \"yes\"\n"), "true or false"));
  CHECK(says(refusal_of(slack + "base_url = \"ftp://x\"\n"), "http"));
  CHECK(says(refusal_of(slack + "commands = [\"stop\"]\n"), "/stop"));
  CHECK(says(refusal_of("[[slack]]\nbot_token_env = \"TOKEN\"\n"), "[slack]"));
  CHECK(says(refusal_of("[telegram]\ntoken_env = \"TOKEN\"\npoll = \"2m\"\n"), "50s"));
}

TEST_CASE("what edits and deletions do is configured where the service tells of them", "[chat]") {
  const auto got = read(slack + "on_delete = \"ignore\"\non_edit = \"stop\"\n");
  REQUIRE(got);
  CHECK(says(got->text, "on_delete = \"ignore\""));
  CHECK(says(got->text, "on_edit = \"stop\""));
  CHECK(says(read(slack)->text, "on_edit = \"ask\""));
  CHECK(says(refusal_of(slack + "on_edit = \"later\"\n"), R"(must be one of "ask", "stop", "ignore")"));
  CHECK(says(refusal_of("[telegram]\ntoken_env = \"TOKEN\"\non_delete = \"stop\"\n"), "on_delete"));
}

TEST_CASE("events wait for connectors that start later, and nothing is told after the end", "[chat]") {
  event_tap tap;
  std::vector<std::uint64_t> received;
  for (std::uint64_t id = 1; id <= 5000; ++id) tap.on_event(event(id));
  tap.open([&](const records::event_record& e) { received.push_back(e.id); });
  REQUIRE(received.size() == 4096);
  CHECK(received.front() == 905);
  tap.on_event(event(5001));
  CHECK(received.back() == 5001);
  tap.close();
  tap.on_event(event(5002));
  CHECK(received.back() == 5001);
}
