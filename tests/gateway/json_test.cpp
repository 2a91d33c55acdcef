// The JSON shapes: every field of SURFACE is present, in its form, for all values.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/cluster_json.hpp"
#include "gateway/cancel_json.hpp"
#include "gateway/json_or_text.hpp"
#include "gateway/problem.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::http;
using json = nlohmann::json;

namespace {

std::vector<std::string> missing(const json& object, std::initializer_list<const char*> names) {
  std::vector<std::string> absent;
  for (const char* name : names)
    if (!object.contains(name)) absent.emplace_back(name);
  return absent;
}

const std::vector<std::string> nothing;

json operation(const shown_operation& op) {
  json_writer to;
  write_operation(to, op, milliseconds{10'000});
  return json::parse(to.text());
}

json cancel(const cancel_view& view, std::size_t most = 100) {
  json_writer to;
  write_cancel(to, view, most);
  return json::parse(to.text());
}

const auto operation_fields = {
    "id",          "seq",        "kind",        "name",      "title",         "scope",       "parent",
    "root",        "owner",      "labels",      "supersede", "status",        "waiting_for", "worker",
    "unreachable", "timeout_ms", "deadline_at", "grace_ms",  "on_parent_end", "created_at",  "started_at",
    "ended_at",    "stop",       "exit",        "result",    "error",         "late",        "task"};

shown_operation plain_operation() {
  shown_operation op;
  op.row.id = operation_id::fresh();
  op.row.root = op.row.id;
  op.row.name = "pytest";
  op.row.owner = {"alice", "Alice"};
  op.row.task.command = {"pytest", "-q"};
  return op;
}

} // namespace

TEST_CASE("an operation shows every field, null where it does not apply") {
  const auto j = operation(plain_operation());
  CHECK(missing(j, operation_fields) == nothing);
  for (const char* name : {"parent", "supersede", "waiting_for", "worker", "unreachable", "deadline_at", "started_at",
                           "ended_at", "stop", "exit", "result", "error", "late"}) {
    INFO(name);
    CHECK(j[name].is_null());
  }
  CHECK(missing(j["task"], {"command", "cwd", "env_names", "pty", "stop_signal", "slots", "on_leader_exit", "lease_ms",
                            "containment", "pid", "output"}) == nothing);
  CHECK(j["task"]["lease_ms"] == 10'000);
  CHECK(j["task"]["pid"].is_null());
  CHECK(missing(j["task"]["output"], {"stdout_bytes", "stderr_bytes", "dropped_bytes"}) == nothing);
}

TEST_CASE("an operation shows names of its environment and never a value") {
  auto op = plain_operation();
  op.row.task.env = {{"CI", "1"}, {"SECRET", "hunter2"}};
  json_writer to;
  write_operation(to, op, milliseconds{10'000});
  CHECK(json::parse(to.text())["task"]["env_names"] == json::array({"CI", "SECRET"}));
  CHECK(to.text().find("hunter2") == std::string::npos);
}

TEST_CASE("an operation shows the limits that it asked for and names of its secrets, never one itself") {
  auto op = plain_operation();
  op.row.task.pids = 40;
  op.row.task.cpu_millis = 1500;
  op.row.task.secrets = {{"KEY", "hunter2"}};
  json_writer to;
  write_operation(to, op, milliseconds{10'000});
  const auto task = json::parse(to.text())["task"];
  CHECK(task["memory_bytes"].is_null());
  CHECK(task["pids"] == 40);
  CHECK(task["cpu"] == 1.5);
  CHECK(task["secret_names"] == json::array({"KEY"}));
  CHECK(to.text().find("hunter2") == std::string::npos);
}

TEST_CASE("a stopped operation shows cause, cancel, reason, author, instants, receipt and proof") {
  auto op = plain_operation();
  auto& stop = op.row.hot.stop.emplace();
  stop.cancel = cancel_id::fresh();
  stop.kill_at = *parse_instant("2026-11-20T09:52:02.004Z");
  stop.how = receipt::killed;
  stop.evidence = proof::cgroup_empty;
  op.stop_reason = "wrong branch";
  op.stop_by = records::person{"alice", "Alice"};
  op.row.hot.exit = exit_state{.code = {}, .signal = "KILL"};
  const auto j = operation(op);
  CHECK(j["stop"] == json({{"cause", "cancel"},
                           {"cancel", stop.cancel->text()},
                           {"reason", "wrong branch"},
                           {"by", {{"id", "alice"}, {"name", "Alice"}}},
                           {"signalled_at", nullptr},
                           {"kill_at", "2026-11-20T09:52:02.004Z"},
                           {"receipt", "killed"},
                           {"proof", "cgroup_empty"}}));
  CHECK(j["exit"] == json({{"signal", "KILL"}}));
}

TEST_CASE("a live view overlays the row") {
  auto op = plain_operation();
  live_view live;
  live.hot.now = status::cancelling;
  live.waiting = waiting_for{"slot", wall_time{milliseconds{1}}, "no worker has gpu=1"};
  live.unreachable_since = wall_time{milliseconds{2000}};
  live.dead_by = wall_time{milliseconds{3000}};
  overlay(op, live);
  const auto j = operation(op);
  CHECK(j["status"] == "cancelling");
  CHECK(j["waiting_for"] ==
        json({{"what", "slot"}, {"since_at", "1970-01-01T00:00:00.001Z"}, {"detail", "no worker has gpu=1"}}));
  CHECK(j["unreachable"] == json({{"since_at", "1970-01-01T00:00:02.000Z"}, {"dead_by", "1970-01-01T00:00:03.000Z"}}));
}

TEST_CASE("a cancel shows every field and every name of a count") {
  cancel_view view;
  view.record.id = cancel_id::fresh();
  view.record.seq = 4300;
  view.record.target = records::target_scope{*scope_path::parse("team/build")};
  view.record.report.operations = 1;
  view.record.report.fenced_ms = 0.4119;
  view.unproven_total = 1;
  unproven_operation open;
  open.title = "crawler";
  open.processes = {{4242, "S", "python3 crawl.py"}};
  open.next = next_action::kill;
  view.unproven = {open};
  const auto j = cancel(view);
  CHECK(missing(j, {"id", "seq", "target", "outcome", "status", "dry_run", "durable", "reason", "cause", "by", "via",
                    "grace_ms", "created_at", "report"}) == nothing);
  CHECK(j["target"] == json({{"scope", "team/build"}}));
  const auto& report = j["report"];
  CHECK(missing(report, {"operations", "workers", "receipts", "proofs", "unproven_total", "unproven", "fenced_ms",
                         "signalled_ms", "settled_ms", "proven"}) == nothing);
  CHECK(missing(report["receipts"], {"cooperative", "terminated", "killed", "never_started", "already_finished",
                                     "unconfirmed", "declared"}) == nothing);
  CHECK(missing(report["proofs"], {"exit_status", "cgroup_empty", "pidns_gone", "group_empty", "lease_expired",
                                   "never_ran", "connection_closed", "internal", "reported", "none"}) == nothing);
  CHECK(report["fenced_ms"] == 0.412);
  CHECK(report["settled_ms"].is_null());
  CHECK(missing(report["unproven"][0], {"operation", "title", "scope", "worker", "why", "since_at", "processes_total",
                                        "processes", "next", "dead_by"}) == nothing);
  CHECK(report["unproven"][0]["next"] == json({{"action", "kill"}, {"at", nullptr}}));
  CHECK(cancel(view, 0)["report"]["unproven"].empty());
}

TEST_CASE("each kind of target has its own form") {
  const auto form = [](records::cancel_target target) {
    json_writer to;
    write_target(to, target);
    return json::parse(to.text());
  };
  const auto id = operation_id::fresh();
  const auto scope = *scope_path::parse("team");
  CHECK(form(records::target_operation{id}) == json({{"operation", id.text()}}));
  CHECK(form(records::target_owner{"alice", {}}) == json({{"owner", "alice"}}));
  CHECK(form(records::target_owner{"alice", scope}) == json({{"owner", "alice"}, {"scope", "team"}}));
  CHECK(form(records::target_everything{}) == json({{"everything", true}}));
}

TEST_CASE("a dry run has no id, seq, status or times, and lists what it would stop") {
  cancel_view view;
  view.record.report.operations = 1200;
  view.record.report.fenced_ms = 1;
  view.record.report.workers = {"w1"};
  view.truncated = true;
  const auto j = json::parse(dry_run_json(view, {plain_operation()}));
  for (const char* name : {"id", "seq", "status", "created_at"}) CHECK(j[name].is_null());
  CHECK(j["dry_run"] == true);
  CHECK(j["report"]["operations"] == 1200);
  CHECK(j["report"]["workers"] == json::array({"w1"}));
  CHECK(j["report"]["fenced_ms"].is_null());
  CHECK(j["would_stop"]["truncated"] == true);
  CHECK(missing(j["would_stop"]["operations"][0], {"id", "kind", "title", "scope", "worker", "status", "owner"}) ==
        nothing);
}

TEST_CASE("a cancel answers 200 when settled or nothing was live, else 202") {
  cancel_view view;
  CHECK(cancel_http_status(view) == 202);
  view.record.outcome = cancel_outcome::unknown_id;
  CHECK(cancel_http_status(view) == 202);
  view.record.outcome = cancel_outcome::nothing_live;
  CHECK(cancel_http_status(view) == 200);
  view.record.outcome = cancel_outcome::joined;
  CHECK(cancel_http_status(view) == 202);
  view.record.status = cancel_status::settled;
  CHECK(cancel_http_status(view) == 200);
}

TEST_CASE("workers, tokens, scopes, status and events show every field") {
  json_writer worker, token, scope;
  write_worker(worker, {});
  CHECK(missing(json::parse(worker.text()),
                {"name", "status", "labels", "slots", "slots_used", "operations_live", "containment",
                 "containment_limits", "version", "address", "incarnation", "joined_at", "last_heard_at",
                 "lease_expires_at", "unreachable", "drain"}) == nothing);
  records::token_record record;
  record.hash = "the-hash";
  write_token_open(token, record);
  token.close_object();
  CHECK(missing(json::parse(token.text()),
                {"id", "name", "role", "scope", "created_at", "expires_at", "last_used_at"}) == nothing);
  CHECK(token.text().find("the-hash") == std::string::npos);
  write_scope(scope, {});
  CHECK(missing(json::parse(scope.text()), {"scope", "live", "cancelling", "cutoff_seq", "last_cancel"}) == nothing);
  json_writer cluster;
  write_status_open(cluster, {}, "0.1.0", "abc", {});
  cluster.close_object();
  const auto status = json::parse(cluster.text());
  CHECK(missing(status, {"seq", "version", "commit", "started_at", "cluster", "workers", "operations", "cancels_open",
                         "oldest_open_cancel_ms"}) == nothing);
  CHECK(status["operations"] == json({{"pending", 0}, {"running", 0}, {"paused", 0}, {"cancelling", 0}}));
  records::event_record created;
  created.id = 7;
  const auto event = json::parse(event_json(created, ""));
  CHECK(missing(event, {"id", "type", "at", "scope", "operation", "root", "cancel", "worker", "data"}) == nothing);
  CHECK(event["id"] == "7");
}

TEST_CASE("output events carry text, or base64 when the bytes are not UTF-8") {
  CHECK(json::parse(output_data_json(stream::out, 5, "grüße\n")) ==
        json({{"stream", "stdout"}, {"offset", 5}, {"text", "grüße\n"}}));
  CHECK(json::parse(output_data_json(stream::err, 0, "\xff\xfe")) ==
        json({{"stream", "stderr"}, {"offset", 0}, {"base64", "//4="}}));
}

// The library would write the numbers of enumerators, which mean nothing outside.
static_assert(!std::is_constructible_v<nlohmann::json, error_code>);
static_assert(!std::is_constructible_v<nlohmann::json, event_type>);

TEST_CASE("every error code has its status and title, and is named in the document") {
  const auto id = request_id::fresh();
  for (const auto& row : error_codes) {
    INFO(row.text);
    const auto& kind = kind_of_problem(row.code);
    CHECK(kind.code == row.code);
    CHECK((kind.status >= 400 && kind.status < 600));
    CHECK_FALSE(kind.title.empty());
    const auto j = json::parse(problem_json(from_fault(coded_fault{row.code, "why"}), id));
    CHECK(j["code"] == std::string(row.text));
    CHECK(j["type"] == "urn:quell:error:" + std::string(row.text));
    CHECK(j["status"] == kind.status);
    CHECK(j["title"] == std::string(kind.title));
    CHECK(from_fault(fault{std::string(row.text), "why", {}}).code == row.code);
  }
  const auto foreign = from_fault(fault{"of_another_program", "why", {}});
  CHECK(foreign.code == error_code::internal);
  CHECK(foreign.detail == "why");
}

TEST_CASE("a problem has all members of RFC 9457 and ours, with all bad fields") {
  auto p = from_errors({{error_code::invalid_field, "/task/command", "must not be empty"},
                        {error_code::unknown_field, "/foo", "is not a field"}});
  const auto id = request_id::fresh();
  const auto j = json::parse(problem_json(p, id));
  CHECK(missing(j, {"type", "title", "status", "code", "detail", "cancel", "errors", "request"}) == nothing);
  CHECK(j["type"] == "urn:quell:error:unknown_field");
  CHECK(j["status"] == 422);
  CHECK(j["errors"].size() == 2);
  CHECK(j["request"] == id.text());
  records::cancel_record stale;
  stale.target = records::target_scope{*scope_path::parse("team/build")};
  p = {.code = error_code::stale_start, .detail = "x", .cancel = stale};
  const auto refused = json::parse(problem_json(p, id));
  CHECK(refused["status"] == 409);
  CHECK(missing(refused["cancel"], {"id", "seq", "target", "reason", "created_at"}) == nothing);
}

TEST_CASE("strings are escaped, and bytes that are not UTF-8 become replacement characters") {
  json_writer to;
  to.open_array();
  to.put("\"\\\n\t\x01 ü");
  to.put(std::string_view("a\xff"
                          "b\0c",
                          5));
  to.close_array();
  const auto j = json::parse(to.text());
  CHECK(j[0] == "\"\\\n\t\x01 ü");
  CHECK(j[1] == std::string("a\xef\xbf\xbd"
                            "b\0c",
                            7));
}

TEST_CASE("instants go both ways, and what is none is refused") {
  const std::string text = "2026-11-20T09:51:07.123Z";
  CHECK(instant_text(*parse_instant(text)) == text);
  for (const char* edge : {"1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "9999-12-31T23:59:59.999Z"})
    CHECK(instant_text(*parse_instant(edge)) == edge);
  CHECK(instant_text(wall_time{milliseconds{-1}}) == "1969-12-31T23:59:59.999Z");
  CHECK(instant_text(wall_time{milliseconds{253'402'300'800'000}}) == "10000-01-01T00:00:00.000Z");
  CHECK(parse_instant("2026-11-20T10:51:07.1239+01:00") == parse_instant(text));
  for (const char* bad : {"", "2026-11-20", "2026-11-20T09:51:07", "2026-13-20T09:51:07Z", "2026-02-30T09:51:07Z",
                          "2026-11-20T24:00:00Z", "2026-11-20T09:51:07.Z", "2026-11-20T09:51:07Zx", "yesterday"}) {
    INFO(bad);
    CHECK_FALSE(parse_instant(bad));
  }
}

TEST_CASE("what a model wrote as an input is JSON in an answer, whatever it is") {
  const auto shown = [](const std::string& text) {
    json_writer to;
    put_json_or_text(to, text);
    return to.take();
  };
  CHECK(shown(R"({"a":1})") == R"({"a":1})");
  CHECK(shown("{oops") == R"("{oops")");
  // The parser skips a byte order mark; inside a document it would make all of it invalid.
  CHECK(shown("\xEF\xBB\xBF{}") == "{}");
  CHECK(json::accept(shown("\xEF\xBB\xBF")));
  CHECK(shown("\xEF\xBB\xBF\xEF\xBB\xBF{}") == "\"\xEF\xBB\xBF\xEF\xBB\xBF{}\"");
  CHECK(shown(std::string("{}\0{", 4)) == R"("{}\u0000{")"); // the parser would read the first two bytes alone
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(shown(deep) == '"' + deep + '"');
}
