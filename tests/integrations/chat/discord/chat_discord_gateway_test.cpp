// The gateway's session as a pure machine: opcodes in, effects out, on a clock that the test sets.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "integrations/chat/discord/gateway_machine.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::discord;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

struct world {
  gateway_machine machine{"secret-token", ""};
  boot_time now{1'000'000'000};
  std::vector<std::string> did; ///< in words
  std::vector<json> sent;
  std::vector<json> messages;

  void look(gateway_machine::effects effects) {
    for (auto& e : effects) {
      if (std::holds_alternative<gateway_effects::find_address>(e)) did.push_back("find");
      if (const auto* c = std::get_if<gateway_effects::connect>(&e)) did.push_back("connect " + c->url);
      if (const auto* s = std::get_if<gateway_effects::send>(&e)) {
        sent.push_back(json::parse(s->text));
        did.push_back("send " + std::to_string(sent.back()["op"].get<int>()));
      }
      if (const auto* h = std::get_if<gateway_effects::hang_up>(&e))
        did.push_back("hang up " + std::to_string(h->code));
      if (const auto* h = std::get_if<gateway_effects::dispatch>(&e)) {
        did.push_back("heard " + h->type);
        if (h->type == "MESSAGE_CREATE") messages.push_back(json::parse(h->data));
      }
      if (std::holds_alternative<gateway_effects::gave_up>(e)) did.push_back("gave up");
    }
  }
  std::vector<std::string> take() { return std::exchange(did, {}); }
  void receive(const json& frame, double jitter = 0.5) { look(machine.received(frame.dump(), now, jitter)); }
  void pass(milliseconds d) { now = now + d; }
  void tick() { look(machine.tick(now, 0.5)); }
  /// Advances to the instant at which the machine wants to be woken.
  void to_next() {
    REQUIRE(machine.next_at());
    now = *machine.next_at();
    tick();
  }
  void hello(int interval = 40'000) { receive({{"op", 10}, {"d", {{"heartbeat_interval", interval}}}}); }
  void ready(int seq = 1) {
    receive({{"op", 0},
             {"s", seq},
             {"t", "READY"},
             {"d",
              {{"session_id", "s-1"},
               {"resume_gateway_url", "wss://resume.test"},
               {"user", {{"id", "42"}, {"username", "clanky"}}}}}});
  }
  void say(int seq, const std::string& text) {
    receive({{"op", 0}, {"s", seq}, {"t", "MESSAGE_CREATE"}, {"d", {{"content", text}}}});
  }
  void lose(std::uint16_t code = 0) { look(machine.lost(code, "gone", now, 0.5)); }
  void enter() {
    look(machine.start(now));
    look(machine.found_address("wss://gateway.test", now));
    look(machine.connected(now));
    hello();
    ready();
    take();
  }
  /// Reconnects, up to the hello of the new connection.
  void reconnect() {
    to_next();
    look(machine.connected(now));
    hello();
  }
};

using words = std::vector<std::string>;

} // namespace

TEST_CASE("a session begins with hello and identify, and is connected once it is ready", "[discord]") {
  world w;
  w.look(w.machine.start(w.now));
  CHECK(w.take() == words{"find"});
  w.look(w.machine.found_address("wss://gateway.test", w.now));
  CHECK(w.take() == words{"connect wss://gateway.test/?v=10&encoding=json"});
  w.look(w.machine.connected(w.now));
  CHECK(w.take().empty());
  w.hello();
  CHECK(w.take() == words{"send 2"});
  CHECK(w.sent[0]["d"]["token"] == "secret-token");
  CHECK(w.sent[0]["d"]["intents"] == (1 | 1 << 9 | 1 << 12 | 1 << 15));
  w.ready();
  CHECK(w.take() == words{"heard READY"});
  CHECK(w.machine.is_ready());
  CHECK(w.machine.state(w.now) == "connected as clanky");
  CHECK(w.machine.own_id() == "42");
  w.say(2, "hi");
  CHECK(w.messages.at(0)["content"] == "hi");
}

TEST_CASE("heartbeats come at the interval, the first after a random part of it, with the last seq", "[discord]") {
  world w;
  w.enter();
  CHECK(*w.machine.next_at() - w.now == 20s);
  w.to_next();
  CHECK(w.sent.back() == json({{"op", 1}, {"d", 1}}));
  w.receive({{"op", 11}});
  w.say(7, "x");
  CHECK(*w.machine.next_at() - w.now == 40s);
  w.to_next();
  CHECK(w.sent.back() == json({{"op", 1}, {"d", 7}}));
  w.receive({{"op", 11}});
  w.pass(1s);
  w.receive({{"op", 1}});
  CHECK(w.take().back() == "send 1");
  w.receive({{"op", 1}}); // a flood of requested heartbeats is not answered one by one
  CHECK(w.take().empty());
}

TEST_CASE("a connection that does not answer a heartbeat is hung up and resumed", "[discord]") {
  world w;
  w.enter();
  w.say(5, "x");
  w.to_next();
  w.take();
  w.to_next();
  CHECK(w.take() == words{"hang up 4000", "connect wss://resume.test/?v=10&encoding=json"});
  w.look(w.machine.connected(w.now));
  w.hello();
  CHECK(w.take() == words{"send 6"});
  CHECK(w.sent.back()["d"] == json({{"token", "secret-token"}, {"session_id", "s-1"}, {"seq", 5}}));
}

TEST_CASE("after a cut the session is resumed, and what was told before is not told again", "[discord]") {
  world w;
  w.enter();
  w.say(2, "one");
  w.take();
  w.lose();
  CHECK(w.machine.state(w.now).starts_with("retrying in 1 s: gone"));
  w.reconnect();
  CHECK(w.take() == words{"connect wss://resume.test/?v=10&encoding=json", "send 6"});
  w.say(2, "one");
  w.say(3, "two");
  w.receive({{"op", 0}, {"s", 4}, {"t", "RESUMED"}, {"d", json::object()}});
  CHECK(w.machine.is_ready());
  w.say(5, "three");
  words texts;
  for (const auto& m : w.messages) texts.push_back(m["content"]);
  CHECK(texts == words{"one", "two", "three"});
}

TEST_CASE("the gateway may ask for a new connection", "[discord]") {
  world w;
  w.enter();
  w.pass(30s);
  w.receive({{"op", 7}});
  CHECK(w.take() == words{"hang up 4000", "connect wss://resume.test/?v=10&encoding=json"});
}

TEST_CASE("an invalid session begins anew after a random wait, unless it may be resumed", "[discord]") {
  world w;
  w.enter();
  w.receive({{"op", 9}, {"d", false}}, 0.5);
  CHECK(w.take() == words{"hang up 4000"});
  CHECK(*w.machine.next_at() - w.now == 3s);
  w.to_next();
  CHECK(w.take() == words{"find"});
  w.look(w.machine.found_address("wss://gateway.test", w.now));
  w.look(w.machine.connected(w.now));
  w.hello();
  CHECK(w.take().back() == "send 2");
  w.ready(1); // numbers begin again at 1
  CHECK(w.machine.is_ready());
  w.take();
  w.receive({{"op", 9}, {"d", true}}, 0.5);
  w.take();
  w.reconnect();
  CHECK(w.take().back() == "send 6");
}

TEST_CASE("closes that cannot be helped end it, others do not", "[discord]") {
  for (const std::uint16_t code : {4004, 4010, 4011, 4012, 4013, 4014}) {
    world w;
    w.enter();
    w.lose(code);
    INFO(code);
    CHECK(w.take() == words{"gave up"});
    CHECK_FALSE(w.machine.next_at());
    CHECK(w.machine.state(w.now).starts_with("gave up: Discord"));
    CHECK(w.machine.state(w.now).find("secret-token") == std::string::npos);
    w.lose();
    w.tick();
    CHECK(w.take().empty());
  }
  for (const auto& [code, op] :
       std::vector<std::pair<std::uint16_t, int>>{{4000, 6}, {4008, 6}, {1006, 6}, {4007, 2}, {4009, 2}}) {
    world w;
    w.enter();
    w.lose(code);
    w.to_next();
    if (op == 2) w.look(w.machine.found_address("wss://gateway.test", w.now));
    w.look(w.machine.connected(w.now));
    w.hello();
    INFO(code);
    CHECK(w.sent.back()["op"] == op);
  }
}

TEST_CASE("who is thrown out again and again waits longer and longer, and gives a dead session up", "[discord]") {
  world w;
  w.enter();
  milliseconds last{0};
  std::size_t finds = 0;
  for (int i = 0; i < 12; ++i) {
    w.lose();
    const auto wait = std::chrono::ceil<milliseconds>(*w.machine.next_at() - w.now);
    CHECK(wait >= std::min<milliseconds>(last, 45s));
    CHECK(wait <= 60s);
    last = wait;
    w.to_next();
    for (const auto& word : w.take()) finds += word == "find";
    w.look(w.machine.found_address("wss://gateway.test", w.now));
  }
  CHECK(last >= 30s);
  CHECK(finds > 0);
}

TEST_CASE("an entrance that never comes about is given up in time", "[discord]") {
  world w;
  w.look(w.machine.start(w.now));
  w.take();
  w.to_next(); // the timeout of the address
  CHECK(w.take().empty());
  w.to_next();
  CHECK(w.take() == words{"find"});
  w.look(w.machine.found_address("wss://gateway.test", w.now));
  w.take();
  w.to_next(); // the timeout of the connection
  CHECK(w.take() == words{"hang up 4000"});
  w.to_next();
  w.look(w.machine.found_address("wss://gateway.test", w.now));
  w.look(w.machine.connected(w.now));
  w.take();
  w.to_next(); // the timeout of the hello
  CHECK(w.take() == words{"hang up 4000"});
}

TEST_CASE("a refused token is not tried again; a service that asks to wait is waited for", "[discord]") {
  world w;
  w.look(w.machine.start(w.now));
  w.look(w.machine.no_address("busy", false, 30s, w.now, 0.5));
  CHECK(*w.machine.next_at() - w.now == 30s);
  w.to_next();
  w.take();
  w.look(w.machine.no_address("no such token", true, {}, w.now, 0.5));
  CHECK(w.take() == words{"gave up"});
  CHECK_FALSE(w.machine.next_at());
}

TEST_CASE("frames that make no sense end the connection, not the program", "[discord]") {
  for (const auto* text : {"", "[]", "{", "{\"op\":\"x\"}", "{\"d\":1}", "null", "\"\xff\""}) {
    world w;
    w.enter();
    w.look(w.machine.received(text, w.now, 0.5));
    INFO(text);
    CHECK(w.take().front() == "hang up 4000");
  }
  for (const auto* text : {R"({"op":0})", R"({"op":0,"t":5,"s":"x","d":7})", R"({"op":0,"t":"READY","d":[]})",
                           R"({"op":99,"d":{}})", R"({"op":0,"t":"READY","s":2,"d":{"user":3}})", R"({"op":11})"}) {
    world w;
    w.enter();
    w.look(w.machine.received(text, w.now, 0.5));
    INFO(text);
    CHECK(w.machine.is_ready());
  }
  world w;
  w.look(w.machine.start(w.now));
  w.look(w.machine.found_address("wss://gateway.test", w.now));
  w.look(w.machine.connected(w.now));
  w.take();
  w.receive({{"op", 10}, {"d", {{"heartbeat_interval", "soon"}}}});
  CHECK(w.take().front() == "hang up 4000");
}
