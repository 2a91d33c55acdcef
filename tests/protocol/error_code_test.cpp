// The codes of errors: each enumerator has its text, each text its enumerator, and the texts are those that clients
// know.
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "protocol/fault.hpp"

using namespace quell;

TEST_CASE("texts of error codes are complete and unique", "[vocabulary]") {
  CHECK(error_codes.size() == static_cast<std::size_t>(error_code::shutting_down) + 1);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < error_codes.size(); ++i) {
    const auto code = static_cast<error_code>(i);
    const auto text = text_of(code);
    INFO(text);
    CHECK_FALSE(text.empty());
    CHECK(seen.insert(text).second);
    CHECK(error_code_of(text) == code);
    CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
  }
  CHECK_FALSE(error_code_of(""));
  CHECK_FALSE(error_code_of("model_refused"));
  CHECK_FALSE(error_code_of("internal "));
}

// Clients switch on these texts: a code may be added, but none may change.
TEST_CASE("the texts of error codes are those that clients know", "[vocabulary]") {
  std::string all;
  for (const auto& row : error_codes) all += std::string(row.text) + ' ';
  CHECK(all == "bad_json bad_request unauthenticated forbidden scope_forbidden operation_not_found cancel_not_found "
               "worker_not_found token_not_found mcp_server_not_found login_not_found message_not_found blob_not_found "
               "not_found method_not_allowed stale_start parent_ended id_conflict already_terminal not_started "
               "not_cancelling not_paused not_external login_failed needs_restart turn_running history_changed "
               "history_in_use not_changeable worker_busy events_expired unknown_host too_large unsupported_media_type "
               "invalid_field invalid_values unknown_field bad_scope bad_id scope_outside_parent no_such_worker "
               "no_target rate_limited too_many_operations budget internal storage_unavailable not_ready "
               "shutting_down ");
}

TEST_CASE("a fault keeps the text of its code, and a code that is not listed is internal at the border") {
  const fault listed = failure(error_code::worker_busy, "it has work", "/worker").value();
  CHECK(listed == fault{"worker_busy", "it has work", "/worker"});
  CHECK(has_code(listed, error_code::worker_busy));
  CHECK_FALSE(has_code(listed, error_code::internal));
  CHECK(coded(listed) == coded_fault{error_code::worker_busy, "it has work", "/worker"});
  const fault foreign{"out_of_credits", "says the owner", {}};
  CHECK(coded(foreign) == coded_fault{error_code::internal, "says the owner", {}});
  for (const auto& row : error_codes) {
    const fault f = coded_fault{row.code, "why"};
    CHECK(f.code == row.text);
    CHECK(coded(f).code == row.code);
  }
}
