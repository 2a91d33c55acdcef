// A2A 1.0, pure: states of turns as states of tasks, contexts as scopes, messages, updates and errors.
#include <catch2/catch.hpp>

#include "gateway/a2a/context_id.hpp"
#include "gateway/a2a/send_body.hpp"
#include "gateway/a2a/task_stream.hpp"
#include "gateway/a2a_error.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller::http;
using namespace quell::controller::http::a2a;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

task_facts facts_of(status now) {
  task_facts facts;
  facts.id = operation_id::fresh();
  facts.context = "c";
  facts.scope = "team/a2a/c";
  facts.now = now;
  return facts;
}

task_facts stopped(status now, bool is_settled, std::uint64_t unconfirmed = 0, std::uint64_t declared = 0,
                   stop_cause cause = stop_cause::cancel) {
  auto facts = facts_of(now);
  stop_facts stop;
  stop.cause = cause;
  stop.cancel = cancel_id::fresh();
  stop.reason = "enough";
  stop.is_settled = is_settled;
  stop.unconfirmed = unconfirmed;
  stop.declared = declared;
  facts.stop = stop;
  return facts;
}

json message(const json& more) {
  json one = {{"messageId", "m"}, {"role", "ROLE_USER"}, {"parts", {{{"text", "hello"}}}}};
  one.update(more);
  return {{"message", one}};
}

int refusal_of(const json& params) {
  try {
    read_send(params);
  } catch (const a2a_error& e) {
    return e.kind.rpc_code;
  }
  return 0;
}

rendered_event event(const operation_id& of, const std::string& type, const json& data) {
  rendered_event e;
  e.record.id = 1;
  e.record.type = event_type_of(type).value();
  e.record.operation = of;
  e.json = std::make_shared<const std::string>(json{{"type", type}, {"data", data}}.dump());
  return e;
}

rendered_event text(const operation_id& of, std::uint64_t offset, const std::string& words) {
  return event(of, "text_delta", {{"offset", offset}, {"text", words}});
}

std::string bare(const ordered_json& result) { return result.dump(); }

} // namespace

TEST_CASE("every state of a turn is a state of its task") {
  CHECK(status_of(facts_of(status::pending)).state == task_state::submitted);
  CHECK(status_of(facts_of(status::running)).state == task_state::working);
  CHECK(status_of(facts_of(status::paused)).state == task_state::working);
  auto asks = facts_of(status::running);
  asks.asks = {{"q", words_of_question("Which?", json::parse(R"({"properties":{"answer":{"enum":["a","b"]}}})"))}};
  CHECK(status_of(asks).state == task_state::input_required);
  CHECK(status_of(asks).words == "Which? (one of: a, b)");
  asks.now = status::cancelling;
  CHECK(status_of(asks).state == task_state::working);
  CHECK(status_of(facts_of(status::completed)).state == task_state::completed);
  CHECK(status_of(facts_of(status::failed)).state == task_state::failed);
  for (const auto cause : {stop_cause::cancel, stop_cause::parent_ended, stop_cause::timeout, stop_cause::superseded,
                           stop_cause::disconnect, stop_cause::drain, stop_cause::worker_lost, stop_cause::budget}) {
    CHECK(status_of(stopped(status::cancelling, true, 0, 0, cause)).state == task_state::working);
    CHECK(status_of(stopped(status::cancelled, true, 0, 0, cause)).state == task_state::canceled);
  }
  // A task that ended before its stop reached it has ended as it did.
  CHECK(status_of(stopped(status::completed, false)).state == task_state::completed);
  CHECK(status_of(stopped(status::failed, true, 1)).state == task_state::failed);
}

