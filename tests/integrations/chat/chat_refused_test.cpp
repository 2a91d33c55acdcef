// Deliveries that quelld could not take for the moment, and stops that are heard before they come again.
#include <catch2/catch.hpp>

#include "integrations/chat/refused_deliveries.hpp"

using namespace quell;
using namespace quell::integrations::chat;

namespace {

using refused_keys = std::vector<std::string>;

refused_delivery refused_in(const std::string& scope, const std::string& posted) {
  return {*scope_path::parse(scope), posted};
}

} // namespace

TEST_CASE("a stop covers the deliveries that were refused before it in its scope", "[chat]") {
  refused_deliveries refused;
  refused.add("a", refused_in("slack/T/C/1", "1"));
  refused.add("b", refused_in("slack/T/D", "2"));
  refused.add("c", refused_in("slack/T/C", "3"));
  refused.add("a", refused_in("slack/T/C/1", "1")); // a repetition that was refused again
  CHECK(refused.size() == 3);
  refused.taken("c");
  const auto channel = *scope_path::parse("slack/T/C");
  CHECK(refused.stop(channel, "9").keys == refused_keys{"a"});
  CHECK(refused.stop(channel, "9").keys.empty());
  CHECK(refused.stop(*scope_path::parse("slack"), "9").keys == refused_keys{"b"});
  for (int i = 0; i < 2000; ++i) refused.add(std::to_string(i), refused_in("slack/T/C", "1"));
  CHECK(refused.size() == 1000);
}

TEST_CASE("a stop that is delivered late covers nothing that was said after it, and not itself", "[chat]") {
  refused_deliveries refused;
  const auto channel = *scope_path::parse("slack/T/C");
  refused.add("before", refused_in("slack/T/C/1", "1700000000.000900"));
  refused.add("stop", {channel, "1700000001.000100", false});
  refused.add("after", refused_in("slack/T/C/2", "1700000001.000200"));
  const auto covered = refused.stop(channel, "1700000001.000100");
  CHECK(covered.keys == refused_keys{"before"});
  CHECK(covered.requests == 1);
  CHECK(refused.contains("after"));
  CHECK(refused.size() == 2);
  // A later stop takes the refused one with it, which is not a request that did not begin.
  const auto both = refused.stop(channel, "1700000002.000000");
  CHECK(both.keys == refused_keys{"stop", "after"});
  CHECK(both.requests == 1);
}

TEST_CASE("what an edit or a deletion does to a refused message is as the settings say", "[chat]") {
  const change_rules usual, quiet{on_deletion::ignore, on_edit::ignore}, strict{on_deletion::stop, on_edit::stop};
  CHECK(change_of_refused(usual, true, false) == refused_change::leave_out);
  CHECK(change_of_refused(usual, false, false) == refused_change::ask);
  CHECK(change_of_refused(usual, false, true) == refused_change::leave_out);
  CHECK(change_of_refused(strict, false, false) == refused_change::leave_out);
  CHECK(change_of_refused(quiet, true, false) == refused_change::none);
  CHECK(change_of_refused(quiet, false, false) == refused_change::none);
  CHECK(change_of_refused(quiet, false, true) == refused_change::leave_out); // such an edit is always a stop
}

TEST_CASE("what is left out for good is told to the connector once", "[chat]") {
  refused_deliveries refused;
  refused_keys marked;
  const auto add = [&](const std::string& key, bool is_request = true) {
    refused.add(key, {*scope_path::parse("slack/T/C"), "1", is_request, [&marked, key] { marked.push_back(key); }});
  };
  add("covered");
  add("deleted");
  add("stop", false);
  add("taken");
  refused.taken("taken");
  CHECK(refused.contains("deleted"));
  CHECK(refused.leave_out("deleted"));
  CHECK_FALSE(refused.contains("deleted"));
  CHECK_FALSE(refused.leave_out("deleted"));
  CHECK_FALSE(refused.contains("stop")); // a word to stop stays said
  CHECK_FALSE(refused.leave_out("stop"));
  CHECK(marked == refused_keys{"deleted"});
  refused.stop(*scope_path::parse("slack/T"), "2");
  refused.stop(*scope_path::parse("slack/T"), "2");
  CHECK(marked == refused_keys{"deleted", "covered", "stop"});
}
