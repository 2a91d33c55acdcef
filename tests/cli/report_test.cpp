// The report of a cancel, its progress, and an operation in words.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/report.hpp"

using nlohmann::json;
using namespace quell::cli;
using quell::printable;

namespace {

const view at_noon{*parse_instant("2026-11-20T09:52:01.004Z"), time_zone::utc, false, character_set::utf8};

json cancel() {
  return json::parse(
      R"({"id":"01a1f86a-0b77-7c55-9a3d-8e41d2c7f019","target":{"scope":"team/build"},"outcome":"stopping","status":"signalled","durable":true,"reason":"wrong branch",
    "report":{"operations":37,"workers":["w1","w2"],"receipts":{"terminated":18,"killed":2,"unconfirmed":0},"proofs":{"cgroup_empty":20},"unproven_total":3,
    "unproven":[{"operation":"01a1f869-3df9-7303-8207-dde70bee07dd","title":"crawler","worker":"w2","why":"in_grace","since_at":"2026-11-20T09:52:00.004Z","processes_total":2,
      "processes":[{"pid":4242,"state":"S","command":"python3 crawl.py"}],"next":{"action":"kill","at":"2026-11-20T09:52:02.004Z"},"dead_by":"2026-11-20T09:52:02.504Z"},
      {"operation":"01a1f869-3df9-7303-8207-dde70bee0700","title":null,"worker":"w3","why":"worker_unreachable","since_at":"2026-11-20T09:51:50.000Z","processes_total":0,"processes":[],
      "next":{"action":"lease_expiry","at":"2026-11-20T09:52:11.004Z"},"dead_by":"2026-11-20T09:52:11.004Z"}],
    "fenced_ms":0.412,"signalled_ms":1.087,"settled_ms":null,"proven":false}})");
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return true;
}

} // namespace

TEST_CASE("an open report says what is not proven, why, since when, and what comes next") {
  const auto text = report_text(cancel(), at_noon);
  has(text, "cancel d2c7f019 of scope team/build: signalled, 37 operations on w1, w2");
  has(text, "18 terminated");
  has(text, "20 cgroup_empty");
  has(text, "fenced 0.412 ms, signalled 1.087 ms, settled -");
  has(text, "not proven: 3 operations");
  has(text, "0bee07dd crawler on w2: in grace: told to stop, has time until the kill, since 09:52:00Z (1.0s ago)");
  has(text, "next: the kill, 09:52:02Z (in 1.0s); dead by 09:52:02Z");
  has(text, "process 4242 S python3 crawl.py");
  has(text, "and 1 more process");
  CHECK(text.find("0 unconfirmed") == std::string::npos);
}

TEST_CASE("a settled report says proven only if it is") {
  auto c = cancel();
  c["status"] = "settled";
  c["report"].update({{"proven", true}, {"unproven_total", 0}, {"unproven", json::array()}, {"settled_ms", 2012.5}});
  has(report_text(c, at_noon), "stopped, proven");
  has(report_text(c, at_noon), "settled 2.01 s");
  c["report"]["proven"] = false;
  c["report"]["receipts"]["unconfirmed"] = 2;
  has(report_text(c, at_noon), "settled, not proven");
  has(report_text(c, at_noon), "2 operations unconfirmed");
  c["durable"] = false;
  has(report_text(c, at_noon), "not on disk");
}

TEST_CASE("progress is one line with what is left, the next kill and silent workers") {
  const auto line = progress_text(cancel(), at_noon);
  has(line, "3 of 37 operations left");
  has(line, "1 in grace, kill in 1.0s");
  has(line, "w3 unreachable, dead by 09:52:11Z (in 10s)");
  CHECK(line.find('\n') == std::string::npos);
}

TEST_CASE("odd answers are shown without a fall") {
  for (const auto& odd : {json(nullptr), json::object(), json{{"report", 5}},
                          json{{"report", {{"unproven", "x"}, {"receipts", json::array()}}}}, json{{"target", "x"}}}) {
    report_text(odd, at_noon);
    progress_text(odd, at_noon);
    dry_run_text(odd, at_noon, 0);
    operation_state(odd, at_noon);
    operation_reasons(odd, at_noon);
  }
  SUCCEED();
}

TEST_CASE("what others wrote cannot drive the terminal") {
  CHECK(printable("a\x1b[31m\nb\x07") == "a?[31m?b?");
  CHECK(printable("\xc2\x9b") == "??");
  CHECK(printable("hällo") == "hällo");
  // Direction marks and characters without width: U+202E, U+2066, U+200B, U+200D, U+FEFF, U+00AD, a tag, U+061C.
  for (const char* unseen : {"\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u00ad", "\U000e0041", "\u061c"}) {
    CHECK(printable("a" + std::string(unseen) + "b") == "a?b");
    const auto line = to_line(nlohmann::json{{"t", unseen}});
    CHECK(line.find(unseen) == std::string::npos);
    CHECK(nlohmann::json::parse(line).at("t") == unseen);
  }
  CHECK(printable("\u23f9\ufe0f") == "\u23f9");
  CHECK(printable("\xff\xe2\x80") == "???"); // not UTF-8
  CHECK(to_line(nlohmann::json{{"t", "h\u00e4llo \u65e5\u672c"}}) == "{\"t\":\"h\u00e4llo \u65e5\u672c\"}");
}

TEST_CASE("an operation says its state in words") {
  CHECK(operation_state({{"status", "failed"}, {"exit", {{"code", 3}}}, {"error", {{"code", "error"}}}}, at_noon) ==
        "failed exit 3");
  CHECK(operation_state({{"status", "failed"}, {"error", {{"code", "timeout"}}}}, at_noon) == "failed timeout");
  CHECK(operation_state({{"status", "pending"}, {"waiting_for", {{"what", "slot"}}}}, at_noon) == "pending (slot)");
  CHECK(operation_state({{"status", "cancelled"}, {"stop", {{"receipt", "killed"}}}}, at_noon) == "cancelled killed");
  CHECK(operation_state({{"status", "cancelling"}, {"stop", {{"kill_at", "2026-11-20T09:52:02.004Z"}}}}, at_noon) ==
        "cancelling (kill in 1.0s)");
  CHECK(command_text(json{"sh", "-c", "echo 'hi there'"}) == "sh -c 'echo '\\''hi there'\\'''");
}
