// Standard Webhooks: signatures, the body of an incoming message, and the connector that accepts it.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "integrations/chat/webhook/connector.hpp"
#include "integrations/chat/webhook/message.hpp"
#include "integrations/chat/webhook/post.hpp"
#include "integrations/chat/webhook/signature.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using nlohmann::json;

namespace {

const std::string secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

scope_path scope(const char* text) { return *scope_path::parse(text); }

std::string now_text() {
  return std::to_string(
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()).time_since_epoch().count());
}

/// Accepts each message and decides that it is a turn.
struct listening_host final : host {
  std::vector<incoming_message> received_messages;
  std::optional<fault> refuses;
  void say(incoming_message message, std::function<void(result<decision>)> done) override {
    received_messages.push_back(message);
    if (refuses) return done(tl::unexpected(*refuses));
    decision d;
    d.what = decided::turn;
    d.json = R"({"decision":"turn"})";
    done(d);
  }
  void stop(stop_order, std::function<void(result<stop_answer>)>) override { FAIL("nobody stops here"); }
  void stop_once(signed_stop, std::function<void(result<stop_answer>)>) override { FAIL("nobody stops here"); }
  void look(std::vector<operation_id>, std::function<void(std::vector<std::optional<status>>)>) override {
    FAIL("nobody asked");
  }
  void approve(approval_order, std::function<void(result<void>)>) override { FAIL("nobody approves here"); }
  void find(std::vector<scope_path>, std::string, std::function<void(result<std::optional<known_message>>)>) override {
    FAIL("nobody edits here");
  }
  void events_after(std::string, std::uint64_t, std::function<void(result<event_page>)>) override {
    FAIL("nothing is shown here");
  }
};

struct world {
  listening_host at;
  std::unique_ptr<connector> door;
  std::string key = *webhook_key(secret);
  world() {
    std::vector<incoming_webhook> from;
    from.push_back({"pager", scope("webhook/pager"), std::nullopt, key});
    door = start_incoming(std::move(from), at);
  }
  web_answer post(const std::string& body, const std::string& id = "msg_1", std::string at = now_text(),
                  std::string signature = {}, const std::string& path = "pager", const std::string& method = "POST") {
    if (signature.empty()) signature = webhook_signature(key, id, at, body);
    web_answer got;
    bool came = false;
    door->called(
        {method, path, "", {{"webhook-id", id}, {"webhook-timestamp", at}, {"webhook-signature", signature}}, body},
        [&](web_answer a) { got = std::move(a), came = true; });
    REQUIRE(came);
    return got;
  }
};

std::string refusal(const web_answer& got) { return got.refused ? got.refused->code : "none"; }

const std::string hello = R"({"text":"hello","author":{"id":"u1"}})";

} // namespace

TEST_CASE("the signature is that of the published example of Standard Webhooks", "[webhook]") {
  const auto key = webhook_key(secret);
  REQUIRE(key);
  const std::string body = R"({"test": 2432232314})", id = "msg_p5jXN8AQM9LWM0D4loKWxJek", at = "1614265330";
  const std::string signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  CHECK(webhook_signature(*key, id, at, body) == signature);
  CHECK(is_signed(*key, id, at, body, signature));
  CHECK(is_signed(*key, id, at, body, "v1,AAAA v1a,bbbb " + signature));
  CHECK_FALSE(is_signed(*key, id, at, body, ""));
  CHECK_FALSE(is_signed(*key, id, at, body, "v2" + signature.substr(2)));
  CHECK_FALSE(is_signed(*key, id, at, body + " ", signature));
  CHECK_FALSE(is_signed(*key, id + "x", at, body, signature));
  CHECK_FALSE(is_signed(*key, id, "1614265331", body, signature));
}

TEST_CASE("a secret is whsec_ and base64 of enough bytes, and a fault never holds it", "[webhook]") {
  CHECK(webhook_key(secret)->size() == 24);
  for (const auto* text : {"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=",
                           "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_MfKQ9r8GKYqrTwjU!D8ILPZIo2LaLaSw"}) {
    const auto key = webhook_key(text);
    INFO(text);
    REQUIRE_FALSE(key);
    CHECK(key.error().code == "invalid_field");
    CHECK(key.error().detail.find("MfKQ") == std::string::npos);
  }
}

TEST_CASE("a time is recent within five minutes in both directions", "[webhook]") {
  const std::chrono::sys_seconds now{std::chrono::seconds{1'000'000}};
  CHECK(is_recent("1000000", now));
  CHECK(is_recent("999700", now));
  CHECK(is_recent("1000300", now));
  CHECK_FALSE(is_recent("999699", now));
  CHECK_FALSE(is_recent("1000301", now));
  for (const auto* text : {"", "-1", "1e6", "1000000 ", "99999999999999999999"}) CHECK_FALSE(is_recent(text, now));
}

TEST_CASE("a delivery that goes out carries the id, the time and the signature", "[webhook]") {
  outgoing_webhook to;
  to.url = "https://example.test/hook";
  to.key = *webhook_key(secret);
  const auto r = signed_post(to, "88121", std::chrono::sys_seconds{std::chrono::seconds{1614265330}}, "{}");
  CHECK(r.method == "POST");
  CHECK(r.body == "{}");
  const auto has = [&](const std::string& line) {
    return std::find(r.headers.begin(), r.headers.end(), line) != r.headers.end();
  };
  CHECK(has("webhook-id: 88121"));
  CHECK(has("webhook-timestamp: 1614265330"));
  CHECK(has("webhook-signature: " + webhook_signature(to.key, "88121", "1614265330", "{}")));
}

