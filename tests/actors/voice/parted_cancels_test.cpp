// Cancels that wait for the next client of their speaker: how many, and how long.
#include <catch2/catch.hpp>

#include "actors/voice/parted_cancels.hpp"

using namespace quell;
using namespace quell::controller::voice;
using namespace std::chrono_literals;

namespace {

const auto parted_scope = *scope_path::parse("talk/room");
constexpr boot_time parted_at{1'000'000'000};

} // namespace

TEST_CASE("a kept cancel is taken once, by its speaker, in its scope, in time", "[voice]") {
  parted_cancels all;
  all.keep(parted_scope, "ada", parted_at);
  all.keep(parted_scope, "ada", parted_at + 1min); // counts from the last one
  CHECK_FALSE(all.take(parted_scope, "rob", parted_at));
  CHECK_FALSE(all.take(*scope_path::parse("talk/room/below"), "ada", parted_at));
  CHECK(all.take(parted_scope, "ada", parted_at + parted_cancel_lasts));
  CHECK_FALSE(all.take(parted_scope, "ada", parted_at + parted_cancel_lasts));
  all.keep(parted_scope, "ada", parted_at);
  CHECK_FALSE(all.take(parted_scope, "ada", parted_at + parted_cancel_lasts));
}

TEST_CASE("of too many cancels the oldest are forgotten", "[voice]") {
  parted_cancels all;
  for (std::size_t i = 0; i <= most_parted_cancels; ++i) all.keep(parted_scope, std::to_string(i), parted_at);
  CHECK_FALSE(all.take(parted_scope, "0", parted_at));
  for (std::size_t i = 1; i <= most_parted_cancels; ++i) CHECK(all.take(parted_scope, std::to_string(i), parted_at));
}
