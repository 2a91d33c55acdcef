// Push notification configs: those of one token are limited, and leave room to those of others.
#include <catch2/catch.hpp>

#include <future>
#include <memory>

#include "gateway/a2a/push_sender.hpp"
#include "tests/gateway/world.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::controller::http::a2a;
using namespace std::chrono_literals;

TEST_CASE("the push notification configs of one token leave room for those of another", "[a2a][push]") {
  const controller::test::temp_directory directory;
  push_sender::edges edges;
  edges.state_directory = directory.path();
  edges.look = [](const push_config&, const push_sender::looked&) {}; // the tasks are never read
  const auto sender = std::make_shared<push_sender>(std::move(edges));
  const auto answer_of = [](const auto& ask) {
    const auto answer = std::make_shared<std::promise<result<void>>>();
    auto later = answer->get_future();
    ask([answer](result<void> stored) { answer->set_value(std::move(stored)); });
    REQUIRE(later.wait_for(testing::patient(60s)) == std::future_status::ready);
    return later.get();
  };
  const auto put = [&](const operation_id& task, const std::string& id, const std::string& by) {
    push_config config;
    config.id = id;
    config.task = task;
    config.url = "https://hooks.example/x";
    config.by = by;
    return answer_of([&](const push_sender::stored& done) { sender->put(config, done); });
  };
  operation_id task;
  for (std::size_t i = 0; i < most_configs_of_token; ++i) {
    if (i % most_configs_of_task == 0) task = operation_id::fresh();
    REQUIRE(put(task, "c" + std::to_string(i), "loud"));
  }
  const auto next = operation_id::fresh();
  CHECK(put(next, "one", "loud").error().code == "too_many");
  CHECK(sender->room_for("loud").error().code == "too_many");
  CHECK(put(task, "c249", "loud")); // replaced
  CHECK(sender->room_for("quiet"));
  CHECK(put(next, "one", "quiet"));
  CHECK(answer_of([&](const push_sender::stored& done) { sender->remove(task, "c249", "loud", done); }));
  CHECK(put(next, "two", "loud"));
  sender->stop();
}
