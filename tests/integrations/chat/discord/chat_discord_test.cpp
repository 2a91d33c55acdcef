// Discord's signatures, messages, interactions, requests and rate limits, as values.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "integrations/chat/discord/ed25519.hpp"
#include "integrations/chat/discord/interaction_verifier.hpp"
#include "integrations/chat/discord/rate_limits.hpp"
#include "integrations/chat/discord/read.hpp"
#include "integrations/chat/discord/web_address.hpp"
#include "integrations/chat/discord/write.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::discord;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

std::string hex(const char* digits) { return *from_hex(digits); }

json message(const json& more = {}) {
  json m = {{"id", "100"},
            {"channel_id", "7"},
            {"guild_id", "9"},
            {"type", 0},
            {"content", "hello"},
            {"author", {{"id", "5"}, {"username", "mia"}, {"global_name", "Mia"}}},
            {"mentions", json::array()}};
  if (more.is_object()) m.update(more);
  return m;
}

std::optional<incoming_message> read(const json& m) { return read_message(m.dump(), "42"); }

json used(const json& data, int type = 2) {
  return {{"id", "300"},
          {"type", type},
          {"application_id", "8"},
          {"token", "tok-en_1"},
          {"guild_id", "9"},
          {"channel_id", "7"},
          {"member", {{"nick", "M"}, {"user", {{"id", "5"}, {"username", "mia"}}}}},
          {"data", data}};
}

action post(const std::string& text) {
  action a;
  a.number = 3;
  a.place = *scope_path::parse("discord/9/7");
  a.text = text;
  return a;
}

} // namespace

