// Refused bodies of requests: every bad field, with its pointer and a code that a program can act on.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "gateway/admin_body.hpp"
#include "gateway/body.hpp"
#include "gateway/cancel_body.hpp"
#include "gateway/external_body.hpp"
#include "gateway/operation_body.hpp"
#include "gateway/query_reader.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;
using json = nlohmann::json;

namespace {

json minimal() { return {{"kind", "task"}, {"task", {{"command", {"true"}}}}}; }

/// "CODE pointer pointer …" of a refused create.
std::string refused(const json& body) {
  const auto order = read_create(body.dump());
  if (order) return "accepted";
  std::string text(text_of(order.error().code));
  for (const auto& e : order.error().errors) text += ' ' + e.pointer;
  return text;
}

json with(const char* pointer, const json& value) {
  auto body = minimal();
  body[json::json_pointer(pointer)] = value;
  return body;
}

} // namespace

TEST_CASE("a create with kind and command alone takes the defaults of SURFACE") {
  const auto order = read_create(minimal().dump());
  REQUIRE(order);
  CHECK(order->kind == kind::task);
  CHECK(order->name == "true");
  CHECK_FALSE(order->scope);
  CHECK_FALSE(order->grace);
  CHECK_FALSE(order->timeout); // the gateway's default applies
  CHECK(order->on_parent_end == on_parent_end::cancel);
  CHECK(order->task.stop_signal == "TERM");
  CHECK(order->task.slots == 1);
  CHECK_FALSE(order->task.pty);
}

TEST_CASE("a create takes every field") {
  const auto parent = operation_id::fresh();
  const auto id = operation_id::fresh();
  const json body = {{"id", id.text()},
                     {"kind", "task"},
                     {"scope", "team/build"},
                     {"parent", parent.text()},
                     {"name", "n"},
                     {"title", "t"},
                     {"labels", {{"pr", "4711"}}},
                     {"timeout_ms", 5},
                     {"grace_ms", 0},
                     {"on_parent_end", "wait"},
                     {"supersede", "key"},
                     {"owner", {{"id", "bob"}, {"name", "Bob"}}},
                     {"as_of_seq", 41},
                     {"task",
                      {{"command", {"/bin/ls", "-l"}},
                       {"cwd", "/srv"},
                       {"env", {{"CI", "1"}}},
                       {"pty", true},
                       {"stdin", true},
                       {"stop_signal", "INT"},
                       {"worker", "w2"},
                       {"on", {{"os", "linux"}}},
                       {"slots", 0},
                       {"on_leader_exit", "kill"},
                       {"lease_ms", 60000},
                       {"containment", "cgroup+pidns"},
                       {"default_cwd", "/home"},
                       {"default_cwd_host", "h"}}}};
  const auto order = read_create(body.dump());
  REQUIRE(order);
  CHECK(order->id == id);
  CHECK(order->parent == parent);
  CHECK(order->scope->text() == "team/build");
  CHECK(order->grace == milliseconds{0});
  CHECK(order->owner == records::person{"bob", "Bob"});
  CHECK(order->as_of_seq == 41);
  CHECK(order->task.least_containment == containment::cgroup_pidns);
  CHECK(order->task.slots == 0);
  CHECK(order->task.lease == milliseconds{60000});
  CHECK(order->task.default_cwd_host == "h");
}

