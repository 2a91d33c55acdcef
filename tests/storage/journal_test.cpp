// Batches: all or nothing, in order, with notices in order.
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

TEST_CASE("a batch with one bad entry leaves nothing, and its neighbours are written") {
  temp_directory directory;
  store s(directory.path());
  const auto twice = operation(1, "a");
  // Submitted in one go, so that they may share a transaction.
  const auto first = s.log->submit({put_operation{twice}});
  const auto bad =
      s.log->submit({put_operation{operation(2, "a")}, put_operation{twice}, put_operation{operation(3, "a")}});
  const auto last = s.log->submit({put_operation{operation(4, "a")}});
  CHECK_FALSE(s.log_notices.outcome(last));
  CHECK_FALSE(s.log_notices.outcome(first));
  REQUIRE(s.log_notices.outcome(bad));
  CHECK(s.log_notices.outcome(bad)->code == "store_error");
  CHECK(ask(directory.path(), "SELECT group_concat(seq) FROM operation") == "1,4");
  CHECK(integrity(directory.path()) == "ok");
}

TEST_CASE("notices come in ticket order and leave none out, whoever submits") {
  temp_directory directory;
  store s(directory.path());
  constexpr std::uint64_t threads = 4, each = 300;
  {
    std::vector<std::jthread> submitters;
    for (std::uint64_t t = 0; t < threads; ++t)
      submitters.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < each; ++i) s.log->submit({put_operation{operation(1 + t * each + i, "a")}});
      });
  }
  s.log_notices.outcome(threads * each);
  std::uint64_t before = 0;
  for (const auto& notice : s.log_notices.all()) {
    CHECK(notice.ticket > before);
    CHECK_FALSE(notice.failure);
    before = notice.ticket;
  }
  CHECK(before == threads * each);
  CHECK(ask(directory.path(), "SELECT count(*) FROM operation") == std::to_string(threads * each));
}

TEST_CASE("a later entry of one key wins, also across batches of one commit") {
  temp_directory directory;
  store s(directory.path());
  auto worker = worker_record{};
  worker.name = "w1";
  std::uint64_t last = 0;
  for (int i = 0; i < 500; ++i) {
    worker.version = std::to_string(i);
    last = s.log->submit({put_worker{worker}});
  }
  s.log_notices.outcome(last);
  s.log->close();
  CHECK(store(directory.path()).recovered.workers.at(0).version == "499");
}

TEST_CASE("the keys that follow a worker's come back with its row") {
  temp_directory directory;
  store s(directory.path());
  worker_record worker;
  worker.name = "w1";
  worker.public_key = "present";
  worker.home_state = "home";
  worker.next_key = "next";
  worker.key_changed_at = wall_time{milliseconds{1'800'000'000'000}};
  worker.controller_key = "controller's next";
  s.log_notices.outcome(s.log->submit({put_worker{worker}}));
  s.log->close();
  CHECK(store(directory.path()).recovered.workers.at(0) == worker);
}

TEST_CASE("an empty batch is a barrier, and nothing is taken after the close") {
  temp_directory directory;
  store s(directory.path());
  const auto row = s.log->submit({put_operation{operation(1, "a")}});
  const auto barrier = s.log->submit({});
  CHECK(barrier == row + 1);
  CHECK_FALSE(s.log_notices.outcome(barrier));
  const auto queued = s.log->submit({put_operation{operation(2, "a")}});
  s.log->close();
  CHECK(s.log_notices.all().back().ticket == queued);
  CHECK(s.log->submit({put_operation{operation(3, "a")}}) == 0);
  s.log->close();
  CHECK(ask(directory.path(), "SELECT count(*) FROM operation") == "2");
}

TEST_CASE("a batch larger than one transaction's usual size stays whole") {
  temp_directory directory;
  store s(directory.path());
  std::vector<entry> batch;
  for (std::uint64_t seq = 1; seq <= 5'000; ++seq) batch.push_back(put_operation{operation(seq, "a")});
  batch.push_back(batch.front());
  CHECK(s.write(batch)->code == "store_error");
  CHECK(ask(directory.path(), "SELECT count(*) FROM operation") == "0");
  batch.pop_back();
  CHECK_FALSE(s.write(std::move(batch)));
  CHECK(ask(directory.path(), "SELECT count(*) FROM operation") == "5000");
}

TEST_CASE("only what has ended and is nobody's parent can be dropped, and only settled cancels") {
  temp_directory directory;
  store s(directory.path());
  const auto parent = operation(1, "a"), child = operation(2, "a", &parent), live = operation(3, "a");
  auto big = operation(4, "a");
  big.task.command.push_back(std::string(10'000, 'x'));
  auto open = cancel_of(target_scope{scope("a")}, 5), settled = cancel_of(target_scope{scope("a")}, 6);
  open.status = cancel_status::signalled;
  settled.status = cancel_status::settled;
  REQUIRE_FALSE(s.write({put_operation{parent}, put_operation{child}, put_operation{live}, put_operation{big},
                         put_cancel{open}, put_cancel{settled}, ended(parent, 7), ended(child, 8), ended(big, 9)}));
  REQUIRE_FALSE(s.write({drop_operation{parent.id}, drop_operation{live.id}, drop_cancel{open.id}}));
  CHECK(ask(directory.path(), "SELECT count(*) FROM operation") == "4");
  CHECK(ask(directory.path(), "SELECT count(*) FROM cancel") == "2");
  REQUIRE_FALSE(s.write({drop_operation{child.id}, drop_operation{parent.id}, drop_operation{big.id},
                         drop_operation{operation_id::fresh()}, drop_cancel{settled.id}}));
  CHECK(ask(directory.path(), "SELECT group_concat(seq) FROM operation") == "3");
  CHECK(ask(directory.path(), "SELECT count(*) FROM operation_bulk") == "0");
  CHECK(ask(directory.path(), "SELECT group_concat(seq) FROM cancel") == "5");
  for (std::uint64_t id = 1; id <= 10; ++id) REQUIRE_FALSE(s.write({put_event{event(id, "operation_created")}}));
  REQUIRE_FALSE(s.write({drop_events{4}}));
  CHECK(ask(directory.path(), "SELECT min(id) FROM event") == "5");
  REQUIRE_FALSE(s.write({drop_events{1'000}}));
  // The newest event determines the next number.
  CHECK(ask(directory.path(), "SELECT group_concat(id) FROM event") == "10");
}
