// A ledger whose external operations have owners that report as the test tells them.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/controller/ledger/world.hpp"

namespace quell::controller::testing {

struct external_options {
  std::string scope = "s";
  std::optional<std::string> below = {};
  bool later = false;
  milliseconds lease{0};
  std::string session = {};
  milliseconds grace{2000};
  on_parent_end edge = on_parent_end::cancel;
  milliseconds timeout{0};
  std::optional<std::uint64_t> as_of = {};
  std::optional<std::string> supersede = {};
  caller by = {};
  std::map<std::string, std::string> labels = {};
};

class externals_world : public world {
 public:
  using world::world;

  std::string try_external(const std::string& name, external_options o = {}) {
    create_order c;
    c.by = o.by;
    c.by.owner = {"alice", "Alice"};
    c.kind = kind::external;
    if (!o.below) c.scope = in(o.scope);
    if (o.below) c.parent = id(*o.below);
    c.name = name;
    c.grace = o.grace;
    c.timeout = o.timeout;
    c.on_parent_end = o.edge;
    c.as_of_seq = o.as_of;
    c.labels = std::move(o.labels);
    c.supersede = o.supersede;
    c.external = {o.lease, o.session, o.later ? start_when::later : start_when::now};
    const auto made = core->create(c, next_operation(), now);
    if (made) names[name] = made->id;
    collect();
    return made ? std::string() : std::string(text_of(made.error().error.code));
  }
  void external(const std::string& name, external_options o = {}) { REQUIRE(try_external(name, std::move(o)).empty()); }

  /// "" = accepted, else the fault's code.
  std::string start(const std::string& name, const caller& by = {}) {
    return outcome_text(core->externals()->start_external(id(name), by, now));
  }
  std::string complete(const std::string& name, const caller& by = {}) {
    return outcome_text(
        core->externals()->end_external({id(name), owner_word::complete, R"({"answer":42})", {}}, by, now));
  }
  std::string fail(const std::string& name) {
    return outcome_text(core->externals()->end_external(
        {id(name), owner_word::fail, {}, records::operation_error{"broken", "it broke"}}, {}, now));
  }
  std::string stopped(const std::string& name) {
    return outcome_text(core->externals()->end_external({id(name), owner_word::stopped, {}, {}}, {}, now));
  }
  renewal_answer beat(std::vector<std::string> those, std::optional<std::string> session = {}, caller by = {},
                      std::uint64_t after = 0) {
    renewal_order o{std::move(by), {}, std::move(session), after};
    for (const auto& name : those) o.operations.push_back(id(name));
    auto answer = core->externals()->heartbeat(o, now);
    collect();
    return answer;
  }
  void cancels(const std::string& name, std::optional<milliseconds> grace = {}) {
    auto o = order(records::target_operation{id(name)});
    o.grace = grace;
    (void)try_cancel(o);
    collect();
    roll_out();
    collect();
  }
  /// Waits in steps, so that no lease ends only because nothing ran in between.
  void waits(milliseconds d) {
    for (milliseconds step{500}; d.count() > 0; d -= step) {
      step = std::min(step, d);
      now.wall += step;
      now.boot = now.boot + step;
      (void)core->tick(now);
      while (core->step(now)) {
      }
      collect();
    }
  }
  /// Brings the operation into a state of the table.
  void stage(const std::string& name, status at, external_options o = {}) {
    o.later = at == status::pending;
    external(name, o);
    if (at == status::completed) REQUIRE(complete(name).empty());
    if (at == status::failed) REQUIRE(fail(name).empty());
    if (at == status::cancelling || at == status::cancelled) cancels(name);
    if (at == status::cancelled) REQUIRE(stopped(name).empty());
    REQUIRE(status_of(name) == name_of(at));
  }
  void collect() { take(); }

 private:
  template <class T>
  std::string outcome_text(const outcome<T>& o) {
    collect();
    return o ? std::string() : std::string(text_of(o.error().error.code));
  }
};

inline receipt how_of(const externals_world& w, const std::string& name) { return w.row(name).stop->how.value(); }

} // namespace quell::controller::testing
