// Threads on the way of stops are urgent while one is on its way, and ordinary at all other times.
#include <catch2/catch.hpp>

#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protocol/stop_urgency.hpp"
#include "protocol/urgency.hpp"

using namespace quell;
using namespace std::chrono_literals;

namespace {

/// A thread that waits until it is told to end.
class waiting_thread {
 public:
  enum class way : bool { of_stops, another };
  explicit waiting_thread(way which) {
    std::promise<pid_t> started;
    auto id = started.get_future();
    thread_ = std::thread([this, which, &started] {
      take_short_turns(turns_of::deciding);
      std::optional<on_way_of_stops> here;
      if (which == way::of_stops) here.emplace(turns_of::deciding);
      started.set_value(static_cast<pid_t>(::syscall(SYS_gettid)));
      end_.get_future().wait();
    });
    id_ = id.get();
  }
  ~waiting_thread() {
    end_.set_value();
    thread_.join();
  }
  waiting_thread(const waiting_thread&) = delete;
  waiting_thread& operator=(const waiting_thread&) = delete;

  bool is_urgent() const { return (::sched_getscheduler(id_) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO; }

 private:
  std::promise<void> end_;
  std::thread thread_;
  pid_t id_ = 0;
};

/// Whether this process may make threads urgent at all.
bool may_be_urgent() {
  return std::async(std::launch::async, [] { return become_urgent(); }).get();
}

/// Takes CAP_SYS_NICE from the calling thread.
void drop_priority_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3]{};
  REQUIRE(::syscall(SYS_capget, &header, rights) == 0);
  rights[0].effective &= ~(1U << CAP_SYS_NICE);
  REQUIRE(::syscall(SYS_capset, &header, rights) == 0);
}

/// A stop that is urgent, if this process may make threads urgent: others in the same second can have used it up.
std::unique_ptr<stop_on_its_way> urgent_stop(const waiting_thread& core) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  std::unique_ptr<stop_on_its_way> stop;
  do {
    stop = std::make_unique<stop_on_its_way>();
    if (core.is_urgent() || !may_be_urgent()) return stop;
    stop.reset();
  } while (std::chrono::steady_clock::now() < end);
  FAIL("no stop is urgent within a minute");
  return stop;
}

} // namespace

TEST_CASE("only threads on the way of a stop are urgent, and only until the last stop has passed", "[urgency]") {
  const waiting_thread core(waiting_thread::way::of_stops), other(waiting_thread::way::another);
  CHECK_FALSE(core.is_urgent());
  auto first = urgent_stop(core);
  CHECK(core.is_urgent() == may_be_urgent());
  CHECK_FALSE(other.is_urgent());
  {
    const waiting_thread late(waiting_thread::way::of_stops);
    CHECK(late.is_urgent() == core.is_urgent());
    const stop_on_its_way second;
    first.reset();
    CHECK(core.is_urgent() == may_be_urgent());
  }
  CHECK_FALSE(core.is_urgent());
}

TEST_CASE("many stops make no thread urgent for long", "[urgency]") {
  const waiting_thread core(waiting_thread::way::of_stops);
  const auto began = std::chrono::steady_clock::now();
  std::int64_t urgent = 0;
  for (int i = 0; i < 1'000; ++i) {
    const stop_on_its_way one;
    if (core.is_urgent()) ++urgent;
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - began).count() + 1;
  CHECK(urgent <= seconds * most_urgent_stops);
  const auto slow = urgent_stop(core);
  const auto end = std::chrono::steady_clock::now() + longest_stop_urgency;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  bound_stop_urgency();
  CHECK_FALSE(core.is_urgent());
}

TEST_CASE("a thread becomes ordinary again without the right to be urgent", "[urgency]") {
  const waiting_thread core(waiting_thread::way::of_stops);
  auto stop = urgent_stop(core);
  std::thread([&stop] {
    drop_priority_rights();
    stop.reset();
  }).join();
  CHECK_FALSE(core.is_urgent());
}
