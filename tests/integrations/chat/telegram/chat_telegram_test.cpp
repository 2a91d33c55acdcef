// Telegram: the meaning of its updates and answers, and the requests to it.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "integrations/chat/telegram/read.hpp"
#include "integrations/chat/telegram/write.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using nlohmann::json;

namespace {

const telegram::self me{42, "clanky_bot", "Clanky"};

json message_json(const std::string& text, json change = json::object(), const std::string& type = "group") {
  json m = {{"message_id", 7},
            {"from", {{"id", 5}, {"is_bot", false}, {"first_name", "Mia"}, {"last_name", "M."}}},
            {"chat", {{"id", -100}, {"type", type}}},
            {"text", text}};
  m.update(change);
  return {{"update_id", 10}, {"message", m}};
}

telegram::message read(const json& update) {
  const auto got = telegram::read_update(update.dump(), me);
  REQUIRE(got);
  REQUIRE(std::holds_alternative<telegram::message>(got->what));
  return std::get<telegram::message>(got->what);
}
bool is_nothing(const json& update) {
  const auto got = telegram::read_update(update.dump(), me);
  return got && std::holds_alternative<telegram::nothing>(got->what);
}

action post(const std::string& place = "telegram/-100/9") {
  action a;
  a.place = *scope_path::parse(place);
  a.text = "hello";
  return a;
}
telegram_settings settings() {
  telegram_settings s;
  s.token = "1:secret";
  s.base_url = "http://127.0.0.1:1";
  return s;
}
web_response answered(long status, const std::string& text) {
  web_response r;
  r.what = web_end::answered;
  r.status = status;
  r.body = text;
  return r;
}
outcome result_kind(const action& a, const web_response& r) {
  std::string error;
  return telegram::outcome_of(a, r, error).what;
}

} // namespace

TEST_CASE("a message of a person is read, with its chat, topic and author") {
  const auto m = read(message_json("hello", {{"is_topic_message", true}, {"message_thread_id", 9}}));
  CHECK(m.chat == "-100");
  CHECK(m.topic == "9");
  CHECK(m.id == "7");
  CHECK(m.user == "5");
  CHECK(m.user_name == "Mia M.");
  CHECK_FALSE(m.is_addressed);
  CHECK(read(message_json("hello", {{"message_thread_id", 9}})).topic.empty()); // a thread of replies is not a topic
}

TEST_CASE("an edit is the message as it is now, and no edit without its time") {
  auto edited = message_json("other words")["message"];
  CHECK(is_nothing({{"update_id", 11}, {"edited_message", edited}}));
  edited["edit_date"] = 1700000000;
  const auto u = telegram::read_update(json{{"update_id", 11}, {"edited_message", edited}}.dump(), me);
  REQUIRE(u);
  const auto& m = std::get<telegram::message>(u->what);
  CHECK(m.stamp == "1700000000");
  CHECK(m.text == "other words");
}

TEST_CASE("files, stickers and what was forwarded are described") {
  CHECK(read(message_json("see", {{"document",
                                   {{"file_name", "a\nb.pdf"}, {"mime_type", "application/pdf"}, {"file_size", 12}}}}))
            .attached == "[attached: a b.pdf (application/pdf, 12 bytes)]");
  CHECK(read(message_json("", {{"sticker", {{"emoji", "👍"}}}})).attached == "[sticker: 👍]");
  CHECK(read(message_json("", {{"photo", json::array({{{"file_id", "x"}}})}})).attached == "[photo]");
  CHECK(read(message_json("old", {{"forward_origin", {{"type", "hidden_user"}, {"sender_user_name", "Kim"}}}}))
            .attached == "[forwarded from Kim]");
  CHECK(read(message_json("plain")).attached.empty());
}

TEST_CASE("bots and messages without anything are not anybody's words") {
  CHECK(is_nothing(message_json("x", {{"from", {{"id", 6}, {"is_bot", true}}}})));
  CHECK(is_nothing(message_json("")));
  CHECK(is_nothing({{"update_id", 12}, {"channel_post", message_json("x")["message"]}}));
  CHECK_FALSE(telegram::read_update("{}", me));
  CHECK_FALSE(telegram::read_update("no", me));
}

