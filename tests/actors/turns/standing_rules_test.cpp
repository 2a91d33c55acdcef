// The rules of approvers that allow for good: exactly that, there, for so long; and what denies.
#include "actors/turns/standing_rules.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "actors/turns/approval.hpp"
#include "actors/turns/tool_input.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::turns;
using namespace std::chrono_literals;

namespace {

const wall_time start{1'000'000h};

standing_rule rule(const std::string& input = R"({"command":"rm -rf ./a"})") {
  standing_rule r;
  r.scope = *scope_path::parse("chat/a");
  r.agent = "main";
  r.tool = "exec";
  r.input = sorted_input(input);
  r.rule = "exec: rm *";
  r.by = {"ann", "Ann"};
  r.expires_at = start + 1h;
  return r;
}

bool covers(const standing_rules& all, const standing_rule& r, wall_time now = start) {
  return all.covers(r.scope, r.agent, r.tool, r.input, r.rule, now);
}

struct directory {
  std::string path;
  directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "quell-rules-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    path = pattern;
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() { std::filesystem::remove_all(path); }
};

/// So many calls, in so many guilds.
std::shared_ptr<standing_rules> filled(const directory& here, std::size_t calls, std::size_t guilds) {
  const auto until = (start + 1h).time_since_epoch().count();
  auto list = nlohmann::json::array();
  for (std::size_t i = 0; i < calls; ++i)
    list.push_back({{"id", operation_id::fresh().text()},
                    {"scope", "chat/g" + std::to_string(i % guilds)},
                    {"agent", "main"},
                    {"tool", "exec"},
                    {"input", "{\"command\":\"rm " + std::to_string(i) + "\"}"},
                    {"rule", "exec: rm *"},
                    {"by", {{"id", "ann"}, {"name", "Ann"}}},
                    {"created_at_ms", 0},
                    {"expires_at_ms", until}});
  std::ofstream(here.path + "/approval_rules.json") << nlohmann::json{{"rules", std::move(list)}};
  return standing_rules::open(here.path).value();
}

} // namespace

TEST_CASE("a standing approval covers the same call in its place alone, until it expires", "[approval]") {
  const auto rules = standing_rules::open("").value();
  REQUIRE(rules->add(rule(), start));
  CHECK(covers(*rules, rule()));
  CHECK(rules->covers(rule().scope, "main", "exec", R"( { "command" : "rm -rf ./a" } )", "exec: rm *", start));
  CHECK_FALSE(covers(*rules, rule(), start + 1h));
  for (const char* elsewhere : {"chat", "chat/b", "chat/a/b"}) {
    auto other = rule();
    other.scope = *scope_path::parse(elsewhere);
    CHECK_FALSE(covers(*rules, other));
  }
  auto other = rule();
  other.agent = "helper";
  CHECK_FALSE(covers(*rules, other));
  other = rule();
  other.tool = "write";
  CHECK_FALSE(covers(*rules, other));
  other = rule();
  other.rule = "exec"; // another rule asks now
  CHECK_FALSE(covers(*rules, other));
  CHECK_FALSE(covers(*rules, rule(R"({"command":"rm -rf ./a ./b"})")));
  CHECK_FALSE(covers(*rules, rule(R"({"command":"rm -rf ./a","cwd":"/"})")));
}

TEST_CASE("the same call again keeps its id and moves its expiry; revoked, it is asked about again", "[approval]") {
  const auto rules = standing_rules::open("").value();
  const auto first = rules->add(rule(), start);
  REQUIRE(first);
  auto longer = rule();
  longer.expires_at = start + 5h;
  const auto again = rules->add(longer, start + 1min);
  REQUIRE(again);
  CHECK(again->id == first->id);
  CHECK(again->created_at == start);
  CHECK(rules->all(start).size() == 1);
  CHECK(covers(*rules, rule(), start + 2h));
  CHECK(rules->revoke(first->id, start).value());
  CHECK_FALSE(rules->revoke(first->id, start).value());
  CHECK_FALSE(covers(*rules, rule()));
}

TEST_CASE("a restart knows what stands, and a file that is broken is not taken for an empty one", "[approval]") {
  const directory here;
  {
    const auto rules = standing_rules::open(here.path).value();
    REQUIRE(rules->add(rule(), start));
    REQUIRE(rules->add(rule(R"({"command":"rm b"})"), start));
    REQUIRE(rules->revoke(rules->all(start).back().id, start).value());
  }
  const auto rules = standing_rules::open(here.path).value();
  REQUIRE(rules->all(start).size() == 1);
  CHECK(covers(*rules, rules->all(start).front()));
  CHECK(rules->all(start).front().by.name == "Ann");
  std::ofstream(here.path + "/approval_rules.json") << R"({"rules":[{"id":"x"}]})";
  CHECK_FALSE(standing_rules::open(here.path));
}

