// The ordered channel in golden conversations, then against a network that loses, repeats and reorders.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "protocol/channel.hpp"

using namespace quell;
using namespace std::chrono_literals;

namespace {

constexpr boot_time start{1'000'000'000};

/// A message that differs from all others: the n-th stop.
wire::message nth(std::uint64_t n) {
  wire::stop s;
  s.seq = n;
  return s;
}

std::uint64_t n_of(const wire::message& m) { return std::get<wire::stop>(m).seq; }

std::vector<std::uint64_t> numbers(const std::vector<std::pair<std::uint64_t, wire::message>>& frames) {
  std::vector<std::uint64_t> all;
  for (const auto& [number, body] : frames) {
    CHECK(n_of(body) == number);
    all.push_back(number);
  }
  return all;
}

using list = std::vector<std::uint64_t>;
using verdict = channel_receiver::verdict;
using enum channel_sender::resend_cause;

} // namespace

TEST_CASE("frames are numbered from 1 and forgotten when acknowledged", "[channel]") {
  channel_sender sender;
  CHECK_FALSE(sender.next_resend());
  for (std::uint64_t n = 1; n <= 3; ++n) CHECK(sender.push(nth(n), start) == n);
  CHECK(sender.acknowledged(2, start));
  CHECK(sender.last_acknowledged() == 2);
  CHECK(numbers(sender.resend(start + 2s, time_passed)) == list{3});
  CHECK(sender.acknowledged(3, start));
  CHECK_FALSE(sender.next_resend());
  CHECK(sender.resend(start + 9s, gap_reported).empty());
}

TEST_CASE("an old acknowledgement is ignored; one of what was never sent ends the session", "[channel]") {
  channel_sender sender;
  sender.push(nth(1), start);
  sender.push(nth(2), start);
  CHECK(sender.acknowledged(2, start));
  CHECK(sender.acknowledged(1, start));
  CHECK(sender.last_acknowledged() == 2);
  CHECK_FALSE(sender.acknowledged(3, start));
  CHECK(sender.last_acknowledged() == 2);
}

TEST_CASE("nothing is sent again before its time", "[channel]") {
  channel_sender sender({.resend_after = 1000ms, .limit = 10});
  sender.push(nth(1), start);
  sender.push(nth(2), start + 900ms);
  CHECK(sender.next_resend() == start + 1000ms);
  CHECK(sender.resend(start + 999ms, time_passed).empty());
  CHECK(numbers(sender.resend(start + 1000ms, time_passed)) == list{1, 2});
  CHECK(sender.next_resend() == start + 2000ms);
  CHECK(sender.resend(start + 1001ms, time_passed).empty());
}

TEST_CASE("progress puts the resend off", "[channel]") {
  channel_sender sender;
  for (std::uint64_t n = 1; n <= 3; ++n) sender.push(nth(n), start);
  CHECK(sender.acknowledged(1, start + 900ms));
  CHECK(sender.resend(start + 1000ms, time_passed).empty());
  CHECK(numbers(sender.resend(start + 1900ms, time_passed)) == list{2, 3});
}

TEST_CASE("a gap is answered at once, and its many reports only once", "[channel]") {
  channel_sender sender;
  for (std::uint64_t n = 1; n <= 3; ++n) sender.push(nth(n), start);
  CHECK(numbers(sender.resend(start + 1ms, gap_reported)) == list{1, 2, 3});
  CHECK(sender.resend(start + 2ms, gap_reported).empty());
  CHECK(sender.resend(start + 3ms, gap_reported).empty());
  CHECK(numbers(sender.resend(start + 101ms, gap_reported)) == list{1, 2, 3});
  CHECK(sender.acknowledged(1, start + 102ms));
  CHECK(numbers(sender.resend(start + 103ms, gap_reported)) == list{2, 3}); // progress since then: a new gap
}

TEST_CASE("a peer that is too far behind overflows the channel", "[channel]") {
  channel_sender sender({.resend_after = 1000ms, .limit = 2});
  sender.push(nth(1), start);
  sender.push(nth(2), start);
  CHECK_FALSE(sender.overflown());
  sender.push(nth(3), start);
  CHECK(sender.overflown());
  CHECK(sender.acknowledged(1, start));
  CHECK_FALSE(sender.overflown());
}

TEST_CASE("the receiver delivers in order, drops repeats and reports gaps", "[channel]") {
  channel_receiver receiver;
  CHECK(receiver.accept(2) == verdict::gap);
  CHECK(receiver.accept(1) == verdict::deliver);
  CHECK(receiver.accept(1) == verdict::duplicate);
  CHECK(receiver.accept(3) == verdict::gap);
  CHECK(receiver.accept(2) == verdict::deliver);
  CHECK(receiver.accept(3) == verdict::deliver);
  CHECK(receiver.accept(0) == verdict::duplicate); // 0 is outside the channel
}

TEST_CASE("only what was applied is acknowledged", "[channel]") {
  channel_receiver receiver;
  receiver.accept(1);
  receiver.accept(2);
  CHECK(receiver.ack() == 0);
  receiver.applied(1);
  CHECK(receiver.ack() == 1);
  receiver.applied(9); // never accepted: the acknowledgement stays true
  CHECK(receiver.ack() == 2);
  receiver.applied(1);
  CHECK(receiver.ack() == 2);
}

TEST_CASE("whatever the network does, the delivered sequence is the sent one's prefix, in order, exactly once, and in "
          "the end all of it",
          "[channel]") {
  CHECK(rc::check([] {
    channel_sender sender;
    channel_receiver receiver;
    struct frame {
      std::uint64_t number;
      wire::message body;
    };
    std::vector<frame> forth;
    std::vector<std::pair<std::uint64_t, bool>> back; // acknowledgement, gap
    list delivered;
    boot_time now = start;
    std::uint64_t pushed = 0;

    const auto receive = [&](const frame& f) {
      const auto v = receiver.accept(f.number);
      if (v == verdict::deliver) delivered.push_back(n_of(f.body));
      back.emplace_back(receiver.ack(), v == verdict::gap);
    };
    const auto acknowledge = [&](std::pair<std::uint64_t, bool> a) {
      RC_ASSERT(sender.acknowledged(a.first, now));
      for (auto& [number, body] : sender.resend(now, a.second ? gap_reported : time_passed))
        forth.push_back({number, std::move(body)});
    };
    const auto take = [](auto& queue, std::size_t at) {
      auto taken = queue[at];
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(at));
      return taken;
    };

    const auto steps = *rc::gen::inRange(1, 120);
    for (int step = 0; step < steps; ++step) {
      now = now + milliseconds{*rc::gen::inRange(0, 300)};
      switch (*rc::gen::inRange(0, 9)) {
      case 0:
      case 1:
        forth.push_back({sender.push(nth(pushed + 1), now), nth(pushed + 1)}), ++pushed;
        break;
      case 2:
      case 3: // one arrives, any of them
        if (!forth.empty()) receive(take(forth, *rc::gen::inRange<std::size_t>(0, forth.size())));
        break;
      case 4: // one is lost
        if (!forth.empty()) take(forth, *rc::gen::inRange<std::size_t>(0, forth.size()));
        break;
      case 5: // one comes twice
        if (!forth.empty()) receive(frame(forth[*rc::gen::inRange<std::size_t>(0, forth.size())]));
        break;
      case 6:
        receiver.applied(*rc::gen::inRange<std::uint64_t>(0, delivered.size() + 1));
        break;
      case 7:
        if (!back.empty()) acknowledge(take(back, *rc::gen::inRange<std::size_t>(0, back.size())));
        break;
      case 8:
        for (auto& [number, body] : sender.resend(now, time_passed)) forth.push_back({number, std::move(body)});
        break;
      }
      RC_ASSERT(delivered.size() <= pushed);
      for (std::size_t i = 0; i < delivered.size(); ++i) RC_ASSERT(delivered[i] == i + 1);
      RC_ASSERT(sender.last_acknowledged() <= delivered.size());
      // The bookkeeping of a long wait must not lose the timer: any unacknowledged frame has a next resend.
      RC_ASSERT(sender.next_resend().has_value() == (sender.last_acknowledged() < pushed));
    }

    // The network recovers: a few rounds of timers are enough.
    for (int round = 0; round < 3 && sender.next_resend(); ++round) {
      now = std::max(now, *sender.next_resend());
      for (auto& [number, body] : sender.resend(now, time_passed)) forth.push_back({number, std::move(body)});
      while (!forth.empty()) receive(take(forth, 0));
      receiver.applied(delivered.size());
      RC_ASSERT(sender.acknowledged(receiver.ack(), now));
    }
    RC_ASSERT(delivered.size() == pushed);
    RC_ASSERT(!sender.next_resend());
  }));
}
