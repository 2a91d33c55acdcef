// The text form of a place in a workspace, and names of directories.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "protocol/workspace_place.hpp"

using namespace quell;

TEST_CASE("what is written is read back", "[workspace]") {
  CHECK(rc::check([] {
    workspace_place place;
    place.name = workspace_name(*scope_path::parse("discord/guild-1"), std::to_string(*rc::gen::arbitrary<unsigned>()));
    place.must_exist = *rc::gen::arbitrary<bool>();
    place.remove = *rc::gen::arbitrary<bool>();
    place.quota_bytes = *rc::gen::inRange<std::uint64_t>(0, 1ULL << 50);
    place.keep = milliseconds{*rc::gen::inRange<std::int64_t>(0, 1LL << 50)};
    place.below = *rc::gen::arbitrary<std::string>();
    const auto read = workspace_place::parse(place.text());
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->has_value());
    RC_ASSERT(**read == place);
    RC_ASSERT(workspace_place::below_in(place.text()) == place.below);
  }));
}

TEST_CASE("a path is not a workspace, and a place without a name is refused", "[workspace]") {
  CHECK_FALSE(workspace_place::parse("/srv/work"));
  CHECK_FALSE(workspace_place::parse(""));
  for (const char* text : {"workspace:", "workspace:..", "workspace:.hidden", "workspace:a/b", "workspace:a?unheard",
                           "workspace:a?quota=x"}) {
    const auto read = workspace_place::parse(text);
    REQUIRE(read);
    CHECK_FALSE(read->has_value());
  }
  const auto unplaced = workspace_place::parse(workspace_place::unplaced("sub"));
  REQUIRE(unplaced);
  CHECK_FALSE(unplaced->has_value());
  CHECK(workspace_place::below_in(workspace_place::unplaced("sub")) == "sub");
}

TEST_CASE("names of different workspaces differ, however long the scope is", "[workspace]") {
  const auto scope = scope_path::parse(std::string(120, 'a') + "/" + std::string(120, 'b'));
  REQUIRE(scope);
  const auto one = workspace_name(*scope, "0192"), other = workspace_name(*scope, "0193");
  CHECK(one != other);
  CHECK(one.size() <= 200);
  CHECK(one.find('/') == std::string::npos);
}

TEST_CASE("two directories are the same place if their workspace is", "[workspace]") {
  using text = std::optional<std::string>;
  CHECK(is_same_directory(text("workspace:a?exists"), text("workspace:a?in=sub")));
  CHECK_FALSE(is_same_directory(text("workspace:a"), text("workspace:b")));
  CHECK_FALSE(is_same_directory(text("workspace:a"), text("/a")));
  CHECK_FALSE(is_same_directory(text("workspace:a"), text()));
  CHECK(is_same_directory(text("/a"), text("/a")));
  CHECK(is_same_directory(text(), text()));
}
