// A human approves a call with another input: the decision and the input are one transaction.
#include <catch2/catch.hpp>

#include "tests/controller/ledger/actors_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::testing;

namespace {

/// The inputs that were kept, each with the number of events `approval_resolved` in its batch.
std::vector<std::pair<std::string, std::size_t>> changes_of(const actors_world& w) {
  std::vector<std::pair<std::string, std::size_t>> found;
  for (const auto& batch : w.batches) {
    std::size_t resolved = 0;
    for (const auto& e : batch)
      if (const auto* event = std::get_if<records::put_event>(&e))
        resolved += event->record.type == event_type::approval_resolved ? 1 : 0;
    for (const auto& e : batch)
      if (const auto* change = std::get_if<records::put_call_change>(&e); change && change->operation == w.id("call"))
        found.emplace_back(change->changed, resolved);
  }
  return found;
}

bool decides(actors_world& w, bool yes, const std::string& changed) {
  decision d{approved_or_denied(yes), "", {"ann", "Ann"}, R"({"decision":"x"})"};
  d.changed = changed;
  const bool done = w.core->actors()->decide(w.id("call"), d, failed_result, w.now).has_value();
  w.roll_out();
  return done;
}

} // namespace

TEST_CASE("a changed input is kept with the approval, once") {
  actors_world w;
  go_to(w, stage::paused);
  REQUIRE(decides(w, true, "other"));
  CHECK_FALSE(decides(w, true, "again"));
  CHECK(changes_of(w) == std::vector<std::pair<std::string, std::size_t>>{{"other", 1}});
}

TEST_CASE("nothing is kept of a denial, of a stopped call, or without a change") {
  const bool yes = GENERATE(false, true);
  actors_world w;
  go_to(w, stage::paused);
  if (yes) {
    w.cancels("call");
    CHECK_FALSE(decides(w, true, "other"));
  } else {
    REQUIRE(decides(w, false, "other"));
  }
  CHECK(changes_of(w).empty());
  actors_world plain;
  go_to(plain, stage::approved);
  CHECK(changes_of(plain).empty());
}
