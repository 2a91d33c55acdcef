// The codes of failed operations: each enumerator has its text, each text its enumerator, and the texts are those that
// clients know and that old rows have.
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "protocol/failure_code.hpp"

using namespace quell;

TEST_CASE("texts of failure codes are complete and unique", "[vocabulary]") {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < failure_codes.size(); ++i) {
    const auto code = static_cast<failure_code>(i);
    const auto text = name_of(code);
    INFO(text);
    CHECK_FALSE(text.empty());
    CHECK(seen.insert(text).second);
    CHECK(failure_code_of(text) == code);
    CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
  }
  CHECK_FALSE(failure_code_of(""));
  CHECK_FALSE(failure_code_of("the owner's own"));
  CHECK_FALSE(failure_code_of("error "));
}

// Clients switch on these texts, and rows have them: a code may be added, but none may change.
TEST_CASE("the texts of failure codes are those that clients know", "[vocabulary]") {
  std::string all;
  for (const auto& row : failure_codes) all += std::string(row.text) + ' ';
  CHECK(all ==
        "error start_failed timeout worker_lost heartbeat_lost interrupted forbidden_move model_overloaded "
        "model_unavailable model_unpaid model_refused model_timeout model_cut model_broken context_overflow budget "
        "repetition too_many_calls answer_too_large cancelled cancelled_by_user denied invalid_input "
        "unknown_tool unknown_task unknown_model not_configured not_sent outcome_unknown not_text too_deep "
        "too_many_background too_many_sub_agents tool_broken tool_failed agent_unreachable mcp_unreachable "
        "workspace_busy workspace_gone workspace_isolation workspace_full ");
}

TEST_CASE("a fault of a failure code has its text, and is asked for by its name", "[vocabulary]") {
  const result<int> failed = failure(failure_code::invalid_input, "what is wrong", "/name");
  REQUIRE_FALSE(failed);
  CHECK(failed.error() == fault{"invalid_input", "what is wrong", "/name"});
  CHECK(has_code(failed.error(), failure_code::invalid_input));
  CHECK_FALSE(has_code(failed.error(), failure_code::denied));
  CHECK_FALSE(has_code(fault{"Invalid_input", "", {}}, failure_code::invalid_input));
}