TEST_CASE("Ed25519 holds for the vectors of RFC 8032 and for nothing near them", "[discord]") {
  struct vector {
    const char *key, *message, *signature;
  };
  for (const auto& v : {vector{"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                               "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e397"
                               "01cf9b46bd25bf5f0595bbe24655141438e7a100b"},
                        vector{"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                               "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f361"
                               "3d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
                        vector{"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                               "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f76"
                               "0984dc6594a7c15e9716ed28dc027beceea1ec40a"}}) {
    const auto key = hex(v.key), text = hex(v.message), signature = hex(v.signature);
    CHECK(is_ed25519_signed(key, text, signature));
    CHECK_FALSE(is_ed25519_signed(key, text + "x", signature));
    for (std::size_t i = 0; i < signature.size(); i += 7) {
      auto wrong = signature;
      wrong[i] = static_cast<char>(wrong[i] ^ 1);
      CHECK_FALSE(is_ed25519_signed(key, text, wrong));
    }
    CHECK_FALSE(is_ed25519_signed(key.substr(1), text, signature));
    CHECK_FALSE(is_ed25519_signed(key, text, signature.substr(1)));
    CHECK_FALSE(is_ed25519_signed(std::string(32, '\xff'), text, signature));
  }
  CHECK_FALSE(from_hex("abc"));
  CHECK_FALSE(from_hex("0g"));
  CHECK(from_hex("aBff")->size() == 2);
}

TEST_CASE("only what Discord signed just now, and after we opened, comes in", "[discord]") {
  // The first vector is an empty message: without timestamp and body it is not a call.
  const std::chrono::sys_seconds now{1'700'000'000s};
  interaction_verifier door(hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"), now - 1000s);
  web_call call;
  call.headers = {{"x-signature-ed25519", "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a3"
                                          "3bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
                  {"x-signature-timestamp", ""}};
  CHECK(door.refusal(call, now)->status == 401);
  call.headers.clear();
  CHECK(door.refusal(call, now)->status == 401);
  CHECK(door.is_first("1", now));
  CHECK_FALSE(door.is_first("1", now));
  CHECK(door.is_first("2", now));
}

TEST_CASE("a message is said in its channel, with the mention taken out", "[discord]") {
  const auto plain = read(message());
  REQUIRE(plain);
  CHECK(plain->scope.text() == "discord/9/7");
  CHECK(plain->id == "discord:100");
  CHECK(plain->author.id == "5");
  CHECK(plain->author.name == "Mia");
  CHECK(plain->addressed == false);
  CHECK_FALSE(plain->humans_present);
  const auto meant = read(message({{"content", " <@42>  stop <@!42>"}, {"mentions", {{{"id", "42"}}}}}));
  REQUIRE(meant);
  CHECK(meant->text == "stop");
  CHECK(meant->addressed == true);
  for (const auto* text : {"<@42>, stop!", "<@!42>: stop!", "<@42> , stop!"})
    CHECK(read(message({{"content", text}, {"mentions", {{{"id", "42"}}}}}))->text == "stop!");
  CHECK(read(message({{"mentions", {{{"id", "43"}}}}}))->addressed == false);
  CHECK(read(message({{"type", 19}, {"referenced_message", {{"author", {{"id", "42"}}}}}}))->addressed == true);
  CHECK(read(message({{"type", 19}, {"referenced_message", nullptr}}))->addressed == false);
  auto direct = message();
  direct.erase("guild_id");
  CHECK(read(direct)->scope.text() == "discord/dm/7");
  CHECK(read(direct)->addressed == true);
  CHECK(read(message({{"member", {{"nick", "Captain"}}}}))->author.name == "Captain");
  CHECK(channel_of(plain->scope) == "7");
}

TEST_CASE("bots, webhooks, the system, ourselves and nonsense say nothing", "[discord]") {
  CHECK_FALSE(read(message({{"author", {{"id", "5"}, {"bot", true}}}})));
  CHECK_FALSE(read(message({{"author", {{"id", "42"}}}})));
  CHECK_FALSE(read(message({{"webhook_id", "1"}})));
  CHECK_FALSE(read(message({{"type", 7}})));
  CHECK_FALSE(read(message({{"content", ""}})));
  CHECK_FALSE(read(message({{"content", "<@42>"}})));
  CHECK_FALSE(read(message({{"channel_id", "../7"}})));
  CHECK_FALSE(read(message({{"guild_id", "9/8"}})));
  CHECK_FALSE(read(message({{"id", 100}})));
  CHECK_FALSE(read(message({{"author", "5"}})));
  for (const auto* text : {"", "[]", "{", "null"}) CHECK_FALSE(read_message(text, "42"));
}

TEST_CASE("commands and buttons are what they are registered as", "[discord]") {
  const auto turn = operation_id::fresh();
  const auto ask =
      read_interaction(used({{"name", "ask"}, {"options", {{{"name", "text"}, {"value", " go "}}}}}).dump());
  REQUIRE(ask);
  CHECK((ask->what == interaction_kind::ask && ask->text == "go" && ask->by.name == "M" &&
         ask->scope->text() == "discord/9/7"));
  CHECK(read_interaction(used({{"name", "stop"}}).dump())->what == interaction_kind::stop);
  auto of_member = used({{"name", "stop"}});
  of_member["member"]["roles"] = {"76", "../7", 77, "78"};
  CHECK(read_interaction(of_member.dump())->by.roles == std::vector<std::string>{"76", "78"});
  of_member["roles"] = {"79"}; // what stands beside the member is not theirs
  of_member["member"].erase("roles");
  CHECK(read_interaction(of_member.dump())->by.roles.empty());
  const auto button = read_interaction(used({{"custom_id", "stop:" + turn.text()}}, 3).dump());
  CHECK((button->what == interaction_kind::stop_turn && button->target == turn));
  CHECK(read_interaction(used({{"custom_id", "approve:" + turn.text()}}, 3).dump())->what == interaction_kind::approve);
  CHECK(read_interaction(used({{"custom_id", "deny:" + turn.text()}}, 3).dump())->what == interaction_kind::deny);
  for (const auto* id : {"stop:", "stop:1", "other:x", "stop", ""})
    CHECK(read_interaction(used({{"custom_id", id}}, 3).dump())->what == interaction_kind::other);
  CHECK(read_interaction(used({{"name", "ask"}}).dump())->what == interaction_kind::other);
  CHECK(read_interaction(used({{"name", "stop"}, {"type", 2}}).dump())->what == interaction_kind::other);
  CHECK(read_interaction(R"({"type":1})")->what == interaction_kind::ping);
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, json>>{{"id", "x"}, {"channel_id", "a/b"}, {"token", "a/b"}, {"member", 3}}) {
    auto body = used({{"name", "stop"}});
    body[key] = value;
    CHECK_FALSE(read_interaction(body.dump()));
  }
  CHECK_FALSE(read_interaction("{"));
}

TEST_CASE("a reply is a message that mentions nobody and carries a Stop button while it goes on", "[discord]") {
  auto a = post("hello @everyone");
  a.reply_to = "discord:100";
  a.turn = operation_id::fresh();
  a.is_live = true;
  const auto r = request_of(a, "n.3");
  REQUIRE(r);
  CHECK(r->method == "POST");
  CHECK(r->path == "/channels/7/messages");
  const auto body = json::parse(r->body);
  CHECK(body["content"] == "hello @everyone");
  CHECK(body["allowed_mentions"]["parse"].empty());
  CHECK(body["message_reference"]["message_id"] == "100");
  CHECK((body["nonce"] == "n.3" && body["enforce_nonce"] == true));
  CHECK(body["components"][0]["components"][0]["custom_id"] == "stop:" + a.turn->text());
  a.what = action_kind::edit;
  a.message = "200";
  a.is_live = false;
  const auto edit = request_of(a, "n.4");
  CHECK((edit->method == "PATCH" && edit->path == "/channels/7/messages/200"));
  CHECK(json::parse(edit->body)["components"].empty());
  a.what = action_kind::react;
  a.text = "🛑";
  a.message = "discord:100";
  CHECK(request_of(a, "n.5")->path == "/channels/7/messages/100/reactions/%F0%9F%9B%91/@me");
  a.message = "discord:i300";
  CHECK_FALSE(request_of(a, "n.6")); // a command is not a message that could get a reaction
  auto question = post("may I?");
  question.asks = {operation_id::fresh(), "exec", "{}", true};
  CHECK(json::parse(request_of(question, "n")->body)["components"][0]["components"].size() == 2);
  auto elsewhere = post("x");
  elsewhere.place = *scope_path::parse("discord/9");
  CHECK_FALSE(request_of(elsewhere, "n"));
}

TEST_CASE("what a person asked is quoted within one message", "[discord]") {
  CHECK(quoted("Mia", "a\nb") == "**Mia**:\n> a\n> b");
  for (const auto& text : {std::string(5000, 'x'), std::string(5000, '\n'), [] {
                             std::string s;
                             for (int i = 0; i < 3000; ++i) s += "🛑";
                             return s;
                           }()}) {
    CHECK(length_of(quoted("Mia", text), length_unit::utf16) <= 2000);
  }
}

TEST_CASE("rate limits are learnt from headers and from 429", "[discord]") {
  rate_limits limits;
  const boot_time now{5'000'000'000};
  CHECK(limits.wait("POST 7", now) == 0ms);
  limits.answered("POST 7", 200, {{"x-ratelimit-remaining", "1"}, {"x-ratelimit-reset-after", "1.5"}}, "", now);
  CHECK(limits.wait("POST 7", now) == 0ms);
  limits.answered("POST 7", 200, {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset-after", "1.5"}}, "", now);
  CHECK(limits.wait("POST 7", now) == 1500ms);
  CHECK(limits.wait("POST 8", now) == 0ms);
  CHECK(limits.wait("POST 7", now + 1500ms) == 0ms);
  const auto own =
      limits.answered("PATCH 7", 429, {{"retry-after", "1"}}, R"({"retry_after":0.25,"global":false})", now);
  CHECK((own.wait == 250ms && !own.is_for_everything));
  CHECK(limits.wait("PATCH 7", now) == 250ms);
  CHECK_FALSE(limits.is_shut(now));
  const auto all =
      limits.answered("PATCH 7", 429, {{"retry-after", "3"}, {"x-ratelimit-global", "true"}}, "<html>", now);
  CHECK((all.wait == 3000ms && all.is_for_everything));
  CHECK(limits.is_shut(now));
  CHECK(limits.wait("POST 8", now) == 3000ms);
  limits.answered("POST 9", 429, {}, R"({"retry_after":0.25,"global":true})", now); // was under way with that one
  CHECK(limits.wait("POST 8", now) == 3000ms);
  CHECK(limits.answered("x", 429, {}, R"({"retry_after":1e99})", now).wait <= 1h);
  CHECK(limits.answered("x", 429, {{"retry-after", "nan"}}, "", now).wait > 0ms);
}

TEST_CASE("addresses of websockets are taken apart", "[discord]") {
  const auto a = websocket_address("wss://gateway.discord.gg/?v=10");
  CHECK((a->tls && a->host == "gateway.discord.gg" && a->port == "443" && a->target == "/?v=10"));
  const auto b = websocket_address("ws://[::1]:8080");
  CHECK((!b->tls && b->host == "::1" && b->port == "8080" && b->target == "/"));
  CHECK(websocket_address("ws://h?x")->target == "/?x");
  for (const auto* url :
       {"https://x", "wss://", "wss://a b", "wss://u@h", "wss://h:x", "wss://h:123456", "wss://h/\r\nX: y"})
    CHECK_FALSE(websocket_address(url));
}

TEST_CASE("an edit that comes with a part of its message does not say whom it is for", "[discord]") {
  CHECK(tells_addressee(message().dump()));
  CHECK_FALSE(tells_addressee(R"({"id":"100","content":"hello"})"));
  const json reply = {{"message_reference", {{"message_id", "99"}}}, {"type", 19}};
  CHECK_FALSE(tells_addressee(message(reply).dump()));
  json whole = reply;
  whole["referenced_message"] = {{"id", "99"}, {"author", {{"id", "6"}}}};
  CHECK(tells_addressee(message(whole).dump()));
}
