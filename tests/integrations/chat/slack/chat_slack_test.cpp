// Slack: signatures, the meaning of its requests and answers, and the requests to it.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "integrations/chat/slack/found_post.hpp"
#include "integrations/chat/slack/read.hpp"
#include "integrations/chat/slack/signature.hpp"
#include "integrations/chat/slack/write.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using nlohmann::json;

namespace {

// The example of Slack's own page "Verifying requests from Slack".
const std::string secret = "8f742231b10e8888abcd99yyyzzz85a5";
const std::string stamp = "1531420618";
const std::string body =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name="
    "foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks."
    "slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
    "803a0bc887a14d10d2c447fce8b6703c";
const std::string signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";

json message_event(json change = json::object()) {
  json e = {{"type", "message"}, {"channel", "C1"}, {"user", "U1"}, {"text", "hello"}, {"ts", "1700.000100"}};
  e.update(change);
  return {{"type", "event_callback"}, {"team_id", "T1"}, {"event", e}, {"event_id", "Ev1"}};
}

slack::message read(const json& whole, const std::string& bot = "UBOT") {
  const auto got = slack::read_event(whole.dump(), bot);
  REQUIRE(got);
  REQUIRE(std::holds_alternative<slack::message>(*got));
  return std::get<slack::message>(*got);
}
bool is_nothing(const json& whole) {
  const auto got = slack::read_event(whole.dump(), "UBOT");
  return got && std::holds_alternative<slack::nothing>(*got);
}

action post(const std::string& text) {
  action a;
  a.place = *scope_path::parse("slack/T1/C1/1700.000100");
  a.text = text;
  return a;
}
slack_settings settings() {
  slack_settings s;
  s.bot_token = "xoxb-1";
  s.base_url = "http://127.0.0.1:1/api";
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
  return slack::outcome_of(a, r, error).what;
}

} // namespace

TEST_CASE("Slack's published example of a signature is accepted, and nothing that differs in one byte") {
  CHECK(slack_signature(secret, stamp, body) == signature);
  CHECK(check_slack(secret, signature, stamp, body, 1531420618) == slack_check::good);
  CHECK(check_slack(secret, signature, stamp, body + " ", 1531420618) == slack_check::wrong);
  CHECK(check_slack(secret, signature, "1531420619", body, 1531420618) == slack_check::wrong);
  CHECK(check_slack(secret + "x", signature, stamp, body, 1531420618) == slack_check::wrong);
  CHECK(check_slack("", slack_signature("", stamp, body), stamp, body, 1531420618) == slack_check::wrong);
  auto bent = signature;
  bent.back() = bent.back() == '3' ? '4' : '3';
  CHECK(check_slack(secret, bent, stamp, body, 1531420618) == slack_check::wrong);
  CHECK(check_slack(secret, "", stamp, body, 1531420618) == slack_check::wrong);
}

TEST_CASE("a signature is good for five minutes, in both directions") {
  CHECK(check_slack(secret, signature, stamp, body, 1531420618 + 300) == slack_check::good);
  CHECK(check_slack(secret, signature, stamp, body, 1531420618 + 301) == slack_check::stale);
  CHECK(check_slack(secret, signature, stamp, body, 1531420618 - 300) == slack_check::good);
  CHECK(check_slack(secret, signature, stamp, body, 1531420618 - 301) == slack_check::stale);
  for (const std::string odd : {"", "-1", "1e9", "99999999999999999999", " 1531420618"})
    CHECK(check_slack(secret, slack_signature(secret, odd, body), odd, body, 1531420618) == slack_check::wrong);
}

TEST_CASE("messages of people are read; those of bots, edits and notices are not") {
  const auto m = read(message_event());
  CHECK(m.team == "T1");
  CHECK(m.channel == "C1");
  CHECK(m.ts == "1700.000100");
  CHECK(m.text == "hello");
  CHECK_FALSE(m.is_addressed);
  CHECK(is_nothing(message_event({{"bot_id", "B1"}})));
  CHECK(is_nothing(message_event({{"user", "UBOT"}})));
  CHECK(is_nothing(message_event({{"subtype", "message_changed"}})));
  CHECK(is_nothing(message_event({{"subtype", "message_deleted"}})));
  CHECK(is_nothing(message_event({{"subtype", "channel_join"}})));
  CHECK(is_nothing(message_event({{"type", "reaction_added"}})));
  CHECK(is_nothing({{"type", "app_rate_limited"}}));
  CHECK_FALSE(slack::read_event("[]", "UBOT"));
  CHECK_FALSE(slack::read_event(message_event({{"channel", 3}}).dump(), "UBOT"));
}