TEST_CASE("a task is canceled with the proof, and never before") {
  CHECK(status_of(stopped(status::cancelling, false)).state == task_state::working);
  CHECK(status_of(stopped(status::cancelling, false)).words == "stopping: enough");
  CHECK(status_of(stopped(status::cancelled, false)).state == task_state::working);
  CHECK(status_of(stopped(status::cancelled, true)).state == task_state::canceled);
  for (const auto& [unconfirmed, declared] : {std::pair(1, 0), std::pair(0, 1), std::pair(2, 3)}) {
    // Before the end of the stop nothing final is said, whatever was counted so far.
    CHECK(status_of(stopped(status::cancelled, false, unconfirmed, declared)).state == task_state::working);
    const auto end = status_of(stopped(status::cancelled, true, unconfirmed, declared));
    CHECK(end.state == task_state::failed);
    CHECK(end.words.find("outcome unknown") != std::string::npos);
  }
  CHECK(status_of(facts_of(status::cancelled)).state == task_state::failed);
  auto beside = stopped(status::cancelled, true);
  beside.stop->left = 1;
  CHECK(status_of(beside).state == task_state::failed);
  CHECK(task_json(beside)["metadata"]["quell"]["stop"]["proven"] == false);
  beside.stop->is_settled = false;
  CHECK(status_of(beside).state == task_state::working);
}

TEST_CASE("a task shows its stop with its proof") {
  const auto task = task_json(stopped(status::cancelled, true));
  CHECK(task["status"]["state"] == "TASK_STATE_CANCELED");
  CHECK(task["metadata"]["quell"]["stop"]["proven"] == true);
  CHECK(task_json(stopped(status::cancelling, true))["metadata"]["quell"]["stop"]["settled"] == false);
  const auto open = task_json(stopped(status::cancelled, true, 1));
  CHECK(open["metadata"]["quell"]["stop"]["proven"] == false);
  CHECK(open["status"]["message"]["role"] == "ROLE_AGENT");
  auto answered = facts_of(status::completed);
  answered.text = "hi";
  CHECK(task_json(answered)["artifacts"][0]["parts"][0]["text"] == "hi");
  CHECK_FALSE(task_json(answered, artifacts::left_out).contains("artifacts"));
}

TEST_CASE("a context is a scope, and its scope is that context again") {
  const auto check = [](const std::string& id, const std::string& base, const std::string& scope) {
    INFO(id);
    const auto found = scope_of_context(id, base);
    REQUIRE(found);
    CHECK(found->text() == scope);
    CHECK(context_of_scope(*found, base) == id);
  };
  check("7c9e6679-7425-40de-944b-e07fc1f90ae7", "team", "team/a2a/7c9e6679-7425-40de-944b-e07fc1f90ae7");
  check("c", "", "a2a/c");
  check("team/web/mia", "team", "team/web/mia");
  check("/team", "team", "team");
  CHECK_FALSE(scope_of_context("a b", "team"));
  CHECK_FALSE(scope_of_context("../x", "team"));
  CHECK_FALSE(scope_of_context("/", ""));
  CHECK(fresh_context("t", "main", "m") == fresh_context("t", "main", "m"));
  CHECK(fresh_context("t", "main", "m") != fresh_context("u", "main", "m"));
}

TEST_CASE("a message is read, and what is wrong with it has A2A's code") {
  const auto read = read_send({{"message",
                                {{"messageId", "m"},
                                 {"role", "ROLE_USER"},
                                 {"unknown", 1},
                                 {"contextId", ""},
                                 {"parts", {{{"text", "a"}}, {{"data", {{"b", 1}}}}}}}},
                               {"configuration", {{"returnImmediately", true}}}});
  CHECK(read.text == "a\n{\"b\":1}");
  CHECK(read.returns_at_once);
  CHECK_FALSE(read.context);
  CHECK(refusal_of(json::object()) == -32602);
  CHECK(refusal_of(message({{"messageId", ""}})) == -32602);
  CHECK(refusal_of(message({{"messageId", std::string(121, 'x')}})) == -32602);
  CHECK(refusal_of(message({{"role", "ROLE_AGENT"}})) == -32602);
  CHECK(refusal_of(message({{"parts", json::array()}})) == -32602);
  CHECK(refusal_of(message({{"parts", {{{"text", " "}}}}})) == -32602);
  CHECK(refusal_of(message({{"parts", {{{"text", std::string(64 * 1024 + 1, 'x')}}}}})) == -32602);
  CHECK(refusal_of(message({{"parts", {{{"url", "http://x"}}}}})) == -32005);
  CHECK(refusal_of({{"message", message(json::object())["message"]}, {"configuration", {{"returnImmediately", 1}}}}) ==
        -32602);
}

