// The join line: the round trip, and the faults of a damaged one.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "protocol/join.hpp"

using namespace quell;

namespace {

join_line some_line() {
  return {"w3",
          {"tcp://10.0.0.1:7711", "tcp://[::1]:7711"},
          {"tcp://10.0.0.1:7712", "tcp://[::1]:7712"},
          std::string(40, 's'),
          std::string(40, 'k')};
}

} // namespace

TEST_CASE("a join line goes there and back, with a key and without", "[join]") {
  auto line = some_line();
  CHECK(*parse_join(to_text(line)) == line);
  CHECK(*parse_join("  " + to_text(line) + "\n") == line);
  line.worker_secret_key.clear();
  CHECK(*parse_join(to_text(line)) == line);
}

TEST_CASE("any join line goes there and back", "[join]") {
  const bool held = rc::check("round trip", [] {
    join_line line = some_line();
    line.worker = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z')));
    const auto n = *rc::gen::inRange(1, 5);
    line.control_endpoints.assign(static_cast<std::size_t>(n), "tcp://" + line.worker + ":1");
    line.bulk_endpoints.assign(static_cast<std::size_t>(n), "tcp://" + line.worker + ":2");
    if (line.worker.size() > 128) line.worker.resize(128);
    RC_ASSERT(*parse_join(to_text(line)) == line);
  });
  CHECK(held);
}

TEST_CASE("every cut join line is told to be cut", "[join]") {
  const auto text = to_text(some_line());
  for (std::size_t n = 6; n < text.size(); ++n) {
    const auto parsed = parse_join(text.substr(0, n));
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == "bad_join");
    CHECK(parsed.error().detail.find("cut short") != std::string::npos);
  }
}

TEST_CASE("every single mistyped character is found", "[join]") {
  const auto text = to_text(some_line());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto wrong = text;
    wrong[i] = text[i] == 'A' ? 'B' : 'A';
    INFO(i);
    CHECK_FALSE(parse_join(wrong));
  }
}

TEST_CASE("what is wrong with a join line is said", "[join]") {
  const auto says = [](const std::string& text) { return parse_join(text).error().detail; };
  CHECK(says("").find("is empty") != std::string::npos);
  CHECK(says("hello").find("does not begin with qwj1.") != std::string::npos);
  CHECK(says("qwj2.AAAA").find("newer version") != std::string::npos);
  auto text = to_text(some_line());
  text[20] = '!';
  CHECK(says(text).find("character 21") != std::string::npos);
  CHECK(says("qwj1." + std::string(100'000, 'A')).find("longer than any") != std::string::npos);
  auto slash = some_line();
  slash.worker = "../../etc";
  CHECK_FALSE(parse_join(to_text(slash)));
}
