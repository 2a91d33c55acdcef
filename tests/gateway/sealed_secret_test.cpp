// Secrets of tasks at rest.
#include <catch2/catch.hpp>

#include "gateway/sealed_secret.hpp"

using namespace quell::controller;

TEST_CASE("a sealed secret is opened by its key and under its name only") {
  const std::string key(64, 'k'), text = "hush, a secret";
  const auto sealed = seal_secret(key, "KEY", text);
  REQUIRE(sealed);
  CHECK(sealed->find("hush") == std::string::npos);
  CHECK(open_secret(key, "KEY", *sealed) == text);
  CHECK(seal_secret(key, "KEY", text) != sealed); // sealing the same secret twice gives different bytes
  CHECK_FALSE(open_secret(std::string(64, 'x'), "KEY", *sealed));
  CHECK_FALSE(open_secret(key, "OTHER", *sealed));
  for (std::size_t i = 0; i < sealed->size(); ++i) {
    auto changed = *sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(open_secret(key, "KEY", changed));
  }
  for (std::size_t size = 0; size < sealed->size(); ++size)
    CHECK_FALSE(open_secret(key, "KEY", sealed->substr(0, size)));
  CHECK(open_secrets(key, {{"KEY", *sealed}, {"LOST", *sealed}}) ==
        std::map<std::string, std::string>{{"KEY", text}, {"LOST", ""}});
}
