// One stream's output: window, back-pressure, stall, holes, resends.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "worker/input_buffer.hpp"
#include "worker/output_buffer.hpp"

using namespace quell;
using namespace quell::worker;
using namespace std::chrono_literals;

namespace {

struct buffer_fixture {
  output_budget budget{1000, 0};
  output_buffer buffer{{.limit = 100, .stall = 5000ms}, budget};
  boot_time now{1};

  void writes(std::size_t bytes, char c = 'x') { buffer.took(std::string(bytes, c)); }
  std::vector<std::pair<std::uint64_t, std::string>> sends() {
    std::vector<std::pair<std::uint64_t, std::string>> all;
    while (auto p = buffer.next(40)) {
      all.emplace_back(p->offset, std::string(p->bytes) + (p->end ? "$" : ""));
      buffer.sent(*p);
    }
    return all;
  }
};

} // namespace

TEST_CASE("output is sent in pieces with offsets and kept until it is acknowledged", "[output]") {
  buffer_fixture f;
  f.writes(60);
  const auto pieces = f.sends();
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].first == 0);
  CHECK(pieces[1].first == 40);
  CHECK(f.buffer.in_flight() == 60);
  CHECK(f.buffer.acknowledged(40) == 40);
  CHECK(f.buffer.held() == 20);
  CHECK(f.budget.used == 20);
  CHECK(f.buffer.acknowledged(40) == 0); // a repeat
  CHECK(f.buffer.acknowledged(60) == 20);
  CHECK(f.buffer.held() == 0);
}

TEST_CASE("the end rides on the last piece, or alone when nothing was written, and is acknowledged", "[output]") {
  buffer_fixture f;
  f.writes(3);
  f.buffer.finish();
  CHECK(f.sends() == std::vector<std::pair<std::uint64_t, std::string>>{{0, "xxx$"}});
  CHECK_FALSE(f.buffer.done());
  f.buffer.acknowledged(3);
  CHECK(f.buffer.done());

  buffer_fixture empty;
  empty.buffer.finish();
  CHECK(empty.sends() == std::vector<std::pair<std::uint64_t, std::string>>{{0, "$"}});
  empty.buffer.acknowledged(0);
  CHECK(empty.buffer.done());
}

TEST_CASE("a full buffer stops reading, but only for the stall; then bytes are dropped and the offset jumps",
          "[output]") {
  buffer_fixture f;
  f.writes(100);
  CHECK_FALSE(f.buffer.wants_bytes(f.now));
  REQUIRE(f.buffer.stall_ends());
  CHECK(*f.buffer.stall_ends() == f.now + 5000ms);
  CHECK_FALSE(f.buffer.wants_bytes(f.now + 4999ms));
  CHECK(f.buffer.wants_bytes(f.now + 5000ms));
  f.writes(30, 'd');
  CHECK(f.buffer.dropped() == 30);
  CHECK(f.buffer.total() == 130);
  f.sends();
  f.buffer.acknowledged(100);
  CHECK(f.buffer.wants_bytes(f.now + 5001ms));
  f.writes(5, 'n');
  const auto after = f.sends();
  REQUIRE(after.size() == 1);
  CHECK(after[0] == std::pair<std::uint64_t, std::string>{130, "nnnnn"});
}

TEST_CASE("an acknowledgement within the stall ends it without loss", "[output]") {
  buffer_fixture f;
  f.writes(100);
  CHECK_FALSE(f.buffer.wants_bytes(f.now));
  f.sends();
  f.buffer.acknowledged(50);
  CHECK(f.buffer.wants_bytes(f.now + 1000ms));
  CHECK_FALSE(f.buffer.stall_ends());
  CHECK(f.buffer.dropped() == 0);
}

TEST_CASE("after a rewind everything unacknowledged is sent again, the end too", "[output]") {
  buffer_fixture f;
  f.writes(60);
  f.buffer.finish();
  const auto first = f.sends();
  CHECK(f.buffer.rewind() == 60);
  CHECK(f.sends() == first);
  f.buffer.acknowledged(45);
  f.buffer.rewind();
  const auto rest = f.sends();
  REQUIRE(rest.size() == 1);
  CHECK(rest[0] == std::pair<std::uint64_t, std::string>{45, std::string(15, 'x') + "$"});
}

