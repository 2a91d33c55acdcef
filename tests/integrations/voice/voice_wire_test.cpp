// Frames of the voice exchange from bytes: split, merged, hostile.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "integrations/voice/transcripts.hpp"
#include "integrations/voice/wire.hpp"
#include "integrations/voice/words.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace std::string_literals;

namespace {

std::string code_of(direction from, const std::string& bytes) {
  frame_reader reader(from);
  reader.put(bytes);
  for (;;) {
    const auto f = reader.next();
    if (!f) return f.error().code;
    if (!*f) return "";
  }
}

std::vector<frame> frames_of(frame_reader& reader) {
  std::vector<frame> all;
  for (auto f = reader.next(); f && *f; f = reader.next()) all.push_back(**f);
  return all;
}

} // namespace

TEST_CASE("a cancel is five bytes", "[voice]") {
  CHECK(encode({tag::cancel, {}}) == "\x07\x00\x00\x00\x00"s);
  CHECK(encode({tag::transcript, "stop"}) == "\xA0\x04\x00\x00\x00stop"s);
}

TEST_CASE("frames come whole however their bytes are cut", "[voice]") {
  const std::vector<frame> frames = {{tag::audio, std::string(640, 'x')},
                                     {tag::cancel, {}},
                                     {tag::choice, "\0"s},
                                     {tag::hello, R"({"scope":"voice/é"})"},
                                     {tag::pause, {}}};
  std::string bytes;
  for (const auto& f : frames) bytes += encode(f);
  REQUIRE(rc::check("any cut", [&] {
    frame_reader reader(direction::client_to_gateway);
    std::vector<frame> got;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto size = *rc::gen::inRange<std::size_t>(1, 300);
      reader.put(std::string_view(bytes).substr(at, size));
      at += size;
      for (auto& f : frames_of(reader)) got.push_back(std::move(f));
    }
    RC_ASSERT(got == frames);
  }));
}

TEST_CASE("what breaks the rules is refused, and stays refused", "[voice]") {
  using enum direction;
  CHECK(code_of(client_to_gateway, "\x09\x00\x00\x00\x00"s) == "bad_frame");
  CHECK(code_of(client_to_gateway, "\x80"s) == "bad_frame"); // known, but not allowed from a client
  CHECK(code_of(brain_to_gateway, "\xA0\x00\x00\x00\x00"s) == "bad_frame");
  CHECK(code_of(client_to_gateway, "\x01\x01\x00\x01\x00"s) == "too_long"); // refused before any of its payload
  CHECK(code_of(client_to_gateway, "\x07\xff\xff\xff\xff"s) == "too_long");
  CHECK(code_of(gateway_to_client, "\x83\x42\x1f\x00\x00"s) == "too_long"); // 8002 bytes
  CHECK(code_of(client_to_gateway, "\x01\x03\x00\x00\x00xyz"s) == "bad_audio");
  CHECK(code_of(brain_to_gateway, "\xA1\x02\x00\x00\x00\xc3\x28"s) == "bad_utf8");
  CHECK(code_of(client_to_gateway, "\x05\x01\x00\x00\x00\x07"s) == "bad_frame");

  frame_reader reader(client_to_gateway);
  reader.put("\x07\x00\x00\x00\x00\x63"s);
  CHECK(reader.next());
  CHECK_FALSE(reader.next());
  reader.put(encode({tag::cancel, {}}));
  CHECK_FALSE(reader.next());
}

TEST_CASE("an empty choice means continue, and a payload on an empty frame is discarded", "[voice]") {
  frame_reader reader(direction::client_to_gateway);
  reader.put("\x05\x00\x00\x00\x00"s + "\x07\x03\x00\x00\x00"s);
  CHECK(frames_of(reader) == std::vector<frame>{{tag::choice, "\1"}, {tag::cancel, {}}});
  reader.put("ab");
  CHECK(frames_of(reader).empty());
  reader.put("c"s + encode({tag::resume, {}}));
  CHECK(frames_of(reader) == std::vector<frame>{{tag::resume, {}}});
}

TEST_CASE("no bytes break the reader", "[voice]") {
  REQUIRE(rc::check("any bytes", [] {
    frame_reader reader(*rc::gen::element(direction::client_to_gateway, direction::gateway_to_client,
                                          direction::gateway_to_brain, direction::brain_to_gateway));
    const auto pieces = *rc::gen::arbitrary<std::vector<std::string>>();
    for (const auto& piece : pieces) {
      reader.put(piece);
      for (const auto& f : frames_of(reader)) RC_ASSERT(f.payload.size() <= most_text_bytes);
    }
  }));
}

TEST_CASE("an answer may say how fast it is spoken", "[voice]") {
  CHECK(read_speed("[SPEED:1.5] Yes.").speed == 1.5);
  CHECK(read_speed("[SPEED:1.5] Yes.").text == "Yes.");
  CHECK(read_speed("[SPEED:90]Yes.").speed == 1.0);
  CHECK(read_speed("[SPEED:90]Yes.").text == "Yes.");
  CHECK(read_speed("Yes [SPEED:2.0]").text == "Yes [SPEED:2.0]");
  CHECK(read_speed("[SPEED:2").text == "[SPEED:2");
}

TEST_CASE("a recogniser's lines are read however they are cut", "[voice]") {
  transcript_reader reader;
  CHECK(reader.read("{\"text\":\"sto").empty());
  const auto got =
      reader.read("p\",\"final\":true,\"confidence\":0.5,\"from\":160}\nnonsense\n{\"final\":true}\n[1]\n");
  REQUIRE(got.size() == 2);
  CHECK(got[0].text == "stop");
  CHECK(got[0].is_final);
  CHECK(got[0].confidence == 0.5);
  CHECK(got[0].from == 160);
  CHECK(got[1].text.empty());
  CHECK(reader.read(std::string(70'000, 'x')).empty());
  CHECK(reader.read("\n{\"text\":\"on\"}\n").size() == 1);
}
