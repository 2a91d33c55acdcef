// Names of chat services as segments of scopes: each byte string has its own segment, and survives the round trip.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "integrations/chat/scope_text.hpp"
#include "integrations/chat/text_length.hpp"
#include "integrations/chat/web.hpp"

using namespace quell;
using namespace quell::integrations::chat;

TEST_CASE("ids and names become segments: what is allowed stays, everything else is ~XX") {
  CHECK(segment_of("C024BE91L") == "C024BE91L");
  CHECK(segment_of("-1001234567890") == "-1001234567890");
  CHECK(segment_of("#build") == "~23build");
  CHECK(segment_of("a/b") == "a~2Fb");
  CHECK(segment_of("a~b") == "a~7Eb");
  CHECK(segment_of("") == "~");
  CHECK(segment_of(".") == "~2E");
  CHECK(segment_of("..") == "~2E~2E");
  CHECK(segment_of("...") == "...");
  CHECK(segment_of("%2e%2e") == "~252e~252e");
  CHECK(segment_of(std::string_view("\0", 1)) == "~00");
}

TEST_CASE("look-alikes stay apart, and case matters") {
  CHECK(segment_of("admin") != segment_of("аdmin")); // a Cyrillic а
  CHECK(segment_of("Room") != segment_of("room"));
  CHECK(segment_of("é") != segment_of("e\xcc\x81"));
}

TEST_CASE("a segment too long is refused, not cut") {
  CHECK(segment_of(std::string(128, 'a')));
  CHECK_FALSE(segment_of(std::string(129, 'a')));
  CHECK_FALSE(segment_of(std::string(43, '/')));
  CHECK_FALSE(scope_of({std::string(128, 'a'), std::string(128, 'b'), std::string(128, 'c'), std::string(128, 'd')}));
}

TEST_CASE("texts that segment_of never makes are not segments") {
  for (const auto* text : {"~2e", "~41", "~2", "~GG", "a~", "~~", ".", "..", ""}) CHECK_FALSE(text_of_segment(text));
}

TEST_CASE("any bytes make a valid segment and come back; two texts never share one") {
  CHECK(rc::check("there and back", [] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    const auto segment = segment_of(bytes);
    if (!segment) return;
    RC_ASSERT(scope_path::parse(*segment).has_value());
    RC_ASSERT(scope_path::parse(*segment)->depth() == 1U);
    RC_ASSERT(text_of_segment(*segment) == bytes);
  }));
}

TEST_CASE("a scope of several texts gives them back") {
  const auto scope = scope_of({"slack", "T1", "", "a/../b"});
  REQUIRE(scope);
  CHECK(scope->text() == "slack/T1/~/a~2F..~2Fb");
  CHECK(texts_of(*scope) == std::vector<std::string>{"slack", "T1", "", "a/../b"});
}

TEST_CASE("lengths are counted as the services count them") {
  const std::string text = "aé漢👍";
  CHECK(length_of(text, length_unit::bytes) == 10);
  CHECK(length_of(text, length_unit::characters) == 4);
  CHECK(length_of(text, length_unit::utf16) == 5);
  CHECK(fitting(text, 4, length_unit::utf16) == 6); // not half of a surrogate pair
  CHECK(good_cut("one two three", 9, length_unit::characters) == 8);
  CHECK(good_cut("one\ntwo three", 9, length_unit::characters) == 8);
  CHECK(good_cut("abcdefghij", 4, length_unit::characters) == 4);
  CHECK(good_cut("ab cdefghij", 6, length_unit::characters, 5) == 6);
}

TEST_CASE("forms are decoded once, and a broken escape is kept") {
  const auto fields = form_fields("a=1+2&b=%C3%A9%2F&c&=x&d=%zz%4");
  REQUIRE(fields.size() == 5);
  CHECK(fields[0] == std::pair<std::string, std::string>("a", "1 2"));
  CHECK(fields[1].second == "é/");
  CHECK(fields[2] == std::pair<std::string, std::string>("c", ""));
  CHECK(fields[4].second == "%zz%4");
  CHECK(form_encoded("a b/é") == "a%20b%2F%C3%A9");
}