TEST_CASE("an acknowledgement of bytes that were rewound frees them unsent", "[output]") {
  buffer_fixture f;
  f.writes(60);
  f.sends();
  f.buffer.rewind();
  CHECK(f.buffer.acknowledged(60) == 0);
  CHECK(f.buffer.held() == 0);
  CHECK(f.sends().empty());
}

TEST_CASE("what a pipe still holds at the end is kept although the buffer is full", "[output]") {
  buffer_fixture f;
  f.writes(100);
  f.buffer.took(std::string(50, 'e'), output_buffer::writer::has_ended);
  CHECK(f.buffer.held() == 150);
  CHECK(f.buffer.dropped() == 0);
}

TEST_CASE("all streams together are bounded by the budget", "[output]") {
  output_budget budget{150, 0};
  output_buffer a({.limit = 100, .stall = 1ms}, budget);
  output_buffer b({.limit = 100, .stall = 1ms}, budget);
  a.took(std::string(100, 'a'));
  b.took(std::string(50, 'b'));
  CHECK_FALSE(b.wants_bytes(boot_time{1}));
  b.took("more", output_buffer::writer::has_ended);
  CHECK(b.dropped() == 4);
  a.forget();
  CHECK(budget.used == 50);
  CHECK(b.wants_bytes(boot_time{2}));
}

TEST_CASE("a stream that ended quietly sends no mark, unless it is announced", "[output]") {
  buffer_fixture f;
  f.buffer.finish_quietly();
  CHECK(f.sends().empty());
  CHECK_FALSE(f.buffer.done());
  f.buffer.announce_end();
  CHECK(f.sends() == std::vector<std::pair<std::uint64_t, std::string>>{{0, "$"}});
  f.buffer.acknowledged(0);
  CHECK(f.buffer.done());

  buffer_fixture waiting; // bytes that wait take the end along
  waiting.writes(3);
  waiting.buffer.finish_quietly();
  CHECK(waiting.sends() == std::vector<std::pair<std::uint64_t, std::string>>{{0, "xxx$"}});
}

TEST_CASE("the result of a task ends its streams without a mark, unless their end was dropped", "[output]") {
  buffer_fixture f;
  f.writes(3);
  CHECK(f.sends() == std::vector<std::pair<std::uint64_t, std::string>>{{0, "xxx"}});
  f.buffer.conclude();
  CHECK(f.sends().empty());
  CHECK_FALSE(f.buffer.done());
  f.buffer.acknowledged(3);
  CHECK(f.buffer.done());

  buffer_fixture empty;
  empty.buffer.conclude();
  CHECK(empty.sends().empty());
  CHECK(empty.buffer.done());

  buffer_fixture holed; // the controller must learn where the stream would have ended
  holed.writes(100);
  holed.sends();
  CHECK_FALSE(holed.buffer.wants_bytes(holed.now));
  CHECK(holed.buffer.wants_bytes(holed.now + 6000ms));
  holed.writes(20);
  holed.buffer.conclude();
  CHECK(holed.sends() == std::vector<std::pair<std::uint64_t, std::string>>{{120, "$"}});
  holed.buffer.acknowledged(100);
  CHECK_FALSE(holed.buffer.done());
  holed.buffer.acknowledged(120);
  CHECK(holed.buffer.done());
}

TEST_CASE("what the controller does not know is forgotten at once, and reading goes on", "[output]") {
  buffer_fixture f;
  f.writes(100);
  f.buffer.forget();
  CHECK(f.buffer.held() == 0);
  CHECK(f.buffer.wants_bytes(f.now));
  f.writes(10);
  CHECK(f.sends().empty());
  f.buffer.finish();
  CHECK(f.buffer.done());
}