TEST_CASE("there are at most 5,000, expired ones make room, and a huge input is refused", "[approval]") {
  const directory here;
  const auto rules = filled(here, standing_rules::most_rules, 1'000);
  const auto full = rules->add(rule(), start);
  REQUIRE_FALSE(full);
  CHECK(full.error().code == "too_many_operations");
  auto later = rule();
  later.expires_at = start + 3h;
  CHECK(rules->add(later, start + 2h));
  CHECK(rules->all(start + 2h).size() == 1);
  CHECK_FALSE(rules->add(rule(std::string(standing_rules::most_input_bytes + 1, 'x')), start));
}

TEST_CASE("neither a scope nor a guild takes the room of the others", "[approval]") {
  const auto rules = standing_rules::open("").value();
  const auto in = [](const std::string& scope, std::size_t i) {
    auto one = rule("{\"command\":\"rm " + std::to_string(i) + "\"}");
    one.scope = *scope_path::parse(scope);
    return one;
  };
  for (std::size_t i = 0; i < standing_rules::most_of_scope; ++i) REQUIRE(rules->add(in("chat/1/a", i), start));
  const auto of_scope = rules->add(in("chat/1/a", 999), start);
  REQUIRE_FALSE(of_scope);
  CHECK(of_scope.error().code == "too_many_operations");
  CHECK(of_scope.error().detail.find("200 calls in scope chat/1/a are") == 0);
  CHECK(rules->add(in("chat/1/a", 0), start)); // the same call again is not one more
  for (std::size_t i = standing_rules::most_of_scope; i < standing_rules::most_of_guild; ++i)
    REQUIRE(rules->add(in("chat/1/" + std::to_string(i), i), start));
  const auto of_guild = rules->add(in("chat/1/b", 999), start);
  REQUIRE_FALSE(of_guild);
  CHECK(of_guild.error().detail.find("500 calls in scope chat/1 and below are") == 0);
  for (const auto* elsewhere : {"chat/10/a", "chat", "chat/2"}) CHECK(rules->add(in(elsewhere, 999), start));
  const auto all = rules->all(start);
  const auto other = std::find_if(all.begin(), all.end(), [](const auto& r) { return r.scope.text() == "chat/1/a"; });
  REQUIRE(other != all.end());
  REQUIRE(rules->revoke(other->id, start));
  CHECK(rules->add(in("chat/1/b", 999), start));
}

TEST_CASE("guilds that take all that they may leave room for the next ones", "[approval]") {
  const directory here;
  const auto rules = filled(here, standing_rules::most_rules / 2, standing_rules::most_rules / 2 / 500);
  const auto in = [](const std::string& guild, std::size_t i) {
    auto one = rule("{\"command\":\"rm " + std::to_string(i) + "\"}");
    one.scope = *scope_path::parse("chat/" + guild + "/general");
    return one;
  };
  const auto large = rules->add(in("g0", 9'999), start);
  REQUIRE_FALSE(large);
  CHECK(large.error().detail.find("10 calls in scope chat/g0 and below are") == 0);
  for (const std::string guild : {"a", "b", "c"}) {
    for (std::size_t i = 0; i < standing_rules::small_guild; ++i) REQUIRE(rules->add(in(guild, i), start));
    CHECK_FALSE(rules->add(in(guild, 9'999), start));
  }
}

TEST_CASE("a guild's inputs take at most 2 MiB", "[approval]") {
  const auto rules = standing_rules::open("").value();
  const auto large = [](const std::string& scope, std::size_t i) {
    auto one = rule(std::to_string(i) + std::string(standing_rules::most_input_bytes - 10, 'x'));
    one.scope = *scope_path::parse(scope);
    return one;
  };
  std::size_t added = 0;
  while (rules->add(large("chat/1/" + std::to_string(added % 10), added), start)) ++added;
  CHECK(added == 129);
  CHECK(rules->add(large("chat/2", 0), start));
}

TEST_CASE("a call's row says what would be allowed, if a rule asked about it", "[approval]") {
  records::operation_record call;
  call.scope = *scope_path::parse("chat/a");
  call.name = "exec";
  call.kind_data = R"({"input":{"command":"rm -rf ./a"},"approval":"exec: rm *"})";
  const auto found = standing_rule_for(call, "main");
  REQUIRE(found);
  CHECK(found->input == rule().input);
  CHECK(found->rule == "exec: rm *");
  CHECK_FALSE(standing_rule_for(call, ""));
  call.kind_data = R"({"input":{"command":"ls"},"approval":null})";
  CHECK_FALSE(standing_rule_for(call, "main"));
}

TEST_CASE("a rule that denies wins over those that ask, wherever it stands", "[approval]") {
  const approval_rule asks{"exec", "rm *"}, denies{"exec", "rm -rf /*", true};
  for (const auto& rules : {std::vector{asks, denies}, std::vector{denies, asks}}) {
    const auto* decides = deciding_rule(rules, "exec", R"({"command":"rm -rf /srv"})");
    REQUIRE(decides);
    CHECK(decides->denies);
    const auto* other = deciding_rule(rules, "exec", R"({"command":"rm a"})");
    REQUIRE(other);
    CHECK_FALSE(other->denies);
    CHECK_FALSE(deciding_rule(rules, "exec", R"({"command":"ls"})"));
  }
}