TEST_CASE("a stream shows each piece of text once, and the whole answer if it differs") {
  auto begun = facts_of(status::running);
  begun.text = "one ";
  task_updates updates(begun, bare);
  const auto id = begun.id;
  CHECK(updates.update(text(id, 0, "one ")).empty()); // it was in the task already
  const auto next = json::parse(updates.update(text(id, 2, "e two")));
  CHECK(next["artifactUpdate"]["artifact"]["parts"][0]["text"] == "two");
  CHECK(next["artifactUpdate"]["append"] == true);
  CHECK(updates.update(text(operation_id::fresh(), 0, "aside")).empty());
  const auto stopping =
      json::parse(updates.update(event(id, "operation_cancelling", {{"stop", {{"reason", "enough"}}}})));
  CHECK(stopping["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING");
  CHECK(stopping["statusUpdate"]["status"]["message"]["parts"][0]["text"] == "stopping: enough");
  CHECK(updates.update(event(id, "operation_cancelled", json::object())).empty()); // it may wait for the proof
  auto over = stopped(status::cancelled, true);
  over.id = id;
  over.text = "one two";
  CHECK(json::parse(updates.last(over))["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED");
  over.text = "one two three";
  CHECK(updates.last(over).starts_with("{\"artifactUpdate\""));
}

TEST_CASE("text that a resumed turn replaces is taken back in the stream") {
  auto begun = facts_of(status::running);
  task_updates updates(begun, bare);
  CHECK(json::parse(updates.update(text(begun.id, 0, "half a sén")))["artifactUpdate"]["append"] == false);
  const auto back = json::parse(updates.update(event(begun.id, "turn_resumed", {{"offset", 8}})));
  CHECK(back["artifactUpdate"]["artifact"]["parts"][0]["text"] == "half a s");
  CHECK(back["artifactUpdate"]["append"] == false);
  CHECK(json::parse(updates.update(text(begun.id, 8, "entence")))["artifactUpdate"]["append"] == true);
}

TEST_CASE("errors have the codes of both bindings") {
  const auto unknown = from_problem({.code = error_code::operation_not_found, .detail = "x"});
  CHECK(rpc_error(unknown)["code"] == -32001);
  CHECK(error_answer(unknown).status == 404);
  CHECK(json::parse(error_answer(unknown).body)["error"]["details"][0]["reason"] == "TASK_NOT_FOUND");
  CHECK(from_problem({.code = error_code::bad_json, .detail = "x"}).kind.rpc_code == -32700);
  CHECK(from_problem({.code = error_code::invalid_field, .detail = "x"}).kind.rpc_code == -32602);
  CHECK(from_problem({.code = error_code::invalid_field, .detail = "x"}).kind.status == 400);
  CHECK(from_problem({.code = error_code::rate_limited, .detail = "x"}).kind.status == 429);
  CHECK(from_problem({.code = error_code::internal, .detail = "x"}).kind.rpc_code == -32603);
}

TEST_CASE("what the gateway refuses below /a2a/ has the shape of A2A") {
  controller::test::gateway_world world;
  const auto open = world.ask("GET", "/a2a/main/.well-known/agent-card.json", {});
  CHECK(open.status == 401);
  CHECK(open.json()["error"]["status"] == "UNAUTHENTICATED");
  CHECK(open.header("www-authenticate").starts_with("Bearer"));
  // This quelld answers no messages.
  CHECK(world.get("/a2a/main/.well-known/agent-card.json").status == 404);
  CHECK(world.get("/a2a/main/nothing").json()["error"]["status"] == "NOT_FOUND");
  const auto reason_at = [&](const std::string& path) {
    return world.get(path).json()["error"]["details"][0]["reason"];
  };
  CHECK(reason_at("/a2a/main/extendedAgentCard") == "UNSUPPORTED_OPERATION");
  CHECK(world.get("/a2a/main").json()["error"]["status"] == "UNIMPLEMENTED");
}
