// The gate of the core, on the real ledger and fleet: nothing uncommitted leaves.
#include <catch2/catch.hpp>

#include "controller/commands/create_local.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/create_operations.hpp"
#include "tests/controller/commit_gate_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::world;
using namespace std::chrono_literals;

TEST_CASE("nothing of a start leaves before its commit", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  REQUIRE(w.edges.count<wire::welcome>() == 1);
  CHECK_FALSE(w.create());
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(std::count(w.edges.published.begin(), w.edges.published.end(), "operation_created") == 0);
  w.commit();
  REQUIRE(*w.created_answer);
  CHECK((*w.created_answer)->has_value());
  CHECK(w.edges.count<wire::start>() == 1);
  CHECK(std::count(w.edges.published.begin(), w.edges.published.end(), "operation_created") == 1);
}

TEST_CASE("a START whose operation is declared dead while it waits for the disk does not leave", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  const std::uint64_t creates = w.edges.tickets;
  const auto declared = w.c->operations().declare_worker_dead("w1", "it burnt down", w.now);
  w.c->end_burst(w.now);
  REQUIRE(declared == 1);
  REQUIRE(w.edges.tickets > creates);
  w.commit();
  CHECK(w.edges.count<wire::start>() == 0);
  CHECK(w.edges.count<wire::results_stored>() == 1); // its number is acknowledged though it has no effect
  CHECK(w.edges.count<wire::stop>() == 1);
}

TEST_CASE("a welcome waits for the journal, a heartbeat's answer does not", "[core]") {
  world w;
  w.worker_joins();
  CHECK(w.edges.count<wire::welcome>() == 0);
  w.commit();
  CHECK(w.edges.count<wire::welcome>() == 1);
  w.create(); // uncommitted from here on
  w.c->frame("route", w.key, {w.session, 0, 1, wire::worker_heartbeat{1, 1}}, w.now);
  CHECK(w.edges.count<wire::lease_granted>() == 1);
  CHECK(w.edges.count<wire::start>() == 0);
}

TEST_CASE("a cancel follows an uncommitted start on the same channel and is answered when fenced", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.cancel();
  CHECK_FALSE(*w.cancel_answer);
  w.commit();
  REQUIRE(*w.cancel_answer);
  CHECK((**w.cancel_answer)->record.durable);
  CHECK((**w.cancel_answer)->record.report.fenced_ms.has_value());
  REQUIRE(w.edges.count<wire::start>() == 1);
  REQUIRE(w.edges.count<wire::stop>() == 1);
  std::vector<std::string> order;
  for (const auto& m : w.edges.sent) {
    if (std::holds_alternative<wire::start>(m)) order.push_back("start");
    if (std::holds_alternative<wire::stop>(m)) order.push_back("stop");
  }
  CHECK(order == std::vector<std::string>{"start", "stop"});
}

TEST_CASE("a question is answered at once if nothing waits for the disk, and else behind what waits", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.c->end_burst(w.now);
  w.commit();
  int answers = 0;
  const auto what = [&answers](const commit_gate&, moment) -> std::function<void()> {
    return [&answers] { ++answers; };
  };
  w.c->ask(what, w.now);
  CHECK(answers == 1);
  w.create(); // uncommitted from here on: it shows in the answer
  w.c->ask(what, w.now);
  w.c->end_burst(w.now);
  CHECK(answers == 1);
  w.commit();
  CHECK(answers == 2);
}

TEST_CASE("old rows are dropped only while nothing waits for the disk, and never before a cancel") {
  world w;
  w.c->end_burst(w.now); // the recovered cancel is rolled out
  w.commit();
  REQUIRE(!w.drop_old());
  REQUIRE(std::holds_alternative<records::drop_operation>(w.edges.batches.back().front()));
  w.commit();
  CHECK(*w.drop_answer == true);

  w.create();
  CHECK(w.drop_old() == false);              // the create is not committed yet
  CHECK(!w.drop_old(gives_way_to::cancels)); // a load without a pause must not keep them forever
  w.commit();
  CHECK(*w.drop_answer == true);

  w.cancel();
  CHECK(w.drop_old() == false);
  CHECK(w.drop_old(gives_way_to::cancels) == false);
  w.commit();
  CHECK(!w.drop_old());
}

