// The texts of the store's faults, which operators read in the log.
#include "controller/store_code.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace quell;

TEST_CASE("faults of the store keep their texts", "[vocabulary]") {
  std::string all;
  for (const auto& row : store_codes) all += std::string(row.text) + " ";
  CHECK(all == "disk_full disk_error database_locked database_corrupt read_only state_in_use newer_schema "
               "store_mismatch store_error too_slow abandoned too_many_lists ");
  CHECK(has_code(failure_of(store_code::disk_full, "no space"), store_code::disk_full));
}
