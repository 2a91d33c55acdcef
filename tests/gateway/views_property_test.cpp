// Views of tokens of a scope, and resumed streams, as properties of any operations, cancels and cuts.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include "tests/gateway/event_client.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;
using json = nlohmann::json;

namespace {

const std::vector<std::string> scopes{"a", "a/b", "a/b/c", "a/bc", "ab", "b"};

bool covers(const std::string& above, const std::string& scope) {
  return scope == above || scope.starts_with(above + "/");
}

/// An id of an operation or a cancel, and the scope that decides who sees it; "" = only tokens without a scope.
struct seen_thing {
  std::string id, scope;
  std::string only; ///< of a tombstone: the one token with a scope that sees it
};

struct some_token {
  std::string secret, scope; ///< "" = none
  bool sees(const seen_thing& one) const {
    if (scope.empty()) return true;
    if (!one.only.empty()) return one.only == secret;
    return !one.scope.empty() && covers(scope, one.scope);
  }
};

/// Any of them, drawn by its place: rapidcheck repeats what was drawn, and secrets and ids are new in each world.
template <class Any>
const Any& one_of(const std::vector<Any>& all) {
  return all.at(*rc::gen::inRange<std::size_t>(0, all.size()));
}

/// The ids in all pages of a list, in their order.
std::vector<std::string> listed(gateway_world& world, const std::string& target, const std::string& member,
                                const some_token& who) {
  std::vector<std::string> ids;
  std::string cursor;
  for (int pages = 0; pages < 100; ++pages) {
    const auto page =
        world.ask("GET", target + (cursor.empty() ? "" : "&cursor=" + cursor), gateway_world::with(who.secret)).json();
    for (const auto& one : page.at(member)) ids.push_back(one.at("id").get<std::string>());
    if (page.at("next_cursor").is_null()) return ids;
    cursor = page.at("next_cursor").get<std::string>();
  }
  throw std::runtime_error("the list has no end");
}

void check_view(gateway_world& world, const std::string& path, const std::string& member,
                const std::vector<seen_thing>& all, const some_token& who) {
  std::vector<std::string> wanted;
  for (const auto& one : all) {
    const bool is_seen = who.sees(one);
    if (is_seen) wanted.push_back(one.id);
    const auto answer = world.ask("GET", path + "/" + one.id, gateway_world::with(who.secret));
    RC_ASSERT(answer.status == (is_seen ? 200U : 404U));
  }
  RC_ASSERT(listed(world, path + "?order=asc&limit=2", member, who) == wanted);
}

} // namespace

TEST_CASE("a token sees the operations and cancels inside its scope, alone as in lists, and no others", "[views]") {
  rc::prop("", [] {
    gateway_world world;
    std::vector<some_token> tokens{{world.token("operator"), ""}};
    for (const auto* scope : {"a", "a/b", "ab"}) tokens.push_back({world.token("operator", scope), scope});
    tokens.push_back({world.token("operator", "a/b"), "a/b"}); // a namesake
    std::vector<seen_thing> operations, cancels;
    const auto count = *rc::gen::inRange(1, 6);
    for (int i = 0; i < count; ++i) {
      const auto scope = *rc::gen::elementOf(scopes);
      operations.push_back({world.controller->start_operation(scope).text(), scope, {}});
    }
    const auto orders = *rc::gen::inRange(1, 8);
    for (int i = 0; i < orders; ++i) {
      const auto& by = one_of(tokens);
      json body;
      std::string scope = by.scope, only;
      switch (*rc::gen::inRange(0, 5)) {
      case 0:
        body = {{"owner", "somebody"}};
        break;
      case 1:
        body = {{"everything", true}};
        break;
      case 2:
        scope = *rc::gen::elementOf(scopes);
        body = {{"scope", scope}};
        break;
      case 3: {
        const auto& target = one_of(operations);
        scope = target.scope;
        body = {{"operation", target.id}};
        break;
      }
      default:
        scope.clear();
        only = by.scope.empty() ? "nobody with a scope" : by.secret;
        body = {{"operation", operation_id::fresh().text()}};
      }
      const auto answer = world.ask("POST", "/v1/cancels", gateway_world::with(by.secret), body.dump());
      const bool may = by.scope.empty() || scope.empty() || covers(by.scope, scope);
      RC_LOG() << "cancel " << body.dump() << ": " << answer.status << std::endl;
      RC_ASSERT((answer.status < 300) == may);
      if (may) cancels.push_back({answer.json()["id"].get<std::string>(), scope, only});
    }
    for (const auto& who : tokens) {
      check_view(world, "/v1/operations", "operations", operations, who);
      check_view(world, "/v1/cancels", "cancels", cancels, who);
    }
  });
}

