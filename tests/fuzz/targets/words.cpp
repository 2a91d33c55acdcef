// The short texts that people and programs write: scopes, ids, durations, sizes, instants, pairs, join lines.
#include "cli/duration.hpp"
#include "cli/instant.hpp"
#include "cli/short_id.hpp"
#include "controller/json/instant.hpp"
#include "protocol/duration.hpp"
#include "protocol/id.hpp"
#include "protocol/join.hpp"
#include "protocol/scope.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/settings.hpp"

namespace quell::fuzz {
namespace {

void scope(std::string_view text) {
  const auto parsed = scope_path::parse(text);
  if (!parsed) {
    expect(parsed.error().code == "bad_scope" && is_utf8(parsed.error().detail),
           "a bad scope is refused in plain words");
    expect(parsed.error().detail.size() < 1000, "the refusal does not repeat a long text");
    return;
  }
  expect(parsed->text() == text && text.size() <= 512, "a scope is what was written");
  const auto segments = parsed->segments();
  expect(segments.size() == parsed->depth() && segments.size() <= 16, "a scope has at most 16 segments");
  std::string joined;
  for (const auto s : segments) (joined += joined.empty() ? "" : "/") += s;
  expect(joined == text, "segments make up the scope");
  if (const auto above = parsed->parent()) {
    expect(parsed->is_at_or_below(*above) && !above->is_at_or_below(*parsed), "a scope lies below its parent");
    expect(scope_path::parse(above->text()).has_value(), "a parent is a scope");
  }
}

void id(std::string_view text) {
  const auto parsed = parse_uuid7(text);
  if (parsed) expect(uuid_text(*parsed) == text, "an id is what was written");
  expect(cli::is_whole_id(text) == parsed.has_value(), "the CLI knows the same ids");
  if (cli::is_id_tail(text)) (void)cli::matching_ids({"01a1f869-3df9-7303-8207-dde70bee07dd"}, text);
}

void times(std::string_view text) {
  constexpr milliseconds most = std::chrono::hours{24} * 3650;
  const auto there = parse_duration(text);
  const auto here = cli::parse_duration(text);
  expect(there.has_value() == here.has_value() && (!there || *there == *here),
         "the CLI and the daemons read the same durations");
  if (there) {
    expect(there->count() >= 0 && *there <= most, "a duration is bounded");
    expect(parse_duration(duration_text(*there)) == *there, "a duration can be written and read");
    (void)cli::duration_text(*there);
  }
  const auto size = parse_size(text);
  expect(size.has_value() == cli::parse_size(text).has_value(), "the CLI and the daemons read the same sizes");
  if (const auto at = controller::http::parse_instant(text)) {
    const auto written = controller::http::instant_text(*at);
    if (*at >= wall_time{} && written.size() == 24)
      expect(controller::http::parse_instant(written) == at && cli::parse_instant(written) == at,
             "an instant can be written and read");
  }
  if (const auto at = cli::parse_instant(text)) (void)cli::instant_text(*at);
}

void run(std::string_view text) {
  scope(text);
  id(text);
  times(text);
  if (const auto line = parse_join(text)) {
    const auto again = parse_join(to_text(*line));
    expect(again && *again == *line, "a join line can be written and read");
  } else {
    expect(line.error().code == "bad_join" && line.error().detail.find("qwj1.A") == std::string::npos,
           "a bad join line is not repeated: it is a secret");
  }
  if (const auto pair = worker::parse_pair(std::string(text), "a flag"))
    expect(pair->first + "=" + pair->second == text, "a pair is what was written");
  (void)worker::parse_containment(std::string(text));
}

std::vector<std::string> seeds() {
  join_line line{"w1",
                 {"tcp://127.0.0.1:7711", "tcp://[::1]:7711"},
                 {"tcp://127.0.0.1:7712", "tcp://[::1]:7712"},
                 std::string(40, 'k'),
                 std::string(40, 's')};
  auto cut = to_text(line);
  cut.resize(cut.size() / 2);
  return {"discord/guild-1/channel-2",
          "a//b",
          "..",
          "x@y:z/+=~._-",
          "01a1f869-3df9-7303-8207-dde70bee07dd",
          "0bee07dd",
          "250ms",
          "30s",
          "5m",
          "2h",
          "1d",
          "0",
          "3650d",
          "18446744073709551615ms",
          "64KiB",
          "1MiB",
          "8388608GiB",
          "2026-11-20T09:51:07.123Z",
          "2026-11-20T09:51:07+02:30",
          "9999-12-31T23:59:60.999999Z",
          "1970-01-01T00:00:00Z",
          "k=v",
          "=v",
          "cgroup+pidns",
          to_text(line),
          cut,
          "qwj2.x",
          "qwj1.",
          " qwj1.AAAA\n"};
}

const known_target known("words", run, seeds);

} // namespace
} // namespace quell::fuzz
