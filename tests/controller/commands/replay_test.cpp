// The work of a core can be repeated from the recorded commands and events alone: same rows, same state.
#include <catch2/catch.hpp>
#include <random>
#include <sstream>

#include "tests/controller/commands/command_player.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::core_tests;

namespace {

bool same_rows(const records::entry& one, const records::entry& other) {
  if (one.index() != other.index()) return false;
  return std::visit(
      [&](const auto& a) {
        const auto& b = std::get<std::decay_t<decltype(a)>>(other);
        if constexpr (requires { a.hot == b.hot; })
          return a.id == b.id && a.hot == b.hot;
        else if constexpr (requires { a.record == b.record; })
          return a.record == b.record;
        else
          return true;
      },
      one);
}

/// The ledger as its views show it.
std::string state_of(commands_world& w, const std::vector<operation_id>& ids) {
  const auto& l = w.c->operations();
  std::ostringstream text;
  text << "seq " << l.last_seq() << ", live " << l.live_count() << "\n";
  for (const auto& id : ids) {
    const auto view = l.view(id, w.now);
    if (!view) continue;
    text << id.text() << ' ' << name_of(view->hot.now) << ' ' << view->hot.worker.value_or("-");
    if (view->hot.stop) text << " stop " << view->hot.stop->seq << ' ' << name_of(view->hot.stop->cause);
    if (view->waiting) text << " waits for " << view->waiting->what;
    text << "\n";
  }
  for (const auto& c : l.open_cancels(w.now))
    text << c.record.id.text() << ' ' << name_of(c.record.status) << ' ' << c.record.report.operations << "\n";
  for (const auto& s : l.scopes({}, listed_scopes::all, nullptr, 100))
    text << s.scope.text() << ' ' << s.live << ' ' << s.cancelling << ' ' << s.cutoff_seq << "\n";
  return text.str();
}

} // namespace

TEST_CASE("recorded commands and events replayed on a new core give the same rows and the same state") {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    command_player player([&](std::size_t count) { return random() % count; }, [](bool, std::string_view) {});
    auto& first = player.world();
    commands_world again;
    again.session = first.session;
    again.incarnation = first.incarnation;
    again.worker_joins();
    const auto begun = first.edges.batches.size();
    REQUIRE(again.edges.batches.size() == begun);
    for (int i = 0; i < 200; ++i) player.step();

    for (const auto& step : player.steps()) play_again(again, step);
    REQUIRE(again.edges.batches.size() == first.edges.batches.size());
    for (std::size_t i = begun; i < first.edges.batches.size(); ++i) {
      INFO("batch " << i);
      const auto &one = first.edges.batches[i], &other = again.edges.batches[i];
      REQUIRE(one.size() == other.size());
      for (std::size_t k = 0; k < one.size(); ++k) CHECK(same_rows(one[k], other[k]));
    }
    CHECK(state_of(again, player.operations()) == state_of(first, player.operations()));
  }
}