TEST_CASE("a resumed stream has each event of its filter once and in order, whatever cuts it", "[views]") {
  rc::prop("", [] {
    const auto lag = *rc::gen::elementOf(std::vector<std::size_t>{2, 5, 10'000});
    gateway_world world([&](gateway_options& options) { options.max_lag_events = lag; }, 5000);
    const auto root = world.controller->start_operation("a/b");
    const auto kind = *rc::gen::inRange(0, 4);
    const std::string target = kind == 0   ? "/v1/events?after=0"
                               : kind == 1 ? "/v1/events?after=0&scope=a/b"
                               : kind == 2 ? "/v1/events?after=0&types=operation_completed,operation_failed"
                                           : "/v1/operations/" + root.text() + "/events?after=0";
    std::vector<std::string> wanted;
    std::vector<std::pair<operation_id, std::string>> live;
    std::set<operation_id> below{root};
    const auto happens = [&](const std::string& type, const operation_id& id, const std::string& scope) {
      const bool passes = kind == 0   ? true
                          : kind == 1 ? covers("a/b", scope)
                          : kind == 2 ? type != "operation_created"
                                      : below.contains(id);
      if (passes) wanted.push_back(type + " " + id.text());
    };
    happens("operation_created", root, "a/b");
    const auto publish = [&](int some) {
      for (int i = 0; i < some; ++i) {
        if (!live.empty() && *rc::gen::arbitrary<bool>()) {
          const auto [id, scope] = live.back();
          live.pop_back();
          const bool is_good = *rc::gen::arbitrary<bool>();
          world.controller->end_operation(id, is_good ? status::completed : status::failed);
          happens(is_good ? "operation_completed" : "operation_failed", id, scope);
        } else {
          const bool is_child = *rc::gen::arbitrary<bool>();
          const auto scope = is_child ? "a/b" : *rc::gen::elementOf(scopes);
          const auto id = world.controller->start_operation(scope, is_child ? std::optional(root) : std::nullopt);
          if (is_child) below.insert(id);
          live.emplace_back(id, scope);
          happens("operation_created", id, scope);
        }
      }
    };
    std::vector<std::string> seen;
    std::string last;
    auto stream = watch(world, target);
    const auto cut = [&] {
      stream->close();
      stream = watch(world, target, last);
    };
    const auto read = [&](std::size_t up_to) {
      while (seen.size() < up_to) {
        sse_event event;
        try {
          event = next_event(*stream);
        } catch (const std::runtime_error&) {
          if (lag == 10'000) throw;
          cut(); // it lagged too far
          continue;
        }
        const bool is_newer = last.empty() || std::stoull(event.id) > std::stoull(last);
        RC_ASSERT(is_newer);
        last = event.id;
        seen.push_back(event.type + " " + event.data["operation"].get<std::string>());
        RC_ASSERT(seen.back() == wanted.at(seen.size() - 1));
      }
    };
    const auto rounds = *rc::gen::inRange(1, 6);
    for (int i = 0; i < rounds; ++i) {
      publish(*rc::gen::inRange(0, 8));
      read(seen.size() + *rc::gen::inRange<std::size_t>(0, wanted.size() - seen.size() + 1));
      if (*rc::gen::arbitrary<bool>()) {
        stream->close();
        publish(*rc::gen::inRange(0, 8));
        stream = watch(world, target, last);
        publish(*rc::gen::inRange(0, 4)); // while the kept ones are sent
      }
    }
    world.controller->end_operation(root, status::failed); // no filter leaves this out
    happens("operation_failed", root, "a/b");
    read(wanted.size());
    RC_ASSERT(seen == wanted);
  });
}