TEST_CASE("what is signed well is said in the sender's scope and answered with the decision", "[webhook]") {
  world w;
  const auto answer = w.post(hello);
  CHECK(answer.status == 202);
  CHECK(answer.body == R"({"decision":"turn"})");
  REQUIRE(w.at.received_messages.size() == 1);
  CHECK(w.at.received_messages[0].scope.text() == "webhook/pager");
  CHECK(w.at.received_messages[0].id == "msg_1");
  CHECK(w.at.received_messages[0].text == "hello");
}

TEST_CASE("wrong signatures, old times and strangers are refused before anything is said", "[webhook]") {
  world w;
  CHECK(refusal(w.post(hello, "msg_1", now_text(), "v1,AAAA")) == "unauthenticated");
  CHECK(refusal(w.post(hello, "", now_text())) == "unauthenticated");
  CHECK(refusal(w.post(hello, std::string(129, 'x'))) == "unauthenticated");
  CHECK(refusal(w.post(hello, "msg_1", "1614265330")) == "unauthenticated");
  CHECK(refusal(w.post(hello, "msg_1", now_text(), {}, "nobody")) == "not_found");
  CHECK(refusal(w.post(hello, "msg_1", now_text(), {}, "pager/../pager")) == "not_found");
  CHECK(refusal(w.post(hello, "msg_1", now_text(), {}, "pager", "GET")) == "method_not_allowed");
  const auto stranger = webhook_signature(std::string(24, 'k'), "msg_1", now_text(), hello);
  CHECK(refusal(w.post(hello, "msg_1", now_text(), stranger)) == "unauthenticated");
  CHECK(w.at.received_messages.empty());
}

TEST_CASE("a delivery that comes twice says the same message, one that lies is refused", "[webhook]") {
  world w;
  CHECK(w.post(hello, "msg_1").status == 202);
  CHECK(w.post(hello, "msg_1").status == 202);
  REQUIRE(w.at.received_messages.size() == 2);
  CHECK(w.at.received_messages[0].id == w.at.received_messages[1].id); // the host ignores the second one
  CHECK(refusal(w.post(R"({"text":"other","author":{"id":"u1"}})", "msg_1")) == "id_conflict");
  CHECK(w.at.received_messages.size() == 2);
}

TEST_CASE("faults of the host are passed on", "[webhook]") {
  world w;
  w.at.refuses = fault{"too_many_operations", "full", {}};
  CHECK(refusal(w.post(hello)) == "too_many_operations");
}

TEST_CASE("an incoming message is read as the HTTP API reads it", "[webhook]") {
  const auto base = scope("webhook/pager");
  const auto read = [&](const json& body) { return read_incoming(body.dump(), base, "msg_1"); };
  const json author = {{"id", "u1"}, {"name", "Mia"}};
  const auto all = read({{"id", "m-7"},
                         {"scope", "webhook/pager/team"},
                         {"text", "stop"},
                         {"author", author},
                         {"modality", "voice"},
                         {"final", false},
                         {"confidence", 0.5},
                         {"addressed", true},
                         {"humans_present", 2},
                         {"bot_names", {"clanky"}},
                         {"on_disconnect", "cancel"},
                         {"coalesce_ms", 0}});
  REQUIRE(all);
  CHECK(all->id == "m-7");
  CHECK(all->scope.text() == "webhook/pager/team");
  CHECK(all->author.name == "Mia");
  CHECK((all->is_voice && !all->is_final && *all->addressed && *all->humans_present == 2 && *all->confidence == 0.5));
  CHECK(all->bot_names == std::vector<std::string>{"clanky"});
  CHECK_FALSE(all->agent);
  const auto code = [&](const json& body) {
    const auto r = read(body);
    return r ? std::string("none") : r.error().code + r.error().pointer;
  };
  CHECK(code({{"text", "x"}, {"author", author}, {"scope", nullptr}}) == "none");
  CHECK(code({{"text", "x"}, {"author", author}, {"scope", "webhook/pagers"}}) == "scope_forbidden/scope");
  CHECK(code({{"text", "x"}, {"author", author}, {"scope", "webhook"}}) == "scope_forbidden/scope");
  CHECK(code({{"text", "x"}, {"author", author}, {"scope", "webhook/pager/../other"}}) == "bad_scope/scope");
  CHECK(code({{"text", "x"}, {"author", author}, {"scope", "webhook/pager/%2e%2e"}}) == "bad_scope/scope");
  CHECK(code({{"text", "x"}, {"author", author}, {"more", 1}}) == "unknown_field/more");
  CHECK(code({{"text", "x"}, {"author", author}, {"agent", "main"}}) == "unknown_field/agent");
  CHECK(code({{"text", "x"}, {"author", {{"id", "u"}, {"email", "e"}}}}) == "unknown_field/author/email");
  CHECK(code({{"text", "x"}, {"author", {{"id", ""}}}}) == "invalid_field/author/id");
  CHECK(code({{"text", "x"}}) == "invalid_field/author");
  CHECK(code({{"author", author}}) == "invalid_field/text");
  CHECK(code({{"text", std::string(65537, 'x')}, {"author", author}}) == "invalid_field/text");
  CHECK(code({{"text", "x"}, {"author", author}, {"confidence", 2}}) == "invalid_field/confidence");
  CHECK(code({{"text", "x"}, {"author", author}, {"humans_present", -1}}) == "invalid_field/humans_present");
  CHECK(code(json::array()) == "bad_json");
  CHECK(read_incoming("{", base, "m").error().code == "bad_json");
  CHECK(read_incoming("{\"text\":\"\xff\",\"author\":{\"id\":\"u\"}}", base, "m").error().code == "bad_json");
}
