// Exit codes: every row of the two tables.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"

using nlohmann::json;
using namespace quell::cli;

namespace {
problem with(int status, const std::string& code) {
  problem p;
  p.status = status;
  p.code = code;
  return p;
}
json ended(const char* status, json exit, json error = nullptr) {
  return {{"status", status}, {"exit", std::move(exit)}, {"error", std::move(error)}};
}
/// The number that the shell gets.
int number(exit_code code) { return static_cast<int>(code); }
} // namespace

TEST_CASE("a problem has one exit code") {
  CHECK(number(exit_of_problem(with(500, "internal"))) == 1);
  CHECK(number(exit_of_problem(with(409, "worker_busy"))) == 1);
  CHECK(number(exit_of_problem(local_problem(local_code::usage, "x"))) == 2);
  CHECK(number(exit_of_problem(local_problem(local_code::ambiguous, "x"))) == 2);
  CHECK(number(exit_of_problem(with(422, "bad_scope"))) == 2);
  CHECK(number(exit_of_problem(with(422, "invalid_field"))) == 2); // a name or a type that the controller refuses
  CHECK(number(exit_of_problem(with(422, "unknown_field"))) == 1); // the fault of the program, not of the person
  CHECK(number(exit_of_run_problem(with(422, "invalid_field"))) == 125);
  CHECK(number(exit_of_problem(with(404, "operation_not_found"))) == 3);
  CHECK(number(exit_of_problem(local_problem(local_code::unreachable, "x"))) == 5);
  CHECK(number(exit_of_problem(with(401, "unauthenticated"))) == 6);
  CHECK(number(exit_of_problem(with(403, "scope_forbidden"))) == 6);
  CHECK(number(exit_of_problem(with(409, "stale_start"))) == 7);
  CHECK(number(exit_of_run_problem(with(409, "stale_start"))) == 130);
  CHECK(number(exit_of_run_problem(with(403, "forbidden"))) == 125);
}

TEST_CASE("an operation ends run as its command ended") {
  CHECK(number(exit_of_operation(ended("completed", {{"code", 0}}))) == 0);
  CHECK(number(exit_of_operation(ended("failed", {{"code", 3}}, {{"code", "error"}}))) == 3);
  CHECK(number(exit_of_operation(ended("failed", {{"signal", "SEGV"}}, {{"code", "error"}}))) == 139);
  CHECK(number(exit_of_operation(ended("failed", {{"signal", "TERM"}}, {{"code", "timeout"}}))) == 124);
  CHECK(number(exit_of_operation(ended("failed", nullptr, {{"code", "worker_lost"}}))) == 125);
  CHECK(number(exit_of_operation(ended("failed", {{"code", 127}}, {{"code", "start_failed"}}))) == 127);
  CHECK(number(exit_of_operation(ended("failed", nullptr, {{"code", "start_failed"}}))) == 126);
  CHECK(number(exit_of_operation(ended("cancelled", {{"signal", "KILL"}}))) == 130);
  CHECK(number(exit_of_operation(ended("cancelled", {{"code", 0}}))) == 130);
  CHECK(number(exit_of_operation(json::array())) == 125);
}

TEST_CASE("a cancel is 0 only when it is proven or the level asked was reached") {
  const auto cancel = [](const char* outcome, const char* status, bool proven) {
    return json{{"outcome", outcome},
                {"status", status},
                {"dry_run", false},
                {"report", {{"proven", proven}, {"operations", 2}}}};
  };
  CHECK(number(exit_of_cancel(cancel("stopping", "settled", true), "settled")) == 0);
  CHECK(number(exit_of_cancel(cancel("joined", "settled", true), "settled")) == 0);
  CHECK(number(exit_of_cancel(cancel("stopping", "settled", false), "settled")) == 4);
  CHECK(number(exit_of_cancel(cancel("stopping", "signalled", false), "settled")) == 4);
  CHECK(number(exit_of_cancel(cancel("stopping", "signalled", false), "signalled")) == 0);
  CHECK(number(exit_of_cancel(cancel("stopping", "fenced", false), "signalled")) == 4);
  CHECK(number(exit_of_cancel(cancel("stopping", "fenced", false), "fenced")) == 0);
  CHECK(number(exit_of_cancel(cancel("nothing_live", "settled", true), "settled")) == 3);
  CHECK(number(exit_of_cancel(cancel("unknown_id", "settled", true), "settled")) == 3);
  CHECK(number(exit_of_cancel(cancel("already_finished", "settled", true), "settled")) == 0);
}

TEST_CASE("of several outcomes the one that most needs a look decides") {
  CHECK(worst_exit({exit_code::done, exit_code::done}) == exit_code::done);
  CHECK(worst_exit({exit_code::done, exit_code::nothing}) == exit_code::nothing);
  CHECK(worst_exit({exit_code::nothing, exit_code::unproven, exit_code::done}) == exit_code::unproven);
  CHECK(worst_exit({exit_code::unproven, exit_code::unreachable}) == exit_code::unreachable);
}

TEST_CASE("signal names are those of the API, with or without SIG") {
  CHECK(signal_number("KILL") == 9);
  CHECK(signal_number("SIGTERM") == 15);
  CHECK(signal_number("") == 0);
  CHECK(signal_number("NOPE") == 0);
}