TEST_CASE("who is meant: a mention, or a direct message; the mention itself is not a part of what was said") {
  auto m = read(message_event({{"text", "<@UBOT> stop"}}));
  CHECK(m.is_addressed);
  CHECK(m.text == "stop");
  m = read(message_event({{"text", "stop"}, {"channel_type", "im"}, {"channel", "D1"}}));
  CHECK(m.is_direct);
  CHECK(m.is_addressed);
  m = read(message_event({{"text", "<@U2> stop"}}));
  CHECK_FALSE(m.is_addressed);
  CHECK(m.text == "@U2 stop");
  auto whole = message_event({{"text", "<@UOTHERBOT> hi"}});
  whole["authorizations"] = json::array({{{"user_id", "UOTHERBOT"}, {"is_bot", true}}});
  CHECK(read(whole).is_addressed);
}

TEST_CASE("text is read as people see it") {
  bool mentions = false;
  CHECK(slack::readable("a &lt;b&gt; &amp;amp; c", "", mentions) == "a <b> &amp; c");
  CHECK(slack::readable("<https://x.test|here> <#C1|build> <!here> <https://y.test>", "", mentions) ==
        "here (https://x.test) #build @here https://y.test");
  CHECK(slack::readable("5 < 6", "", mentions) == "5 < 6");
  CHECK(slack::readable(":octagonal_sign: now", "", mentions) == "\U0001F6D1 now");
  CHECK_FALSE(mentions);
  for (const auto* text : {"<@U1>, stop!", "<@U1>: stop!", " <@U1> , stop!", "<@U1> stop!", "stop! <@U1>"}) {
    bool ours = false;
    CHECK(slack::readable(text, "U1", ours) == "stop!");
    CHECK(ours);
  }
  CHECK(slack::readable("look <@U1>, stop!", "U1", mentions) == "look , stop!");
}

TEST_CASE("a handshake, a command and a button are read") {
  const auto url_challenge = slack::read_event(R"({"type":"url_verification","challenge":"abc"})", "");
  REQUIRE(url_challenge);
  CHECK(std::get<slack::challenge>(*url_challenge).text == "abc");
  const auto c =
      slack::read_command("team_id=T1&channel_id=C1&command=%2Fstop&text=wrong+branch&user_id=U1&user_name=mia");
  REQUIRE(c);
  CHECK(c->name == "/stop");
  CHECK(c->text == "wrong branch");
  CHECK_FALSE(slack::read_command("team_id=T1"));
  const json payload = {{"type", "block_actions"},
                        {"user", {{"id", "U1"}, {"username", "mia"}}},
                        {"team", {{"id", "T1"}}},
                        {"channel", {{"id", "C1"}}},
                        {"message", {{"ts", "2"}, {"thread_ts", "1"}}},
                        {"actions", json::array({{{"action_id", "quell_stop"}, {"value", "x"}}})}};
  const auto p = slack::read_action("payload=" + form_encoded(payload.dump()));
  REQUIRE(p);
  CHECK(p->kind == "quell_stop");
  CHECK(p->thread == "1");
  CHECK_FALSE(slack::read_action("payload=%7B"));
}

TEST_CASE("posts go into the thread, escaped; a live reply carries a Stop button, a finished one none") {
  auto a = post("1 < 2 & <!channel>");
  a.key = 7;
  auto r = slack::request_of(settings(), a, "n");
  CHECK(r.url == "http://127.0.0.1:1/api/chat.postMessage");
  auto sent = json::parse(r.body);
  CHECK(sent["channel"] == "C1");
  CHECK(sent["thread_ts"] == "1700.000100");
  CHECK(sent["text"] == "1 &lt; 2 &amp; &lt;!channel&gt;");
  CHECK(sent["metadata"]["event_payload"]["key"] == "n.7");
  a.turn = operation_id::fresh();
  a.is_live = true;
  sent = json::parse(slack::request_of(settings(), a, "n").body);
  CHECK(sent["blocks"][1]["elements"][0]["value"] == a.turn->text());
  a.what = action_kind::edit;
  a.message = "1800.1";
  a.is_live = false;
  r = slack::request_of(settings(), a, "n");
  CHECK(r.url.ends_with("/chat.update"));
  sent = json::parse(r.body);
  CHECK(sent["ts"] == "1800.1");
  CHECK(sent["blocks"].empty());
}