TEST_CASE("each bad field of a create is refused with its own pointer") {
  CHECK(refused({{"task", {{"command", {"true"}}}}}) == "invalid_field /kind");
  CHECK(refused(with("/kind", "turn")) == "invalid_field /kind");
  CHECK(refused(with("/kind", "nonsense")) == "invalid_field /kind");
  CHECK(refused({{"kind", "task"}}) == "invalid_field /task/command");
  CHECK(refused(with("/task/command", json::array())) == "invalid_field /task/command");
  CHECK(refused(with("/task/command", {""})) == "invalid_field /task/command/0");
  CHECK(refused(with("/task/command", {"a", 7})) == "invalid_field /task/command/1");
  CHECK(refused(with("/task/command", {"a", std::string("b\0c", 3)})) == "invalid_field /task/command/1");
  CHECK(refused(with("/task/command", {"a", std::string(128 * 1024, 'x')})) == "invalid_field /task/command");
  CHECK(refused(with("/scope", "a//b")) == "bad_scope /scope");
  CHECK(refused(with("/scope", "team/*")) == "bad_scope /scope");
  CHECK(refused(with("/id", "42")) == "bad_id /id");
  CHECK(refused(with("/parent", "01A1F869-3DF9-7303-8207-DDE70BEE07DD")) == "bad_id /parent");
  CHECK(refused(with("/title", std::string(201, 'x'))) == "invalid_field /title");
  CHECK(refused(with("/timeout_ms", -1)) == "invalid_field /timeout_ms");
  CHECK(refused(with("/timeout_ms", 1.5)) == "invalid_field /timeout_ms");
  CHECK(refused(with("/grace_ms", "2s")) == "invalid_field /grace_ms");
  CHECK(refused(with("/on_parent_end", "explode")) == "invalid_field /on_parent_end");
  CHECK(refused(with("/labels", {{"a", ""}})) == "invalid_field /labels/a");
  CHECK(refused(with("/labels", {{"a/b", 1}})) == "invalid_field /labels/a~1b");
  CHECK(refused(with("/task/env", {{"A=B", "x"}})) == "invalid_field /task/env/A=B");
  CHECK(refused(with("/task/cwd", "relative")) == "invalid_field /task/cwd");
  CHECK(refused(with("/task/stop_signal", "SIGTERM")) == "invalid_field /task/stop_signal");
  CHECK(refused(with("/task/containment", "jail")) == "invalid_field /task/containment");
  CHECK(refused(with("/task/lease_ms", 8ULL * 24 * 3600 * 1000)) == "invalid_field /task/lease_ms");
  CHECK(refused(with("/owner", {{"name", "Bob"}})) == "invalid_field /owner/id");
}

TEST_CASE("an unknown field is refused at every level, whatever its value") {
  CHECK(refused(with("/foo", nullptr)) == "accepted"); // null means absent
  CHECK(refused(with("/foo", 1)) == "unknown_field /foo");
  CHECK(refused(with("/task/foo", 1)) == "unknown_field /task/foo");
  CHECK(refused(with("/owner", {{"id", "b"}, {"mail", "x"}})) == "unknown_field /owner/mail");
}

TEST_CASE("all bad fields are told at once") {
  auto body = minimal();
  body["scope"] = "";
  body["grace_ms"] = -1;
  body["task"]["slots"] = "many";
  CHECK(refused(body) == "invalid_field /scope /grace_ms /task/slots");
}

TEST_CASE("65 labels are too many, 64 are not") {
  auto body = minimal();
  for (int i = 0; i < 64; ++i) body["labels"]["k" + std::to_string(i)] = "v";
  CHECK(refused(body) == "accepted");
  body["labels"]["one more"] = "v";
  CHECK(refused(body) == "invalid_field /labels");
}

