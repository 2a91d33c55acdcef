// How far a speech is sent ahead, and when it has been heard.
#include <catch2/catch.hpp>

#include "integrations/voice/pace.hpp"
#include "integrations/voice/wire.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace std::chrono_literals;

namespace {

constexpr boot_time pace_start{5'000'000'000};
constexpr std::size_t a_quarter = samples_per_second / 4;

/// Sends chunks of a quarter of a second as long as it may; returns their number.
int chunks_at(pace& p, boot_time now) {
  int n = 0;
  for (; p.may_send(now); ++n) p.sent(now, a_quarter);
  return n;
}

} // namespace

TEST_CASE("a speech is sent one second ahead of the ear, and at its pace", "[voice]") {
  pace p({});
  CHECK(chunks_at(p, pace_start) == 4);
  CHECK(chunks_at(p, pace_start) == 0);
  CHECK(chunks_at(p, pace_start + 250ms) == 1);
  CHECK(chunks_at(p, pace_start + 1250ms) == 4);
  CHECK(p.audible_until() == pace_start + 2250ms);
}

TEST_CASE("a voice that pauses is not sent faster behind its pause", "[voice]") {
  pace p({});
  CHECK(chunks_at(p, pace_start) == 4);
  CHECK(chunks_at(p, pace_start + 10s) == 4); // one second again, and not ten
  CHECK(p.audible_until() == pace_start + 11s);
}

TEST_CASE("an answer behind another one waits for its ear, and is heard behind it", "[voice]") {
  pace first({});
  chunks_at(first, pace_start);
  pace second(first.audible_until());
  CHECK(chunks_at(second, pace_start) == 0);
  CHECK(chunks_at(second, pace_start + 250ms) == 1);
  CHECK(second.audible_until() == pace_start + 1250ms);
}

TEST_CASE("a speech has been heard when its last sample was played, and a margin later at the client", "[voice]") {
  pace p({});
  CHECK(p.audible_for(pace_start) == 0ms); // there was none
  p.sent(pace_start, a_quarter);
  CHECK(p.audible_for(pace_start) == 250ms + hearing_margin);
  CHECK(p.audible_for(pace_start + 100ms) == 150ms + hearing_margin);
  CHECK(p.audible_for(pace_start + 1min) == 0ms);
}

TEST_CASE("samples that reach the client late are heard late", "[voice]") {
  pace p({});
  p.sent(pace_start, a_quarter);
  p.delayed(pace_start + 3s, a_quarter);
  CHECK(p.audible_until() == pace_start + 3250ms);
  p.delayed(pace_start + 3s, 16); // an earlier part of it: nothing is heard sooner
  CHECK(p.audible_until() == pace_start + 3250ms);
}