TEST_CASE("after a stall no owner's lease is over, whatever message comes first", "[core]") {
  world w;
  auto answer = std::make_shared<std::optional<outcome<created>>>();
  create_order o;
  o.by.role = role::admin;
  o.kind = kind::external;
  o.scope = *scope_path::parse("a");
  o.external.lease = 2s;
  w.c->execute({commands::create_operation{std::move(o), operation_id::fresh()},
                [answer](outcome<created> a) { *answer = std::move(a); }},
               w.now);
  w.c->end_burst(w.now);
  w.commit();
  REQUIRE(*answer);
  const auto id = (*answer)->value().id;
  const auto pass = [&](std::chrono::milliseconds time) {
    w.now.wall = w.now.wall + time;
    w.now.boot = w.now.boot + time;
  };
  const auto is_over = [&] {
    const auto view = w.c->beyond_disk(id, w.now);
    return !view || is_terminal(view->now);
  };
  pass(7s); // the process did not run
  w.c->end_burst(w.now);
  w.commit();
  CHECK_FALSE(is_over());
  for (int i = 0; i < 40 && !is_over(); ++i) { // and now it runs
    pass(1s);
    w.c->tick(w.now);
    w.commit();
  }
  CHECK(is_over());
}

TEST_CASE("timers that are due come in slices, one for each commit, and a cancel waits for one of them", "[core]") {
  constexpr std::size_t count = 300, most_in_a_slice = 64;
  world w;
  commands::create_operations many;
  for (std::size_t i = 0; i < count; ++i) {
    create_order o;
    o.by.role = role::admin;
    o.kind = kind::external;
    o.scope = *scope_path::parse("many");
    o.external.lease = 2s;
    many.all.push_back({std::move(o), operation_id::fresh()});
  }
  w.c->execute({std::move(many), [](std::vector<outcome<created>>) {}}, w.now);
  w.c->end_burst(w.now);
  w.commit();
  const auto pass_a_second = [&] {
    w.now.wall = w.now.wall + 1s;
    w.now.boot = w.now.boot + 1s;
  };
  const auto ends_in = [](const std::vector<records::entry>& batch) {
    return static_cast<std::size_t>(std::count_if(batch.begin(), batch.end(), [](const records::entry& e) {
      const auto* row = std::get_if<records::update_operation>(&e);
      return row && row->hot.ended_seq != 0;
    }));
  };
  pass_a_second();
  w.c->tick(w.now);
  w.commit();
  w.edges.batches.clear();
  pass_a_second(); // every lease is over
  w.c->tick(w.now);
  REQUIRE(w.edges.batches.size() == 1);
  CHECK(ends_in(w.edges.batches[0]) == most_in_a_slice);
  CHECK_FALSE(w.c->dirty()); // the journal has the next word
  w.c->tick(w.now);
  w.c->end_burst(w.now);
  CHECK(w.edges.batches.size() == 1);
  w.cancel("another");
  REQUIRE(w.edges.batches.size() == 2);
  CHECK(ends_in(w.edges.batches[1]) == 0);
  w.c->committed({w.edges.tickets - 1, {}},
                 w.now); // the slice: the cancel still waits, and the next slice may follow it
  CHECK(w.c->dirty());
  w.c->end_burst(w.now);
  w.c->end_burst(w.now);
  REQUIRE(w.edges.batches.size() == 3);
  CHECK(ends_in(w.edges.batches[2]) == most_in_a_slice);
  w.commit();
  REQUIRE(*w.cancel_answer);
  std::size_t ended = 0;
  for (const auto& batch : w.edges.batches) {
    CHECK(ends_in(batch) <= most_in_a_slice);
    ended += ends_in(batch);
  }
  CHECK(ended == count);
  CHECK_FALSE(w.c->dirty());
}