TEST_CASE("a stop sign is Slack's octagonal_sign; what Slack has no name for is not asked for") {
  auto a = post("🛑");
  a.what = action_kind::react;
  a.message = "1800.1";
  CHECK(json::parse(slack::request_of(settings(), a, "n").body)["name"] == "octagonal_sign");
  a.text = "🦩";
  CHECK(slack::request_of(settings(), a, "n").url.empty());
}

TEST_CASE("what Slack's answers mean") {
  std::string error;
  auto r = answered(200, R"({"ok":true,"ts":"1900.5"})");
  CHECK(slack::outcome_of(post("x"), r, error).message == "1900.5");
  CHECK(result_kind(post("x"), answered(200, R"({"ok":false,"error":"channel_not_found"})")) == outcome::refused);
  CHECK(result_kind(post("x"), answered(200, R"({"ok":false,"error":"already_reacted"})")) == outcome::sent);
  CHECK(result_kind(post("x"), answered(200, R"({"ok":false,"error":"invalid_auth"})")) == outcome::not_sent);
  CHECK(result_kind(post("x"), answered(200, "nonsense")) == outcome::unknown);
  CHECK(result_kind(post("x"), answered(503, "")) == outcome::not_sent);
  CHECK(result_kind(post("x"), answered(502, "")) == outcome::unknown);
  r = answered(429, "");
  r.headers["retry-after"] = "7";
  const auto how = slack::outcome_of(post("x"), r, error);
  CHECK(how.what == outcome::later);
  CHECK(how.wait == milliseconds{7000});
  r = {};
  CHECK(result_kind(post("x"), r) == outcome::unknown);
  r.what = web_end::not_sent;
  CHECK(result_kind(post("x"), r) == outcome::not_sent);
}

TEST_CASE("a post of which nobody knows whether it arrived is found by its key, absent, or cannot be known") {
  auto a = post("x");
  a.what = action_kind::find;
  a.key = 7;
  const auto r = slack::request_of(settings(), a, "n");
  CHECK(r.url.ends_with("/conversations.replies"));
  CHECK(r.body.find("ts=1700.000100") != std::string::npos);
  CHECK(r.body.find("include_all_metadata=true") != std::string::npos);
  const auto where = slack::destination_of(a.place);
  const auto own = [](const std::string& key) {
    json m = {{"type", "message"}, {"user", "UBOT"}, {"bot_id", "B1"}, {"ts", "1800.7"}, {"text", "x"}};
    if (!key.empty()) m["metadata"] = slack::mark_of_post(key);
    return m;
  };
  const json of_somebody = {{"type", "message"}, {"user", "U1"}, {"ts", "1800.1"}, {"text", "x"}};
  const auto found = [&](const std::vector<json>& all, const std::string& cursor = "") {
    const json body = {{"ok", true}, {"messages", all}, {"response_metadata", {{"next_cursor", cursor}}}};
    return slack::found_post(answered(200, body.dump()), where, "n.7", "UBOT");
  };
  CHECK(found({of_somebody, own("n.6"), own("n.7")}).what == outcome::sent);
  CHECK(found({of_somebody, own("n.6"), own("n.7")}).message == "1800.7");
  CHECK(found({of_somebody, own("n.6")}).what == outcome::absent);
  CHECK(found({}).what == outcome::absent);
  CHECK(found({own("n.6"), own("")}).what == outcome::refused);             // this app is not shown metadata
  CHECK(found({of_somebody, own("n.6")}, "more").what == outcome::refused); // it could be on the next page
  const auto failed = [&](unsigned status, const std::string& error) {
    return slack::found_post(answered(status, R"({"ok":false,"error":")" + error + R"("})"), where, "n.7", "UBOT").what;
  };
  CHECK(failed(200, "missing_scope") == outcome::refused);
  CHECK(failed(200, "ratelimited") == outcome::later);
  CHECK(failed(200, "internal_error") == outcome::not_sent);
  CHECK(failed(502, "") == outcome::not_sent);
  CHECK(slack::found_post(answered(200, "nonsense"), where, "n.7", "UBOT").what == outcome::refused);
}
