// Places for large bodies.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "gateway/body_places.hpp"

using namespace quell::controller::http;

TEST_CASE("large bodies are a few at once, and one caller has a share of them") {
  auto places = std::make_unique<body_places>(5, 3);
  std::vector<std::shared_ptr<void>> held;
  for (int i = 0; i < 3; ++i) REQUIRE(held.emplace_back(places->take("a")));
  CHECK_FALSE(places->take("a"));
  for (int i = 0; i < 2; ++i) REQUIRE(held.emplace_back(places->take("b")));
  CHECK_FALSE(places->take("b")); // all are taken
  CHECK_FALSE(places->take("c"));
  held.erase(held.begin());
  CHECK(places->take("c")); // and free again at once
  CHECK(places->take("a"));
  places.reset();
  held.clear(); // tickets may outlive the places
}