TEST_CASE("an exchange is told at the fence of its stop, however far behind the journal is", "[core]") {
  world w;
  const auto exchange = operation_id::fresh();
  commands::create_local spoken{{}, exchange};
  spoken.order.by.role = role::admin;
  spoken.order.kind = kind::exchange;
  spoken.order.scope = *scope_path::parse("voice/here");
  w.c->execute({std::move(spoken), [](outcome<created>) {}}, w.now);
  w.c->end_burst(w.now);
  w.commit();
  w.cancel("voice");
  const auto fence = w.edges.tickets;
  for (int i = 0; i < 8; ++i) w.create("elsewhere/" + std::to_string(i)); // the disk is slow, and more comes
  REQUIRE(w.edges.tickets > fence + 4);
  CHECK(w.edges.signalled.empty());
  w.c->committed({fence, {}}, w.now);
  REQUIRE(*w.cancel_answer);
  CHECK(w.edges.signalled == std::vector{exchange});
  w.commit();
  CHECK(w.edges.signalled == std::vector{exchange}); // the sweep does not tell it again
}

TEST_CASE("external work that begins as it is registered is one row", "[core]") {
  world w;
  w.edges.batches.clear();
  create_order o;
  o.by.role = role::admin;
  o.kind = kind::external;
  o.scope = *scope_path::parse("a");
  w.c->execute({commands::create_operation{std::move(o), operation_id::fresh()}, [](outcome<created>) {}}, w.now);
  w.c->end_burst(w.now);
  REQUIRE(w.edges.batches.size() == 1);
  std::size_t rows = 0;
  std::vector<std::string> events;
  for (const auto& e : w.edges.batches[0]) {
    CHECK_FALSE(std::holds_alternative<records::update_operation>(e));
    if (const auto* event = std::get_if<records::put_event>(&e)) events.emplace_back(text_of(event->record));
    const auto* put = std::get_if<records::put_operation>(&e);
    if (!put) continue;
    ++rows;
    CHECK(put->record->hot.now == status::running);
    CHECK(put->record->hot.started_at == w.now.wall);
  }
  CHECK(rows == 1);
  CHECK(events == std::vector<std::string>{"operation_created", "operation_started"});
}

TEST_CASE("a stop is told when its cancel is on disk, and not only when the stopped rows are", "[core]") {
  world w;
  const auto begin = [&](kind as) {
    create_order o;
    o.by.role = role::admin;
    o.kind = as;
    o.scope = *scope_path::parse("a");
    const auto id = operation_id::fresh();
    if (as == kind::external)
      w.c->execute({commands::create_operation{std::move(o), id}, [](outcome<created>) {}}, w.now);
    else
      w.c->execute({commands::create_local{std::move(o), id}, [](outcome<created>) {}}, w.now);
    return id;
  };
  const std::vector<operation_id> all{begin(kind::external), begin(kind::exchange)};
  w.c->end_burst(w.now);
  w.commit();
  w.cancel();
  w.c->end_burst(w.now);
  CHECK(w.edges.signalled.empty());
  const auto of_cancel = w.edges.tickets;
  const bool is_stored = GENERATE(true, false); // by a full disk: then it is performed all the same
  if (is_stored)
    w.c->committed({of_cancel, {}}, w.now);
  else
    w.refuse(of_cancel);
  w.c->end_burst(w.now);
  CHECK(w.edges.tickets > of_cancel); // the rows of what it stops, which are not on disk
  CHECK(std::is_permutation(all.begin(), all.end(), w.edges.signalled.begin(), w.edges.signalled.end()));
  w.commit();
  CHECK(w.edges.signalled.size() == all.size());
}

