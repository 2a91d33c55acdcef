// The secrets of a state directory through restarts.
#include <catch2/catch.hpp>
#include <filesystem>

#include "protocol/id.hpp"
#include "quelld/secrets.hpp"

using namespace quell;
using namespace quell::controller;

TEST_CASE("a secret that cannot be read is not replaced by a new one", "[quelld]") {
  namespace fs = std::filesystem;
  const std::string directory =
      (fs::temp_directory_path() / ("quell-secrets-" + operation_id::fresh().text())).string();
  fs::create_directory(directory);
  const auto first = load_secrets(directory);
  REQUIRE(first);
  for (const std::string name : {"controller.key", "admin.token", "task-token.key"}) {
    const auto path = directory + "/" + name;
    fs::rename(path, path + ".away");
    fs::create_directory(path); // can be opened, but not be read
    const auto refused = load_secrets(directory);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "storage_unavailable");
    CHECK(refused.error().detail.find(path) != std::string::npos);
    fs::remove(path);
    fs::create_symlink(path, path); // cannot be opened
    CHECK_FALSE(load_secrets(directory));
    fs::remove(path);
    fs::rename(path + ".away", path);
  }
  const auto again = load_secrets(directory);
  REQUIRE(again);
  CHECK(again->admin_token == first->admin_token);
  CHECK(again->task_token_key == first->task_token_key);
  CHECK(again->curve.public_key == first->curve.public_key);
  fs::remove_all(directory);
}
