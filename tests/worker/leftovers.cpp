// A worker's knowledge of the lives before it, over any deaths.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/worker/fake_controller.hpp"
#include "worker/leftovers.hpp"

using namespace quell;
using namespace quell::test;
using namespace quell::worker;

namespace {

struct life : leftovers {
  life(const scratch_directory& state, bool earlier_ended, const std::string& boot = "boot-1")
      : leftovers(state.path, boot) {
    guardian_begins();
    guardian_began(earlier_ended);
  }
};

const auto all = [](const operation_id&) { return true; };

} // namespace

TEST_CASE("absence proves after guardians that ended by themselves", "[leftovers]") {
  scratch_directory state;
  CHECK(life(state, true).absence_is_proof());
  CHECK(life(state, true).absence_is_proof());
}

TEST_CASE("a doubt lasts until a session has begun with it, however many lives that takes", "[leftovers]") {
  scratch_directory state;
  CHECK_FALSE(life(state, false).absence_is_proof()); // and it dies before it has a session
  CHECK_FALSE(life(state, true).absence_is_proof());  // its guardian ended well, the one before did not
  {
    life third(state, true);
    CHECK_FALSE(third.absence_is_proof());
    third.mark_reported();
    CHECK(third.absence_is_proof());
  }
  CHECK(life(state, true).absence_is_proof());
}

TEST_CASE("a guardian that dies in this life leaves a doubt until the results of what it had are stored",
          "[leftovers]") {
  scratch_directory state;
  const auto one = operation_id::fresh(), other = operation_id::fresh();
  {
    life first(state, true);
    first.mark_reported();
    first.guardian_died({one, other});
    CHECK_FALSE(first.absence_is_proof());
    first.mark_reported();
    first.forgotten([&](const operation_id& id) { return id == one; });
    CHECK_FALSE(first.absence_is_proof());
  }
  CHECK_FALSE(life(state, true).absence_is_proof()); // killed before the second result was stored
  {
    life second(state, true);
    second.mark_reported();
    second.guardian_died({one});
    second.forgotten(all);
    CHECK_FALSE(second.absence_is_proof()); // for the rest of this life
  }
  CHECK(life(state, true).absence_is_proof());
}

TEST_CASE("a guardian that dies before the first session leaves both doubts", "[leftovers]") {
  scratch_directory state;
  {
    life first(state, false);
    first.guardian_died({operation_id::fresh()});
    first.forgotten(all); // and the leftovers of an earlier life are not reported yet
  }
  CHECK_FALSE(life(state, true).absence_is_proof());
}

TEST_CASE("a guardian that did not begin leaves things as they were", "[leftovers]") {
  scratch_directory state;
  {
    leftovers failed(state.path, "boot-1");
    failed.guardian_begins();
    failed.guardian_never_began();
  }
  CHECK(life(state, true).absence_is_proof());
  CHECK_FALSE(life(state, false).absence_is_proof());
  {
    leftovers failed(state.path, "boot-1");
    failed.guardian_begins();
    failed.guardian_never_began();
  }
  CHECK_FALSE(life(state, true).absence_is_proof());
}

TEST_CASE("nothing outlives a reboot", "[leftovers]") {
  scratch_directory state;
  CHECK_FALSE(life(state, false).absence_is_proof());
  CHECK(life(state, true, "boot-2").absence_is_proof());
}