TEST_CASE("the first operations of a lone cancel are told with its fence and before its answer", "[core]") {
  world w;
  const int count = GENERATE(1, 100);
  commands::create_operations many;
  for (int i = 0; i < count; ++i) {
    create_order o;
    o.by.role = role::admin;
    o.kind = kind::external;
    o.scope = *scope_path::parse("a");
    many.all.push_back({std::move(o), operation_id::fresh()});
  }
  w.c->execute({std::move(many), [](std::vector<outcome<created>>) {}}, w.now);
  w.c->end_burst(w.now);
  w.commit();
  std::optional<std::size_t> signals_before_answer;
  cancel_order o;
  o.by_token.role = role::admin;
  o.target = records::target_scope{*scope_path::parse("a")};
  w.c->execute({commands::order_cancel{std::move(o), cancel_id::fresh()},
                [&](const outcome<cancel_view>&) { signals_before_answer = w.edges.signalled.size(); }},
               w.now);
  const auto of_cancel = w.edges.tickets;
  CHECK_FALSE(w.c->dirty()); // the rows of what is stopped wait for the end of this commit
  CHECK(w.edges.signalled.empty());
  CHECK_FALSE(signals_before_answer);
  w.c->committed({of_cancel, {}}, w.now);
  CHECK(signals_before_answer == static_cast<std::size_t>(std::min(count, 16)));
  w.c->end_burst(w.now);
  w.commit();
  CHECK(w.edges.signalled.size() == static_cast<std::size_t>(count));
}

TEST_CASE("a forbidden move is named with its asker, and ends its operation, not the process", "[core]") {
  world w;
  w.worker_joins();
  w.commit();
  w.create();
  w.commit();
  REQUIRE(w.edges.count<wire::start>() == 1);
  wire::task_ended end; // a good exit of something that, by the same report, never started
  end.operation = (*w.created_answer)->value().id;
  end.exit.emplace();
  end.ended_at = w.now.wall;
  w.c->frame("route", w.key, {w.session, 1, 0, end}, w.now);
  w.c->end_burst(w.now);
  w.commit();
  CHECK(w.edges.forbidden == std::vector<std::string>{"pending>completed by a frame of a worker"});
  CHECK(w.edges.ends[end.operation] == 1);
  CHECK(std::find(w.edges.published.begin(), w.edges.published.end(), "operation_failed") != w.edges.published.end());
  CHECK_FALSE(w.edges.failure);
}

TEST_CASE("work on a worker is adopted in whatever part of the live operations it comes", "[core]") {
  world w;
  const auto live = [](std::uint64_t seq, bool is_assigned) {
    records::operation_record r;
    r.id = operation_id::fresh();
    r.seq = r.as_of = seq;
    r.root = r.id;
    r.task.command = {"true"};
    if (is_assigned) r.hot.worker = "w1";
    return r;
  };
  const std::vector first{live(1, true), live(2, false)}, second{live(3, false), live(4, true)};
  records::recovered_state state;
  state.next_seq = 5;
  state.live = first;
  state.more_live = [rest = second]() mutable { return std::exchange(rest, {}); };
  w.c = std::make_unique<commit_gate>(commit_gate_settings{}, std::move(state), w.edges, w.now);
  CHECK(w.c->operations().live_count() == 4);
  CHECK(w.edges.expected ==
        std::vector<std::pair<operation_id, std::string>>{{first.at(0).id, "w1"}, {second.at(1).id, "w1"}});
}

TEST_CASE("live operations that cannot be read make no core, and the reason reaches who asked for it", "[core]") {
  world w;
  records::recovered_state state;
  state.more_live = []() -> std::vector<records::operation_record> {
    throw records::unreadable(fault{"database_corrupt", "row 7", {}});
  };
  try {
    commit_gate refused(commit_gate_settings{}, std::move(state), w.edges, w.now);
    FAIL("a core was made of half a store");
  } catch (const records::unreadable& e) {
    CHECK(e.why.detail == "row 7");
  }
}
