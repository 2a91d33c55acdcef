// The sections [irc] and [xmpp]: defaults, refused values, and that no secret is shown.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "protocol/id.hpp"
#include "quelld/chat/settings.hpp"

using namespace quell;
using namespace quell::controller::chat;

namespace {

const std::map<std::string, std::string> environment = {
    {"IRC_PASSWORD", "very-geheim"}, {"OPS_KEY", "key-geheim"}, {"XMPP_SECRET", "very-geheim"}};

result<chat_settings> read(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("quell-irc-" + operation_id::fresh().text());
  std::ofstream(path) << text;
  auto got = read_chat_settings(path.string(), environment);
  std::filesystem::remove(path);
  return got;
}

void refused(const std::string& text, const std::string& words) {
  const auto got = read(text);
  CAPTURE(text);
  REQUIRE_FALSE(got);
  CHECK(got.error().code == "invalid_field");
  CAPTURE(got.error().detail);
  CHECK(got.error().detail.find(words) != std::string::npos);
  CHECK(got.error().detail.find("geheim") == std::string::npos);
}

const std::string irc = "[irc]\nhost = \"irc.example\"\n";
const std::string xmpp = "[xmpp]\ndomain = \"bot.example\"\nsecret_env = \"XMPP_SECRET\"\n";

} // namespace

TEST_CASE("a section [irc] prints as it is read, without secrets", "[chat]") {
  const auto got = read(irc + "nick = \"clanky\"\nchannels = [\"#dev\", \"#ops\"]\nsasl_user = \"clanky\"\n"
                              "sasl_password_env = \"IRC_PASSWORD\"\nchannel_keys_env = { \"#ops\" = \"OPS_KEY\" }\n");
  REQUIRE(got);
  REQUIRE(got->connectors.size() == 1);
  CHECK(got->connectors[0].name == "irc");
  const auto& text = got->text;
  CHECK(text.find("geheim") == std::string::npos);
  for (const char* line : {"port = 6697", "tls = true", "network = \"irc.example\"", "pace = \"2s\"", "OPS_KEY",
                           "sasl_password_env = \"IRC_PASSWORD\""}) {
    CAPTURE(text, line);
    CHECK(text.find(line) != std::string::npos);
  }
  const auto again = read(text);
  REQUIRE(again);
  CHECK(again->text == text);
}

TEST_CASE("a section [xmpp] prints as it is read, without secrets", "[chat]") {
  const auto got =
      read(xmpp + "rooms = [\"dev@rooms.example\"]\nroom_passwords_env = { \"dev@rooms.example\" = \"OPS_KEY\" }\n");
  REQUIRE(got);
  REQUIRE(got->connectors.size() == 1);
  CHECK(got->connectors[0].name == "xmpp");
  CHECK(got->text.find("geheim") == std::string::npos);
  CHECK(got->text.find("port = 5347") != std::string::npos);
  const auto again = read(got->text);
  REQUIRE(again);
  CHECK(again->text == got->text);
}

TEST_CASE("settings of IRC that cannot work are refused with the way out", "[chat]") {
  refused("[irc]\nnick = \"clanky\"\n", "host");
  refused(irc + "nick = \"two words\"\n", "nick");
  refused(irc + "channels = [\"#a b\"]\n", "#a b");
  refused(irc + "sasl_user = \"clanky\"\n", "sasl_password");
  refused(irc + "sasl_external = true\n", "tls_cert");
  refused(irc + "tls_cert = \"/x\"\n", "tls_key");
  refused(irc + "channel_keys_env = { \"#ops\" = \"NOT_THERE\" }\n", "NOT_THERE");
  refused(irc + "port = 70000\n", "port");
  refused(irc + "chanels = [\"#a\"]\n", "channels");
  refused(irc + "password = \"very-geheim\"\n", "password");
}

TEST_CASE("settings of XMPP that cannot work are refused with the way out", "[chat]") {
  refused("[xmpp]\nsecret_env = \"XMPP_SECRET\"\n", "domain");
  refused("[xmpp]\ndomain = \"bot.example\"\n", "secret");
  refused(xmpp + "nick = \"Clanky\"\n", "nick");
  refused(xmpp + "host = \"xmpp.example\"\n", "plaintext");
  refused(xmpp + "rooms = [\"rooms.example\"]\n", "rooms.example");
  CHECK(read(xmpp + "host = \"xmpp.example\"\ntls = true\n"));
  CHECK(read(xmpp + "host = \"localhost\"\n"));
}
