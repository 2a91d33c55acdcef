// The vocabulary: each enumerator has one name, each name one enumerator, and the lists are as long as the enums.
#include <set>

#include <catch2/catch.hpp>

#include "protocol/messages.hpp"
#include "protocol/vocabulary.hpp"

using namespace quell;

namespace {

/// `last` is the enum's last enumerator: a longer enum needs a new `last` here and a new name in its list.
template <class Enum>
void check_names(Enum last) {
  CHECK(count_of<Enum>() == static_cast<std::size_t>(last) + 1);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < count_of<Enum>(); ++i) {
    const auto value = static_cast<Enum>(i);
    const auto name = name_of(value);
    INFO(name);
    CHECK_FALSE(name.empty());
    CHECK(seen.insert(name).second);
    CHECK(parse_name<Enum>(name) == value);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_+") == std::string_view::npos);
  }
  CHECK_FALSE(parse_name<Enum>(""));
  CHECK_FALSE(parse_name<Enum>("no_such_word"));
  CHECK_FALSE(parse_name<Enum>(std::string(name_of(last)) + " "));
}

} // namespace

TEST_CASE("names are complete and unique for every enum", "[vocabulary]") {
  check_names(kind::external);
  check_names(status::cancelled);
  check_names(receipt::declared);
  check_names(proof::none);
  check_names(stop_cause::budget);
  check_names(on_parent_end::detach);
  check_names(on_leader_exit::kill);
  check_names(containment::cgroup_pidns);
  check_names(cancel_status::settled);
  check_names(cancel_outcome::unknown_id);
  check_names(unproven_why::awaiting_owner);
  check_names(next_action::resolve);
  check_names(worker_status::lost);
  check_names(role::task);
  check_names(stream::err);
  check_names(wire::task_phase::stopping);
}

TEST_CASE("the words are spelled as the public surface spells them", "[vocabulary]") {
  CHECK(name_of(role::operator_) == "operator");
  CHECK(name_of(containment::cgroup_pidns) == "cgroup+pidns");
  CHECK(name_of(stream::out) == "stdout");
  CHECK(name_of(status::cancelling) == "cancelling");
}

TEST_CASE("cgroup and pidns do not imply each other", "[vocabulary]") {
  using enum containment;
  CHECK(at_least(cgroup_pidns, cgroup));
  CHECK(at_least(cgroup_pidns, pidns));
  CHECK(at_least(cgroup_pidns, cgroup_pidns));
  CHECK_FALSE(at_least(cgroup, pidns));
  CHECK_FALSE(at_least(pidns, cgroup));
  CHECK_FALSE(at_least(cgroup, cgroup_pidns));
  for (const auto level : {group, pidns, cgroup, cgroup_pidns}) {
    CHECK(at_least(level, group));
    CHECK(at_least(level, level));
    CHECK(at_least(group, level) == (level == group));
  }
}
