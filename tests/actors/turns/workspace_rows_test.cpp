// Rows of workspaces: kept in files, and absent without a look at the disk.
#include "actors/turns/workspace_rows.hpp"

#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include "protocol/sha256.hpp"

using namespace quell;
using namespace quell::controller::turns;

namespace {

workspace_row row_of(const std::string& key, const std::string& worker = "w1") {
  workspace_row row;
  row.key = key;
  row.worker = worker;
  row.name = "name-of-" + worker;
  return row;
}

/// A state directory of a process with more than one life.
struct state {
  std::string directory;
  state() {
    auto pattern = (std::filesystem::temp_directory_path() / "quell-rows-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    directory = pattern;
  }
  ~state() { std::filesystem::remove_all(directory); }
  state(const state&) = delete;
  std::shared_ptr<workspace_rows> open() const {
    auto opened = workspace_rows::open(directory);
    REQUIRE(opened);
    return *opened;
  }
  std::string file_of(const std::string& key) const { return directory + "/workspaces/" + sha256_hex(key); }
};

} // namespace

TEST_CASE("a row is found until it is dropped, also in the next life") {
  state s;
  {
    const auto rows = s.open();
    CHECK_FALSE(rows->find("team/a"));
    REQUIRE(rows->put(row_of("team/a")));
    REQUIRE(rows->put(row_of("team/b", "w2")));
    CHECK(rows->find("team/a") == row_of("team/a"));
    REQUIRE(rows->put(row_of("team/a", "w3")));
    CHECK(rows->find("team/a") == row_of("team/a", "w3"));
    rows->drop("team/b");
    CHECK_FALSE(rows->find("team/b"));
  }
  const auto rows = s.open();
  CHECK(rows->find("team/a") == row_of("team/a", "w3"));
  CHECK_FALSE(rows->find("team/b"));
  REQUIRE(rows->put(row_of("team/b")));
  CHECK(rows->find("team/b") == row_of("team/b"));
  CHECK(rows->all().size() == 2);
}

TEST_CASE("rows know whether a turn can have a workspace of its own") {
  state s;
  {
    const auto rows = s.open();
    CHECK_FALSE(rows->has_of_turns());
    rows->expect_of_turns();
    CHECK(rows->has_of_turns());
    REQUIRE(rows->put(row_of("turn 1")));
  }
  CHECK(s.open()->has_of_turns());
}

TEST_CASE("a conversation without a row asks no disk for it") {
  state s;
  const auto rows = s.open();
  REQUIRE(rows->put(row_of("team/a")));
  std::filesystem::copy_file(s.file_of("team/a"), s.file_of("team/b"));
  CHECK_FALSE(rows->find("team/b"));
}

TEST_CASE("a row whose file is gone or of another key counts as missing") {
  state s;
  const auto rows = s.open();
  REQUIRE(rows->put(row_of("team/a")));
  REQUIRE(rows->put(row_of("team/b")));
  std::filesystem::remove(s.file_of("team/a"));
  CHECK_FALSE(rows->find("team/a"));
  std::filesystem::copy_file(s.file_of("team/b"), s.file_of("team/a"));
  CHECK_FALSE(rows->find("team/a"));
  CHECK(rows->find("team/b"));
}