TEST_CASE("what is not JSON is told with its position") {
  const auto code_of = [](const std::string& text) {
    const auto order = read_create(text);
    return order ? std::string("accepted") : std::string(text_of(order.error().code));
  };
  const auto broken = read_create("{\n  \"kind\": task\n}");
  REQUIRE_FALSE(broken);
  CHECK(broken.error().code == error_code::bad_json);
  CHECK(broken.error().detail.find("line 2") != std::string::npos);
  const auto not_utf8 = read_create("{\"kind\": \"\xff\"}");
  REQUIRE_FALSE(not_utf8);
  CHECK(not_utf8.error().code == error_code::bad_json);
  CHECK(not_utf8.error().detail.find("byte 10") != std::string::npos);
  CHECK(code_of("[1]") == "invalid_field");
  CHECK(code_of("{\"timeout_ms\": 1e999}") == "bad_json");
  CHECK(code_of(std::string(200'000, '[')) == "bad_json");
  CHECK(code_of("{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}") == "bad_json");
}

TEST_CASE("a member that is given twice is refused with its pointer, wherever it is") {
  const auto refused_text = [](const std::string& text) {
    const auto body = parse_body(text);
    if (body) return std::string("accepted");
    REQUIRE(body.error().errors.size() == 1);
    return std::string(text_of(body.error().code)) + " " + body.error().errors.front().pointer;
  };
  CHECK(refused_text(R"({"operation":"a","operation":"b"})") == "bad_json /operation");
  CHECK(refused_text(R"({"operation":"a","operation":"a"})") == "bad_json /operation");
  CHECK(refused_text(R"({"operation":"a","\u006fperation":"b"})") == "bad_json /operation");
  CHECK(refused_text(R"({"operation":"a","operation":null})") == "bad_json /operation");
  CHECK(refused_text(R"({"a":[1,{},[{"b/~":1,"c":2,"b/~":3}]]})") == "bad_json /a/2/0/b~1~0");
  CHECK(refused_text(R"({"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}],"x":"x"})") == "accepted");
  CHECK(refused_text(R"({"a":1,"A":1,"":1})") == "accepted");
  CHECK(refused_text(R"({"":1,"":1})") == "bad_json /");

  const auto id = operation_id::fresh().text(), other = operation_id::fresh().text();
  const auto cancel = read_cancel(R"({"operation":")" + id + R"(","operation":")" + other + R"("})");
  REQUIRE_FALSE(cancel);
  CHECK(cancel.error().code == error_code::bad_json);
  CHECK(cancel.error().detail.find("/operation: is given twice") != std::string::npos);
}

TEST_CASE("the fingerprint ignores the id, the order of fields and nulls, and nothing else") {
  const auto print = [](const std::string& text) { return read_create(text)->fingerprint; };
  const std::string head = R"({"id":"01a1f869-3df9-7303-8207-dde70bee07dd",)";
  const auto plain = print(head + R"("kind":"task","title":"x","task":{"command":["true"]}})");
  CHECK_FALSE(plain.empty());
  const std::string other = R"("id":"01a1f869-3df9-7303-8207-dde70bee07de"})";
  CHECK(print(R"({"task":{"command":["true"],"cwd":null},"title":"x","kind":"task",)" + other) == plain);
  CHECK(print(head + R"("kind":"task","title":"y","task":{"command":["true"]}})") != plain);
  // Nobody repeats a request whose id he has not chosen.
  CHECK(print(R"({"kind":"task","title":"x","task":{"command":["true"]}})").empty());
}

TEST_CASE("a cancel names exactly one target") {
  const auto code = [](const json& body) {
    const auto request = read_cancel(body.dump());
    return request ? std::string("accepted") : std::string(text_of(request.error().code));
  };
  const auto id = operation_id::fresh().text();
  CHECK(code({{"operation", id}}) == "accepted");
  CHECK(code({{"scope", "team"}}) == "accepted");
  CHECK(code({{"owner", "alice"}}) == "accepted");
  CHECK(code({{"owner", "alice"}, {"scope", "team"}}) == "accepted");
  CHECK(code({{"everything", true}}) == "accepted");
  CHECK(code(json::object()) == "no_target");
  CHECK(code({{"everything", false}}) == "no_target");
  CHECK(code({{"operation", id}, {"scope", "team"}}) == "no_target");
  CHECK(code({{"everything", true}, {"scope", "team"}}) == "no_target");
  CHECK(code({{"scope", ""}}) == "bad_scope");
  CHECK(code({{"scope", "team"}, {"wait_ms", 60'001}}) == "invalid_field");
  CHECK(code({{"scope", "team"}, {"reason", std::string(501, 'x')}}) == "invalid_field");
  CHECK(code({{"scope", "team"}, {"kill", true}}) == "unknown_field");
}

TEST_CASE("the body of a cancel by path is optional and may not name a target") {
  const auto id = operation_id::fresh();
  const auto empty = read_cancel_of(id, "");
  REQUIRE(empty);
  CHECK(empty->order.must_exist());
  CHECK(std::get<records::target_operation>(empty->order.target).id == id);
  CHECK(empty->until.status == cancel_status::fenced);
  CHECK(empty->until.longest == milliseconds{30'000});
  CHECK_FALSE(read_cancel_of(id, R"({"scope":"team"})"));
  const auto both = read_cancel(json{{"operation", id.text()}, {"reason", "r"}}.dump());
  CHECK(both->order.fingerprint == read_cancel_of(id, R"({"reason":"r","wait":"settled"})")->order.fingerprint);
}

TEST_CASE("a resolve says that it means death, and how one knows") {
  CHECK(read_resolve(R"({"declare":"dead","reason":"the host burnt down"})").value() == "the host burnt down");
  CHECK_FALSE(read_resolve(R"({"declare":"dead"})"));
  CHECK_FALSE(read_resolve(R"({"declare":"alive","reason":"x"})"));
  CHECK_FALSE(read_resolve(""));
  const auto typed = read_resolve(R"({"declare":7,"reason":"x"})");
  REQUIRE_FALSE(typed);
  REQUIRE(typed.error().errors.size() == 1);
  CHECK(typed.error().errors.front().pointer == "/declare");
}

TEST_CASE("an error of the whole body has the empty pointer, that of a field without a name has a slash") {
  const auto nobody = read_heartbeat("{}");
  REQUIRE_FALSE(nobody);
  REQUIRE(nobody.error().errors.size() == 1);
  CHECK(nobody.error().errors.front().pointer.empty());
  const auto nameless = read_heartbeat(R"({"session":"s","":1})");
  REQUIRE_FALSE(nameless);
  REQUIRE(nameless.error().errors.size() == 1);
  CHECK(nameless.error().errors.front().pointer == "/");
}

TEST_CASE("workers' names, tokens' roles and window sizes are checked") {
  CHECK(read_enrol(R"({"name":"w-3.local","labels":{"os":"linux"}})"));
  CHECK_FALSE(read_enrol(R"({"name":"a/b"})"));
  CHECK_FALSE(read_enrol(R"({"name":".."})"));
  CHECK_FALSE(read_enrol(R"({"name":"w","key":"short"})"));
  CHECK(read_token(R"({"name":"laptop","role":"operator","expires_at":"2027-01-01T00:00:00Z"})"));
  CHECK_FALSE(read_token(R"({"name":"laptop","role":"task"})"));
  CHECK_FALSE(read_token(R"({"role":"admin"})"));
  CHECK(read_resize(R"({"rows":50,"columns":200})"));
  CHECK_FALSE(read_resize(R"({"rows":0,"columns":200})"));
  CHECK_FALSE(read_resize("{}"));
}

TEST_CASE("a cursor is opaque, comes back as it was, and a forged one is refused") {
  for (const auto cursor : {seq_cursor{true, 1}, seq_cursor{false, (1ULL << 53) - 1}})
    CHECK(parse_cursor(to_text(cursor)) == cursor);
  for (const char* bad : {"", "a1", "YQ", "!!!!", "ZDEyMw=="}) {
    INFO(bad);
    CHECK_FALSE(parse_cursor(bad));
  }
}

TEST_CASE("a target is split and decoded, and a broken one is refused") {
  request r;
  REQUIRE(read_target("/v1/operations?scope=a%2Fb&label=k%3Dv&label=x+y&flag", r));
  CHECK(r.path == "/v1/operations");
  CHECK(r.query == std::vector<name_value>{{"scope", "a/b"}, {"label", "k=v"}, {"label", "x y"}, {"flag", ""}});
  for (const char* bad : {"", "v1", "/x?a=%", "/x?a=%f", "/x?a=%zz", "/x?a=%ff", "/x?a=%00"}) {
    INFO(bad);
    CHECK_FALSE(read_target(bad, r));
  }
}

TEST_CASE("a filter may be given 64 times, and no more") {
  request query;
  for (int i = 0; i < 64; ++i) query.query.push_back({"label", "team=" + std::to_string(i)});
  query_reader enough(query);
  CHECK(enough.many("label").size() == 64);
  CHECK_NOTHROW(enough.finish());
  query.query.push_back({"label", "team=64"});
  query_reader too_many(query);
  CHECK(too_many.many("label").size() == 64);
  CHECK_THROWS(too_many.finish());
}
