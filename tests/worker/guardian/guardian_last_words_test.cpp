// A guardian that ends by itself leaves a notice for the next one; a killed one cannot.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/worker/guardian/guardian_ward.hpp"

using namespace quell;
using namespace quell::worker;
using namespace quell::worker::test;

namespace {

struct lives {
  std::string subtree = "quell-test-" + fresh_mark();
  std::string lock = lock_of(subtree);
  ~lives() { std::filesystem::remove(lock); }
  std::unique_ptr<guardian_client> next() {
    auto launched = guardian_client::launch({QUELL_GUARDIAN_BINARY, subtree, containment::group, lock});
    REQUIRE(launched);
    return std::move(*launched);
  }
};

} // namespace

TEST_CASE("the next guardian is told whether the last one ended by itself") {
  lives w;
  CHECK(w.next()->report().earlier_ended); // there was no earlier guardian
  auto second = w.next();
  CHECK(second->report().earlier_ended);
  ::kill(second->pid(), SIGKILL);
  second.reset();
  CHECK_FALSE(w.next()->report().earlier_ended);
  CHECK(w.next()->report().earlier_ended); // the reader of the notice keeps it (leftovers.hpp)
}

TEST_CASE("a guardian killed in an earlier boot left nothing") {
  lives w;
  std::ofstream(w.lock) << "4711 another-boot\n";
  CHECK(w.next()->report().earlier_ended);
}

TEST_CASE("a life file of an earlier version proves nothing") {
  lives w;
  std::ofstream(w.lock) << "4711\n";
  CHECK_FALSE(w.next()->report().earlier_ended);
}

TEST_CASE("a guardian that cannot begin leaves the last words as they were") {
  lives w;
  ::kill(w.next()->pid(), SIGKILL);
  const auto before = file_text(w.lock);
  auto failed = guardian_client::launch({QUELL_GUARDIAN_BINARY, "a/b", containment::group, w.lock});
  REQUIRE_FALSE(failed);
  CHECK(file_text(w.lock) == before);
  CHECK_FALSE(w.next()->report().earlier_ended);
}