TEST_CASE("the bot is meant in private, by a mention, by a reply to it and by a command") {
  CHECK(read(message_json("hello", json::object(), "private")).is_addressed);
  auto m = read(message_json("@Clanky_Bot, stop"));
  CHECK(m.is_addressed);
  CHECK(m.text == "stop");
  m = read(message_json("stop @clanky_bot"));
  CHECK(m.text == "stop");
  CHECK_FALSE(read(message_json("@clanky_botany stop")).is_addressed);
  CHECK(read(message_json("and?", {{"reply_to_message", {{"from", {{"id", 42}}}}}})).is_addressed);
}

TEST_CASE("/stop is the word stop, for us or for all, and not for another bot") {
  auto m = read(message_json("/stop"));
  CHECK(m.text == "stop");
  CHECK(m.command == "stop");
  CHECK(m.is_addressed);
  CHECK(read(message_json("/STOP@clanky_bot now")).text == "stop");
  CHECK(is_nothing(message_json("/stop@other_bot")));
  CHECK(read(message_json("/ask what is it")).text == "what is it");
  CHECK(read(message_json("/etc/passwd is a file")).command.empty());
}

TEST_CASE("a pressed button is read") {
  const json update = {{"update_id", 13},
                       {"callback_query",
                        {{"id", "q"},
                         {"from", {{"id", 5}, {"first_name", "Mia"}}},
                         {"message", {{"message_id", 8}, {"chat", {{"id", -100}}}}},
                         {"data", "stop:x"}}}};
  const auto got = telegram::read_update(update.dump(), me);
  REQUIRE(got);
  const auto& p = std::get<telegram::pressed>(got->what);
  CHECK(p.query == "q");
  CHECK(p.chat == "-100");
  CHECK(p.data == "stop:x");
}

TEST_CASE("requests go to the chat and its topic, and answer the message that they are about") {
  auto a = post();
  a.reply_to = "7";
  a.turn = operation_id::fresh();
  a.is_live = true;
  auto r = telegram::request_of(settings(), a);
  CHECK(r.url == "http://127.0.0.1:1/bot1:secret/sendMessage");
  auto sent = json::parse(r.body);
  CHECK(sent["chat_id"] == -100);
  CHECK(sent["message_thread_id"] == 9);
  CHECK(sent["reply_parameters"]["message_id"] == 7);
  CHECK(sent["reply_markup"]["inline_keyboard"][0][0]["callback_data"] == "stop:" + a.turn->text());
  CHECK(sent["reply_markup"]["inline_keyboard"][0][0]["callback_data"].get<std::string>().size() <= 64);
  a.what = action_kind::edit;
  a.message = "8";
  a.is_live = false;
  r = telegram::request_of(settings(), a);
  CHECK(r.url.ends_with("/editMessageText"));
  CHECK_FALSE(json::parse(r.body).contains("reply_markup"));
  a.what = action_kind::react;
  a.text = "🛑";
  sent = json::parse(telegram::request_of(settings(), a).body);
  CHECK(sent["reaction"][0]["emoji"] == "👌");
  CHECK(telegram::request_of(settings(), post("telegram/abc")).url.empty());
}

TEST_CASE("what Telegram's answers mean") {
  std::string error;
  CHECK(telegram::outcome_of(post(), answered(200, R"({"ok":true,"result":{"message_id":99}})"), error).message ==
        "99");
  const auto how = telegram::outcome_of(
      post(), answered(429, R"({"ok":false,"error_code":429,"description":"Too Many","parameters":{"retry_after":3}})"),
      error);
  CHECK(how.what == outcome::later);
  CHECK(how.wait == milliseconds{3000});
  CHECK(result_kind(post(), answered(400, R"({"ok":false,"description":"Bad Request: chat not found"})")) ==
        outcome::refused);
  CHECK(result_kind(post(), answered(400, R"({"ok":false,"description":"Bad Request: message is not modified: x"})")) ==
        outcome::sent);
  CHECK(result_kind(post(), answered(403, R"({"ok":false,"description":"Forbidden: bot was blocked"})")) ==
        outcome::refused);
  CHECK(result_kind(post(), answered(502, "<html>")) == outcome::unknown);
  CHECK(result_kind(post(), answered(503, "")) == outcome::not_sent);
}

TEST_CASE("a group is spoken to more slowly than a person") {
  const auto rules = telegram::rules_of(settings());
  CHECK(rules.pace_of(*scope_path::parse("telegram/5")).every == milliseconds{1050});
  CHECK(rules.pace_of(*scope_path::parse("telegram/-100/9")).every == milliseconds{3100});
  CHECK(rules.unit == length_unit::utf16);
  CHECK(rules.most_length == 4096);
}
