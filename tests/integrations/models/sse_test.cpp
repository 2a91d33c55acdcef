// Server-sent events: every way to write them, cut in every way.
#include <catch2/catch.hpp>

#include "integrations/models/limits.hpp"
#include "integrations/models/sse.hpp"
#include "integrations/models/text.hpp"

using namespace quell::integrations;
using namespace std::string_view_literals;

namespace {

using events = std::vector<std::pair<std::string, std::string>>;

events decoded(const std::vector<std::string_view>& pieces) {
  events found;
  sse_decoder decoder;
  for (const auto piece : pieces)
    CHECK(decoder.take(piece, [&](std::string_view name, std::string_view data) {
      found.emplace_back(name, data);
      return true;
    }) == sse_decoder::state::fine);
  return found;
}

} // namespace

TEST_CASE("a stream of events is the same however its bytes are cut") {
  const events expected{
      {"greeting", "hello"}, {"", "two\nlines"}, {"", " spaced: and colons: too"}, {"", ""}, {"x", "ä€😀"}};
  for (const std::string newline : {"\n", "\r\n", "\r"}) {
    std::string stream =
        "\xEF\xBB\xBF: a comment|event: greeting|data: hello||:||data: two|data:lines|id: 3|retry: 5||"
        "data:  spaced: and colons: too||data||event: no data||event:x|unknown: y|data: ä€😀||data: not ended|";
    for (auto at = stream.find('|'); at != std::string::npos; at = stream.find('|', at + newline.size()))
      stream.replace(at, 1, newline);
    CHECK(decoded({stream}) == expected);
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
      INFO("cut at " << cut);
      CHECK(decoded({std::string_view(stream).substr(0, cut), std::string_view(stream).substr(cut)}) == expected);
    }
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < stream.size(); ++i) bytes.push_back(std::string_view(stream).substr(i, 1));
    CHECK(decoded(bytes) == expected);
  }
}

TEST_CASE("a line and an event have a limit, however they come") {
  const auto ignore = [](std::string_view, std::string_view) { return true; };
  const std::string piece(1024 * 1024, 'x');
  sse_decoder endless_line;
  auto state = sse_decoder::state::fine;
  std::size_t taken = 0;
  for (; state == sse_decoder::state::fine && taken < 64; ++taken) state = endless_line.take(piece, ignore);
  CHECK(state == sse_decoder::state::line_too_long);
  CHECK(taken * piece.size() <= limits::line_bytes + 2 * piece.size());

  sse_decoder endless_event;
  state = sse_decoder::state::fine;
  for (taken = 0; state == sse_decoder::state::fine && taken < 64; ++taken)
    state = endless_event.take("data: " + piece + "\n", ignore);
  CHECK(state == sse_decoder::state::event_too_long);
  CHECK(taken * piece.size() <= limits::event_bytes + 2 * piece.size());
}

TEST_CASE("bytes that are not UTF-8 are repaired, and what is valid stays as it is") {
  CHECK(repaired("ä€😀\xEF\xBF\xBF") == "ä€😀\xEF\xBF\xBF");
  CHECK(repaired("a\xFF\xFE"
                 "b\xC3") == "a\xEF\xBF\xBD"
                             "b\xEF\xBF\xBD");
  CHECK(repaired("\xED\xA0\x80") == "\xEF\xBF\xBD");       // half of a surrogate pair
  CHECK(repaired("\xC0\xAF") == "\xEF\xBF\xBD");           // an overlong form
  CHECK(repaired("\xF4\x90\x80\x80x") == "\xEF\xBF\xBDx"); // above U+10FFFF
  CHECK(excerpt("  one \n\t two\x1b[31m  ", 100) == "one two [31m");
  CHECK(excerpt("ääääää", 3) == "äää…");
  CHECK(excerpt(std::string(1'000'000, 'x'), 5) == "xxxxx…");
}

TEST_CASE("the last id and the pause of a stream are known, of whole events only") {
  sse_decoder decoder;
  const auto take = [&](std::string_view bytes) { decoder.take(bytes, [](auto, auto) { return true; }); };
  CHECK(decoder.last_id().empty());
  CHECK_FALSE(decoder.retry());
  take("id: a\nretry: 250\ndata: \n");
  CHECK(decoder.last_id().empty());
  CHECK(decoder.retry() == std::chrono::milliseconds(250));
  take("\n");
  CHECK(decoder.last_id() == "a");
  take("data: x\n\n");
  CHECK(decoder.last_id() == "a"); // valid until another one comes
  take("id: b\n\nid: c\ndata: cut");
  CHECK(decoder.last_id() == "b");
  take("\nid: d\0e\nretry: -1\nretry: 5s\nretry: 99999999999999999999\n\n"sv);
  CHECK(decoder.last_id() == "c");
  CHECK(decoder.retry() == std::chrono::milliseconds(250));
  take("id\n\n");
  CHECK(decoder.last_id().empty());
}
