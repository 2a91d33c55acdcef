// The types of events: each enumerator has its text, each text its enumerator, and the texts are those that clients and
// stores know.
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "protocol/event_type.hpp"

using namespace quell;

TEST_CASE("texts of event types are complete and unique", "[vocabulary]") {
  CHECK(listed_event_types.size() == static_cast<std::size_t>(event_type::unlisted));
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < listed_event_types.size(); ++i) {
    const auto type = static_cast<event_type>(i);
    const auto text = text_of(type);
    INFO(text);
    CHECK_FALSE(text.empty());
    CHECK(seen.insert(text).second);
    CHECK(event_type_of(text) == type);
    CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
  }
}

TEST_CASE("a text that is not listed is not a type, not even unlisted", "[vocabulary]") {
  CHECK_FALSE(event_type_of(""));
  CHECK_FALSE(event_type_of("unlisted"));
  CHECK_FALSE(event_type_of("of_another_version"));
  CHECK_FALSE(event_type_of("audit "));
  CHECK(text_of(event_type::unlisted).empty());
}

// Stores hold these texts and clients switch on them: a type may be appended, but none may change.
TEST_CASE("the texts of event types are those of the first release with them", "[vocabulary]") {
  std::string all;
  for (const auto& row : listed_event_types) all += std::string(row.text) + ' ';
  CHECK(all == "operation_created operation_started operation_paused operation_resumed operation_cancelling "
               "operation_completed operation_failed operation_cancelled cancel_fenced cancel_signalled "
               "cancel_progress cancel_settled worker_joined worker_unreachable worker_lost worker_draining "
               "worker_removed worker_disputed worker_key_changed audit message_decided acknowledgement turn_start "
               "turn_resumed turn_steered turn_complete turn_abort text_delta thinking_delta tool_start tool_progress "
               "tool_output tool_timeout tool_result approval_required approval_resolved model_queued model_asked "
               "model_retry model_fallback model_usage history_compacted output ");
}

TEST_CASE("the end of an operation has its event", "[vocabulary]") {
  std::size_t ends = 0;
  for (std::size_t i = 0; i < count_of<status>(); ++i) {
    const auto how = static_cast<status>(i);
    INFO(name_of(how));
    const auto event = event_of_end(how);
    CHECK((event != event_type::unlisted) == is_terminal(how));
    if (!is_terminal(how)) continue;
    CHECK(text_of(event) == "operation_" + std::string(name_of(how)));
    CHECK(ends_operation(event));
  }
  for (const auto& row : listed_event_types) ends += ends_operation(row.type) ? 1 : 0;
  CHECK(ends == 3);
  CHECK_FALSE(ends_operation(event_type::unlisted));
}
