// Which push notification configs an event is about, and that the others are not looked at.
#include <catch2/catch.hpp>

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>

#include "gateway/a2a/push_index.hpp"
#include "gateway/a2a/push_sender.hpp"
#include "tests/gateway/world.hpp"
#include "tests/patience.hpp"

using namespace quell;
using namespace quell::controller::http::a2a;
using namespace std::chrono_literals;

namespace {

using config_names = std::vector<std::string>;

records::event_record event_about_task(event_type type, std::optional<operation_id> operation,
                                       std::optional<operation_id> root, std::optional<cancel_id> cancel = {}) {
  records::event_record e;
  e.type = type;
  e.operation = operation;
  e.root = root;
  e.cancel = cancel;
  return e;
}

/// A sender whose looks the test counts, and whose tasks always have the state that is known already.
struct counted_sender {
  const controller::test::temp_directory directory;
  std::mutex guard;
  std::condition_variable changed;
  std::map<operation_id, int> looks; ///< by task
  std::map<operation_id, push_look> states;
  std::shared_ptr<push_sender> sender;

  counted_sender() {
    push_sender::edges edges;
    edges.state_directory = directory.path();
    edges.look = [this](const push_config& config, const push_sender::looked& done) {
      push_look look{"working", false, "{}"};
      {
        const std::lock_guard lock(guard);
        ++looks[config.task];
        if (const auto at = states.find(config.task); at != states.end()) look = at->second;
      }
      changed.notify_all();
      done(std::optional(look));
    };
    sender = std::make_shared<push_sender>(std::move(edges));
  }
  ~counted_sender() { sender->stop(); }

  void put(const operation_id& task, const std::string& by) {
    push_config config;
    config.id = task.text();
    config.task = task;
    config.url = "https://hooks.example/x";
    config.by = by;
    config.last = "working"; // so nothing is sent
    const auto stored = std::make_shared<std::promise<bool>>();
    sender->put(config, [stored](const result<void>& done) { stored->set_value(done.has_value()); });
    auto later = stored->get_future();
    REQUIRE(later.wait_for(testing::patient(60s)) == std::future_status::ready);
    REQUIRE(later.get());
  }
  int count(const operation_id& task) {
    const std::lock_guard lock(guard);
    return looks[task];
  }
  void wait_for(const operation_id& task, int count) {
    std::unique_lock lock(guard);
    REQUIRE(changed.wait_for(lock, testing::patient(60s), [&] { return looks[task] >= count; }));
  }
};

} // namespace

TEST_CASE("an event is about the configs of its task, of its tree, and of what its cancel stops", "[a2a][push]") {
  push_index index;
  const auto task = operation_id::fresh(), other = operation_id::fresh(), root = operation_id::fresh(),
             below = operation_id::fresh();
  const auto cancel = cancel_id::fresh();
  CHECK(index.about(event_about_task(event_type::operation_started, task, task)).empty());
  CHECK(index.put("a", {task}));
  CHECK(index.put("b", {task}));
  CHECK(index.put("c", {other}));
  CHECK(index.about(event_about_task(event_type::operation_started, task, task)) == config_names{"a", "b"});
  CHECK(index.about(event_about_task(event_type::operation_started, below, task)) == config_names{"a", "b"});
  CHECK(index.about(event_about_task(event_type::operation_started, below, root)).empty());
  CHECK(index.put("a", {task, root}));
  CHECK_FALSE(index.put("b", {task, task})); // its own tree
  CHECK(index.about(event_about_task(event_type::operation_started, below, root)) == config_names{"a"});
  CHECK(index.about(event_about_task(event_type::cancel_settled, {}, {}, cancel)).empty());
  CHECK(index.put("b", {task, task, cancel}));
  CHECK(index.about(event_about_task(event_type::cancel_settled, {}, {}, cancel)) == config_names{"b"});
  CHECK(index.about(event_about_task(event_type::cancel_settled, root, root, cancel)) == config_names{"a", "b"});
  CHECK(index.about(event_about_task(event_type::operation_cancelled, below, below, cancel)).empty());
  CHECK(index.put("b", {task, task, cancel_id::fresh()}));
  CHECK(index.about(event_about_task(event_type::cancel_settled, {}, {}, cancel)).empty());
  for (const auto* one : {"a", "b", "c", "none"}) index.remove(one);
  CHECK(index.about(event_about_task(event_type::cancel_settled, task, root, cancel)).empty());
}

TEST_CASE("a cancel looks at the tasks that it stops, however many others have configs", "[a2a][push]") {
  counted_sender world;
  std::vector<operation_id> others;
  for (int i = 0; i < 200; ++i) {
    others.push_back(operation_id::fresh());
    world.put(others.back(), "token");
  }
  const auto stopped = operation_id::fresh();
  const auto root = operation_id::fresh();
  const auto cancel = cancel_id::fresh();
  world.states[stopped] = {"working", false, "{}", root, cancel};
  world.put(stopped, "token");
  for (const auto& id : others) world.wait_for(id, 1);
  world.wait_for(stopped, 2); // once more, when its tree and its cancel are known
  std::map<operation_id, int> before;
  for (const auto& id : others) before[id] = world.count(id);
  for (int i = 0; i < 100; ++i) {
    const auto foreign = cancel_id::fresh();
    const auto target = operation_id::fresh();
    for (const auto type : {event_type::cancel_fenced, event_type::cancel_signalled, event_type::cancel_settled}) {
      world.sender->on_event(event_about_task(type, {}, {}, foreign));
      world.sender->on_event(event_about_task(type, target, target, foreign));
    }
  }
  auto count = world.count(stopped);
  world.sender->on_event(event_about_task(event_type::cancel_settled, {}, {}, cancel));
  world.wait_for(stopped, ++count);
  count = world.count(stopped);
  world.sender->on_event(event_about_task(event_type::operation_completed, operation_id::fresh(), root));
  world.wait_for(stopped, ++count);
  // All of this is on one thread in its order: what the first events wanted was done before.
  int looked = 0;
  for (const auto& id : others) looked += world.count(id) - before[id];
  CHECK(looked <= 1'000); // each is looked at again after 15 s, which a slow machine can take; 600 cancels are 120,000
}