TEST_CASE("under any writes, sends, acknowledgements and rewinds every kept byte arrives once, in place", "[output]") {
  const bool held = rc::check("random streams", [] {
    output_budget budget{400, 0};
    output_buffer buffer({.limit = 200, .stall = 50ms}, budget);
    std::string written, arrived; // arrived: '?' for bytes that are missing
    std::uint64_t acknowledged = 0;
    boot_time now{1};
    const auto send = [&] {
      const auto p = buffer.next(static_cast<std::size_t>(*rc::gen::inRange(1, 64)));
      if (!p) return false;
      if (arrived.size() < p->offset + p->bytes.size()) arrived.resize(p->offset + p->bytes.size(), '?');
      arrived.replace(p->offset, p->bytes.size(), p->bytes);
      buffer.sent(*p);
      return true;
    };
    for (int i = 0, n = *rc::gen::inRange(1, 120); i < n; ++i) {
      now = now + milliseconds{*rc::gen::inRange(0, 30)};
      switch (*rc::gen::inRange(0, 4)) {
      case 0:
        if (buffer.wants_bytes(now)) {
          const std::string bytes(static_cast<std::size_t>(*rc::gen::inRange(1, 90)), static_cast<char>('a' + i % 26));
          written += bytes;
          buffer.took(bytes);
        }
        break;
      case 1:
        send();
        break;
      case 2: {
        const auto most = std::max<std::uint64_t>(acknowledged, arrived.size());
        acknowledged = *rc::gen::inRange<std::uint64_t>(acknowledged, most + 1);
        buffer.acknowledged(acknowledged);
        break;
      }
      case 3:
        buffer.rewind();
        break;
      }
      RC_ASSERT(buffer.total() == written.size());
      RC_ASSERT(buffer.in_flight() <= buffer.held());
      RC_ASSERT(budget.used == buffer.held());
      RC_ASSERT(buffer.held() < 300U);
    }
    buffer.finish();
    while (send()) {
    }
    std::uint64_t missing = 0;
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (i < arrived.size() && arrived[i] == written[i]) continue;
      RC_ASSERT(i >= arrived.size() || arrived[i] == '?');
      ++missing;
    }
    RC_ASSERT(missing == buffer.dropped());
    buffer.acknowledged(buffer.total());
    RC_ASSERT(buffer.done());
  });
  CHECK(held);
}

TEST_CASE("input is taken once and in order, acknowledged when it was handed over", "[input]") {
  input_buffer in(input_buffer::reader::pipe);
  const operation_id id;
  in.offer({id, 0, "abc", false});
  in.offer({id, 0, "abc", false});  // a repeat
  in.offer({id, 2, "cd", false});   // overlaps
  in.offer({id, 10, "gap", false}); // a gap: must be resent from 4 on
  CHECK(in.waiting() == "abcd");
  CHECK(in.drained() == 0);
  in.written(3);
  CHECK(in.drained() == 3);
  in.offer({id, 4, "", true});
  CHECK_FALSE(in.at_end());
  in.written(1);
  CHECK(in.at_end());
  in.offer({id, 4, "late", false});
  CHECK(in.waiting().empty());
}

TEST_CASE("input beyond the bound is not taken, and its end waits with it", "[input]") {
  input_buffer in(input_buffer::reader::pipe, 4);
  in.offer({operation_id{}, 0, "abcdef", true});
  CHECK(in.waiting() == "abcd");
  CHECK(in.taken() == 4);
  in.written(4);
  CHECK_FALSE(in.at_end());
  in.offer({operation_id{}, 0, "abcdef", true});
  CHECK(in.waiting() == "ef");
  in.written(2);
  CHECK(in.at_end());
  CHECK(in.drained() == 6);
}

TEST_CASE("a terminal gets its end-of-file character, twice in the middle of a line, and no offset counts it",
          "[input]") {
  input_buffer line(input_buffer::reader::terminal);
  line.offer({operation_id{}, 0, "a\n", true});
  CHECK(line.waiting() == "a\n\x04");
  input_buffer middle(input_buffer::reader::terminal);
  middle.offer({operation_id{}, 0, "a", true});
  CHECK(middle.waiting() == "a\x04\x04");
  middle.written(2);
  CHECK(middle.drained() == 1);
  middle.written(1);
  CHECK(middle.drained() == 1);
  CHECK(middle.at_end());
}
