// The texts of faults of MCP servers and remote agents, which models read in results.
#include "integrations/mcp/server_code.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace quell;

TEST_CASE("faults of servers keep their texts, and two of them are refusals", "[vocabulary][mcp]") {
  std::string all, refusals;
  for (const auto& row : server_codes) {
    all += std::string(row.text) + " ";
    if (is_refusal(failure_of(row.code, "no"))) refusals += std::string(row.text) + " ";
  }
  CHECK(all == "mcp_unreachable mcp_refused mcp_timeout mcp_broken mcp_login_needed a2a_unreachable a2a_refused "
               "a2a_broken a2a_lost ");
  CHECK(refusals == "mcp_refused a2a_refused ");
}
