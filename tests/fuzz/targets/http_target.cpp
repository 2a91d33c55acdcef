// Request targets, query parameters, cursors and bearer tokens: every byte in the head of a request.
#include "gateway/query_reader.hpp"
#include "gateway/tokens.hpp"
#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/samples.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::controller;
using namespace quell::controller::http;

constexpr std::string_view key = "a key of this target";

void reads_every_parameter(const request& req) {
  query_reader query(req);
  const auto limit = query.limit();
  expect(limit >= 1 && limit <= 1000, "a limit is within its bounds");
  (void)query.ascending();
  (void)query.scopes("scope");
  (void)query.words<status>("status");
  (void)query.ids<operation_id>("operation");
  if (const auto since = query.instant("since")) {
    const auto text = instant_text(*since);
    expect(parse_instant(text) == since || *since < wall_time{} || text.size() != 24,
           "an instant can be written and read");
  }
  (void)query.flag("live");
  const auto number = query.number("offset", 0, 1ULL << 53);
  expect(!number || *number <= 1ULL << 53, "a number is within its bounds");
  if (const auto cursor = query.one("cursor"))
    if (const auto parsed = parse_cursor(*cursor))
      expect(parse_cursor(to_text(*parsed)) == parsed, "a cursor can be written and read");
  for (const auto& label : query.many("label")) expect(is_utf8(label), "a parameter is UTF-8");
  try {
    query.finish();
  } catch (const problem& p) {
    const auto& kind = kind_of_problem(p.code);
    expect(kind.status == 422, "a bad parameter is the client's mistake");
    const auto document = problem_json(p, id_number<request_id>(1));
    expect(is_utf8(document), "a problem is UTF-8");
    expect(document.size() < 4'000'000, "a problem is not larger than what it is about");
  }
}

void run(std::string_view bytes) {
  request req;
  if (const auto read = read_target(bytes, req); read) {
    expect(req.query.size() <= 256, "parameters are few");
    expect(!req.path.empty() && req.path.front() == '/', "a path begins with /");
    (void)percent_decoded(req.path, plus_sign::literal);
    reads_every_parameter(req);
  } else {
    expect(read.error().code == "bad_request" && !read.error().detail.empty(), "a bad target is refused with a reason");
    expect(is_utf8(problem_json(from_fault(read.error()), id_number<request_id>(1))), "a problem is UTF-8");
  }
  if (const auto plain = from_base64url(bytes)) expect(base64url(*plain) == bytes, "base64url has one way to write");
  if (const auto id = verify_task_token(bytes, key))
    expect(mint_task_token(*id, key) == bytes, "only what was minted is taken");
  token_table tokens;
  expect(tokens.find_hash(token_hash(bytes), wall_time{}) == nullptr, "an empty book knows no token");
}

std::vector<std::string> seeds() {
  return {"/v1/operations?scope=team%2Fbuild&status=live&status=ended&limit=10&order=asc&cursor=" +
              to_text(seq_cursor{true, 42}),
          "/v1/operations/01a1f869-3df9-7303-8207-dde70bee07dd/output?stream=stdout&offset=12&tail_bytes=4096",
          "/v1/events?after=0&types=output,operation_completed&since=2026-11-20T09%3A51%3A07.123Z",
          "/v1/scopes?prefix=a%2Fb&live=true&label=k%3Dv&operation=01a1f869-3df9-7303-8207-dde70bee07dd",
          "/v1/workers/w%2f1?x=%00",
          "/%",
          "/a?b=%ff",
          "*",
          "/?since=2026-02-30T25:61:61+99:99",
          "/?limit=18446744073709551616",
          mint_task_token(id_number<operation_id>(1), key)};
}

const known_target known("http_target", run, seeds);

} // namespace
} // namespace quell::fuzz
