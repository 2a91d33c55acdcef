// The additional fields of an external operation's row, and what is kept of a late report.
#include <catch2/catch.hpp>

#include "controller/external_operations.hpp"

using namespace quell;
using namespace quell::controller;

TEST_CASE("an external operation's block reads back as it was written", "[externals]") {
  const char* sessions[] = {"",       "s1",   "say \"x\\y\"",           "tab\tline\nend\r", "\b\f\x01\x1f\x7f",
                            "Zürich", "null", "\",\"start\":\"later\"}"};
  for (const char* session : sessions)
    for (const auto start : {start_when::now, start_when::later}) {
      INFO(session);
      const external_spec spec{.lease = milliseconds{90'000}, .session = session, .start = start};
      CHECK(read_external_block(external_block(spec)) == spec);
    }
  CHECK(external_block({.lease = milliseconds{5}, .session = "s"}) == R"({"lease_ms":5,"session":"s","start":"now"})");
}

TEST_CASE("a block with any escape that JSON has for ASCII is read, and an unreadable one gives the defaults",
          "[externals]") {
  CHECK(read_external_block(R"({"lease_ms":0,"session":"\u0041\/\b\u001F","start":"later"})") ==
        external_spec{.session = "A/\b\x1f", .start = start_when::later});
  for (const char* wrong :
       {"", "{}", "null", R"({"lease_ms":5)", R"({"lease_ms":x,"session":null,"start":"now"})",
        R"({"lease_ms":5,"session":"s)", R"({"lease_ms":5,"session":"s\)",
        R"({"lease_ms":5,"session":"\u00","start":"now"})", R"({"lease_ms":5,"session":"\u00e9","start":"now"})",
        R"({"lease_ms":5,"session":"\x","start":"now"})", R"({"lease_ms":5,"session":null,"start":"soon"})",
        R"({"lease_ms":5,"session":null,"start":"now"} )"}) {
    INFO(wrong);
    CHECK(read_external_block(wrong) == external_spec{});
  }
}

TEST_CASE("a late report keeps its result or its error beside its time", "[externals]") {
  const auto id = operation_id::fresh();
  const wall_time at{milliseconds{1'763'632'267'123}};
  CHECK(late_report_text({id, owner_word::complete, R"({"x":[1]})", {}}, at) ==
        R"({"report":"complete","reported_at":"2025-11-20T09:51:07.123Z","result":{"x":[1]}})");
  CHECK(late_report_text({id, owner_word::fail, {}, records::operation_error{"no \"luck\"", "m"}}, at) ==
        R"({"error":{"code":"no \"luck\"","message":"m"},"report":"fail","reported_at":"2025-11-20T09:51:07.123Z"})");
  CHECK(late_report_text({id, owner_word::stopped, {}, {}}, at) ==
        R"({"report":"stopped","reported_at":"2025-11-20T09:51:07.123Z"})");
  const auto huge = late_report_text({id, owner_word::complete, '"' + std::string(70'000, 'x') + '"', {}}, at);
  CHECK(huge.find("result") == std::string::npos);
}
