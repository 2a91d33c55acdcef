// Invariants of an MCP session for every input, in every order and in any pieces.
#include <map>
#include <rapidcheck.h>

#include "tests/integrations/mcp/mcp_talk.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

void property(const std::string& name, const std::function<void()>& body) {
  if (!rc::check(name, body)) FAIL("falsified, see above");
}

/// The number of ends of each call, and a check that no event follows the end.
struct ends {
  std::map<mcp_call_number, int> outcomes, late;
  bool silent_after = true;
  explicit ends(const mcp_talk& talk) {
    for (const mcp_effect& one : talk.received) {
      if (const auto* tell = std::get_if<mcp_effects::tell>(&one)) {
        if (outcomes[tell->call] > 0 || late[tell->call] > 0) silent_after = false;
        if (is_end(tell->event)) ++outcomes[tell->call];
      }
      if (const auto* end = std::get_if<mcp_effects::late>(&one)) ++late[end->call];
    }
  }
};

std::string whole_transcript() {
  const auto line = [](const json& message) { return message.dump() + "\n"; };
  const auto answer = [&](int id, const json& result) {
    return line({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
  };
  std::string all = answer(4, {{"protocolVersion", "2025-06-18"}, {"serverInfo", {{"name", "ü"}}}});
  all += "not JSON\n\r\n";
  all += line({{"jsonrpc", "2.0"},
               {"method", "notifications/progress"},
               {"params", {{"progressToken", 1}, {"progress", 0.5}}}});
  all += line({{"jsonrpc", "2.0"}, {"id", "p"}, {"method", "ping"}});
  all += answer(2, text_result("zwölf\r\n€"));
  all += line({{"jsonrpc", "2.0"}, {"id", 3}, {"error", {{"code", -1}, {"message", "no"}}}});
  all += answer(5, {{"tools", json::array({tool("a")})}});
  all += answer(1, text_result("last"));
  return all;
}

struct begun : mcp_talk {
  begun() : mcp_talk(false) {
    for (int i = 0; i < 3; ++i) call();
    session.start();
    list();
  }
};

std::string outcome(mcp_talk& talk) {
  std::string all;
  for (const json& one : talk.wrote) all += one.dump() + "\n";
  for (const auto& one : talk.all<mcp_effects::tell>()) {
    all += std::to_string(one.call) + " " + std::to_string(one.event.index());
    if (const auto* end = std::get_if<mcp_call_events::finished>(&one.event)) all += end->result;
    all += "\n";
  }
  all += std::to_string(talk.all<mcp_effects::list>().size()) + " " + std::to_string(talk.received.size());
  return all;
}

} // namespace

TEST_CASE("bytes split at every position say the same") {
  const std::string bytes = whole_transcript();
  begun whole;
  whole.hear(bytes);
  const std::string expected = outcome(whole);
  CHECK(whole.all<mcp_effects::tell>().size() == 4);
  CHECK(whole.all<mcp_effects::list>().at(0).tools->size() == 1);
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    begun talk;
    talk.hear(bytes.substr(0, at));
    talk.hear(bytes.substr(at));
    REQUIRE(outcome(talk) == expected);
  }
  begun single;
  for (const char byte : bytes) single.hear(std::string(1, byte));
  CHECK(outcome(single) == expected);
}

TEST_CASE("whatever order answers, late answers, cancels and the end come in, each call ends exactly once") {
  property("one end for each call", [] {
    mcp_talk talk(false);
    std::vector<mcp_call_number> calls;
    bool started = false, shaken = false;
    const auto steps = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(
        rc::gen::pair(rc::gen::inRange<std::uint8_t>(0, 12), rc::gen::arbitrary<std::uint8_t>()));
    for (const auto& [what, which] : steps) {
      const mcp_call_number some = calls.empty() ? 0 : calls[which % calls.size()];
      switch (what) {
      case 0:
      case 1:
      case 2:
        calls.push_back(talk.call("t", which % 8 == 0 ? "no object" : "{}"));
        break;
      case 3:
        if (!std::exchange(started, true)) talk.session.start(), talk.look();
        break;
      case 4:
        // A call that was closed before it started has sent no request.
        if (const auto requests_found = talk.wrote_of("initialize");
            !requests_found.empty() && !std::exchange(shaken, true)) {
          talk.answer(requests_found[0]["id"], {{"protocolVersion", which % 16 == 0 ? "?" : "2025-11-25"}});
        }
        break;
      case 5:
      case 6:
        talk.answer(some, text_result("r"));
        break;
      case 7:
        talk.refuse(some, -1, "e");
        break;
      case 8:
        talk.progress(some, which);
        break;
      case 9:
      case 10:
        talk.cancel(some);
        break;
      default:
        talk.session.stop_waiting(some);
        talk.look();
        if (which % 32 == 0) talk.close();
      }
      const ends so_far(talk);
      RC_ASSERT(so_far.silent_after);
    }
    talk.close();
    ends all(talk);
    RC_ASSERT(all.silent_after);
    for (const mcp_call_number call : calls) RC_ASSERT(all.outcomes[call] + all.late[call] == 1);
    // No request is cancelled that the test did not cancel.
    for (const json& one : talk.wrote_of("notifications/cancelled")) {
      bool requests_found = false;
      for (const json& call : talk.wrote_of("tools/call")) requests_found |= call["id"] == one["params"]["requestId"];
      RC_ASSERT(requests_found);
    }
  });
}

TEST_CASE("garbage, and good messages with bytes changed, are survived") {
  property("a session takes anything", [] {
    begun talk;
    std::string bytes = whole_transcript();
    const auto changes = *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
        rc::gen::pair(rc::gen::inRange<std::size_t>(0, bytes.size()), rc::gen::arbitrary<char>()));
    for (const auto& [at, byte] : changes) bytes[at] = byte;
    bytes += *rc::gen::arbitrary<std::string>();
    const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size());
    talk.hear(bytes.substr(0, cut));
    talk.hear(bytes.substr(cut));
    talk.close();
    ends all(talk);
    RC_ASSERT(all.silent_after);
    for (const mcp_call_number call : {1, 2, 3}) RC_ASSERT(all.outcomes[call] + all.late[call] == 1);
    RC_ASSERT(talk.all<mcp_effects::list>().size() == 1);
  });
}
