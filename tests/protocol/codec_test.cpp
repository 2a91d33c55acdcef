// The codec: every message survives the wire, fields can be appended, and invalid bytes from a peer are refused.
#include <set>

#include <catch2/catch.hpp>

#include "tests/protocol/arbitrary_message.hpp"

using namespace quell;
using namespace quell::testing;

namespace {

constexpr std::size_t message_count = std::variant_size_v<wire::message>;
constexpr std::size_t bulk_count = std::variant_size_v<wire::bulk_message>;

/// A few msgpack bytes by hand, so that the wire format is fixed and not only symmetric.
std::string array(std::uint8_t size) { return {static_cast<char>(0x90 | size)}; }
std::string number(std::uint8_t n) {
  return n < 128 ? std::string{static_cast<char>(n)} : std::string{'\xcc', static_cast<char>(n)};
}
std::string bin16(char fill) { return std::string{'\xc4', '\x10'} + std::string(16, fill); }

std::string code_of(const result<wire::envelope>& r) { return r ? "accepted" : r.error().code; }
std::string code_of(const result<wire::bulk_message>& r) { return r ? "accepted" : r.error().code; }

template <class Variant, std::size_t... I>
std::vector<int> tags_of(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, Variant>::tag...};
}

} // namespace

TEST_CASE("tags are unique over both sockets and stay what they are", "[codec]") {
  const auto control = tags_of<wire::message>(std::make_index_sequence<message_count>());
  const auto bulk = tags_of<wire::bulk_message>(std::make_index_sequence<bulk_count>());
  std::set<int> all(control.begin(), control.end());
  all.insert(bulk.begin(), bulk.end());
  CHECK(all.size() == control.size() + bulk.size());
  CHECK(all == std::set<int>{1,  2,  3,  4,  5,  6,  7,  8,  9,  20, 21, 22, 23, 24, 25,
                             26, 27, 28, 29, 40, 60, 61, 62, 63, 64, 65, 66, 67, 68});
}

TEST_CASE("every control message survives the wire", "[codec]") {
  for (std::size_t index = 0; index < message_count; ++index) {
    INFO("alternative " << index);
    CHECK(rc::check([index] {
      const auto frame = arbitrary_envelope(index);
      const auto back = wire::decode(wire::encode(frame));
      RC_ASSERT(back.has_value());
      RC_ASSERT(*back == frame);
    }));
  }
}

TEST_CASE("every bulk message survives the wire", "[codec]") {
  for (std::size_t index = 0; index < bulk_count; ++index) {
    INFO("alternative " << index);
    CHECK(rc::check([index] {
      const auto message = arbitrary_alternative<wire::bulk_message>(index);
      const auto back = wire::decode_bulk(wire::encode(message));
      RC_ASSERT(back.has_value());
      RC_ASSERT(*back == message);
    }));
  }
}

TEST_CASE("a heartbeat is these bytes", "[codec]") {
  wire::envelope frame;
  frame.session.bytes.fill('s');
  frame.number = 0;
  frame.ack = 7;
  frame.body = wire::worker_heartbeat{5, 200};
  const std::string expected =
      array(5) + bin16('s') + number(0) + number(7) + number(2) + array(2) + number(5) + number(200);
  CHECK(wire::encode(frame) == expected);
}

TEST_CASE("a piece of output is encoded without copies as any message is", "[codec]") {
  for (const std::size_t size : {0U, 1U, 255U, 256U, 65'535U, 65'536U})
    for (const std::uint64_t offset : {0ULL, 127ULL, 70'000ULL, 1ULL << 40}) {
      const wire::output piece{operation_id::fresh(), stream::err, offset, std::string(size, '\xff'), size == 0};
      CHECK(wire::encode_output(piece.operation, piece.which, piece.offset, piece.bytes, piece.end) ==
            wire::encode(wire::bulk_message{piece}));
    }
}

TEST_CASE("output is bin, text is str, and a reader takes either", "[codec]") {
  wire::output chunk;
  chunk.operation.bytes.fill('o');
  chunk.bytes = "hi";
  const std::string head = array(2) + number(61) + array(5) + bin16('o') + number(0) + number(0);
  const std::string as_bin = head + std::string("\xc4\x02hi", 4) + '\xc2';
  const std::string as_str = head + std::string("\xa2hi", 3) + '\xc2';
  CHECK(wire::encode(wire::bulk_message(chunk)) == as_bin);
  CHECK(wire::decode_bulk(as_str) == wire::bulk_message(chunk));

  wire::envelope frame;
  frame.body = wire::farewell{"bye"};
  CHECK_THAT(wire::encode(frame), Catch::EndsWith("\xa3"
                                                  "bye"));
  frame.body = wire::farewell{"\xff"};
  CHECK_THAT(wire::encode(frame), Catch::EndsWith(std::string("\xc4\x01\xff", 3)));
}

TEST_CASE("missing trailing fields take their default and extra ones are ignored", "[codec]") {
  const std::string head = array(5) + bin16('s') + number(1) + number(0);
  const auto short_one = wire::decode(head + number(22) + array(1) + number(9));
  REQUIRE(short_one);
  CHECK(short_one->body == wire::message(wire::lease_granted{9, milliseconds{10000}}));
  const auto none = wire::decode(head + number(40) + array(0));
  REQUIRE(none);
  CHECK(none->body == wire::message(wire::acknowledge{false}));
  const auto long_one =
      wire::decode(head + number(2) + array(4) + number(1) + number(2) + "\xa1x" + array(1) + number(3));
  REQUIRE(long_one);
  CHECK(long_one->body == wire::message(wire::worker_heartbeat{1, 2}));
  const auto long_envelope =
      wire::decode(array(6) + bin16('s') + number(1) + number(0) + number(2) + array(0) + "\xc0");
  CHECK(long_envelope);
}

TEST_CASE("what is wrong in a frame is named by field", "[codec]") {
  const std::string head = array(5) + bin16('s') + number(1) + number(0);
  const auto code = [&](const std::string& rest) { return code_of(wire::decode(head + rest)); };
  CHECK(code(number(99) + array(0)) == "unknown_tag");
  CHECK(code(number(61) + array(0)) == "unknown_tag"); // a bulk message on control
  CHECK(code(number(2) + number(1)) == "bad_frame");
  CHECK(code("\xa1x" + array(0)) == "bad_frame");
  CHECK(code(number(2) + array(1) + "\xff") == "bad_frame");     // beat -1
  CHECK(code(number(40) + array(1) + number(1)) == "bad_frame"); // 1 is not a boolean
  CHECK(code(number(3) + array(1) + std::string("\xc4\x02xx", 4)) == "bad_frame");
  const auto unknown_enumerator =
      wire::decode(head + number(3) + array(4) + bin16('o') + number(1) + number(0) + number(4));
  REQUIRE_FALSE(unknown_enumerator);
  CHECK_THAT(unknown_enumerator.error().detail, Catch::Contains("message 3, field 3: not a known enumerator"));
  const auto bad_scope = wire::decode(head + number(24) + array(4) + number(1) + "\xc0" + number(0) +
                                      "\xa2"
                                      "a/");
  REQUIRE_FALSE(bad_scope);
  CHECK_THAT(bad_scope.error().detail, Catch::Contains("field 3: not a valid scope"));
  const auto negative_lease = wire::decode(head + number(22) + array(2) + number(1) + "\xff");
  CHECK(code_of(negative_lease) == "bad_frame");
  const auto endless_lease = wire::decode(head + number(22) + array(2) + number(1) + "\xcf" + std::string(8, '\x7f'));
  CHECK(code_of(endless_lease) == "bad_frame");
}

TEST_CASE("a map with a key twice is refused", "[codec]") {
  wire::hello h;
  const std::string head = array(5) + bin16('s') + number(0) + number(0) + number(1);
  const std::string before =
      number(1) + "\xa0" + "\xc0" + number(0) + number(0) + "\xa0" + "\xa0" + bin16('i') + bin16('p') + number(4);
  const std::string once = head + "\xdc" + std::string("\x00\x0b", 2) + before +
                           "\x81\xa1"
                           "a\xa1"
                           "1";
  const std::string twice = head + "\xdc" + std::string("\x00\x0b", 2) + before +
                            "\x82\xa1"
                            "a\xa1"
                            "1\xa1"
                            "a\xa1"
                            "2";
  CHECK(code_of(wire::decode(once)) == "accepted");
  CHECK(code_of(wire::decode(twice)) == "bad_frame");
}

TEST_CASE("frames over a limit are refused before anything is allocated for them", "[codec]") {
  CHECK(code_of(wire::decode(std::string(wire::max_frame_bytes + 1, '\x90'))) == "too_large");
  CHECK(code_of(wire::decode(std::string(wire::max_frame_depth + 1, '\x91') + number(1))) == "bad_frame");
  CHECK(code_of(wire::decode(std::string(wire::max_frame_bytes, '\x91'))) == "bad_frame");
  CHECK(code_of(wire::decode(std::string("\xdd\xff\xff\xff\xff", 5))) == "bad_frame");
  CHECK(code_of(wire::decode(std::string("\xdf\xff\xff\xff\xff", 5))) == "bad_frame");
  CHECK(code_of(wire::decode(std::string("\xdb\xff\xff\xff\xff", 5))) == "bad_frame");
  const std::string head = array(5) + bin16('s') + number(1) + number(0) + number(25) + array(1);
  const std::string many = head + std::string("\xdd\x00\x0f\x42\x41", 5) + std::string(1'000'001, '\xc0');
  CHECK(code_of(wire::decode(many)) == "bad_frame");
}

TEST_CASE("lists and chunks over their own limits are refused", "[codec]") {
  wire::output chunk;
  chunk.bytes.assign(wire::max_chunk_bytes, 'x');
  CHECK(code_of(wire::decode_bulk(wire::encode(wire::bulk_message(chunk)))) == "accepted");
  chunk.bytes += 'x';
  CHECK(code_of(wire::decode_bulk(wire::encode(wire::bulk_message(chunk)))) == "bad_frame");
  wire::task_unproven unproven;
  unproven.processes.resize(wire::max_listed_processes);
  wire::envelope frame;
  frame.body = unproven;
  CHECK(code_of(wire::decode(wire::encode(frame))) == "accepted");
  unproven.processes.emplace_back();
  frame.body = unproven;
  CHECK(code_of(wire::decode(wire::encode(frame))) == "bad_frame");
  wire::task_ended ended;
  ended.left.resize(wire::max_listed_processes);
  frame.body = ended;
  CHECK(code_of(wire::decode(wire::encode(frame))) == "accepted");
  ended.left.emplace_back();
  frame.body = ended;
  CHECK(code_of(wire::decode(wire::encode(frame))) == "bad_frame");
  frame.body = wire::results_stored{std::vector<operation_id>(wire::max_list_elements)};
  CHECK(code_of(wire::decode(wire::encode(frame))) == "accepted");
  frame.body = wire::results_stored{std::vector<operation_id>(wire::max_list_elements + 1)};
  CHECK(code_of(wire::decode(wire::encode(frame))) == "bad_frame");
}

TEST_CASE("the version of a hello of any protocol version is read", "[codec]") {
  const std::string head = array(5) + bin16('s') + number(0) + number(0);
  wire::envelope frame;
  frame.body = wire::hello{};
  CHECK(wire::hello_version(wire::encode(frame)) == wire::protocol_version);
  CHECK(wire::hello_version(head + number(1) + array(1) + number(9)) == 9u);
  CHECK(wire::hello_version(head + number(1) + array(3) + number(9) + "\xc3" + "\x80") ==
        9u); // its second field is not a string
  CHECK(wire::hello_version(array(7) + "\xc0\xc0\xc0" + number(1) + array(1) + number(9) + "\xc0\xc0") == 9u);
  CHECK_FALSE(wire::hello_version(head + number(2) + array(1) + number(9)));
  CHECK_FALSE(wire::hello_version(head + number(1) + array(0)));
  CHECK_FALSE(wire::hello_version(head + number(1) + array(1) + "\xa1x"));
  CHECK_FALSE(wire::hello_version(head + number(1) + array(1) + "\xcf" + std::string(8, '\x7f')));
  CHECK_FALSE(wire::hello_version(""));
  CHECK_FALSE(wire::hello_version("GET / HTTP/1.1\r\n\r\n"));
}

TEST_CASE("random bytes are refused", "[codec]") {
  CHECK(rc::check([](const std::string& bytes) {
    (void)wire::hello_version(bytes);
    const auto control = wire::decode(bytes);
    const auto bulk = wire::decode_bulk(bytes);
    if (!control) RC_ASSERT(!control.error().detail.empty());
    if (!bulk) RC_ASSERT(!bulk.error().detail.empty());
  }));
}

TEST_CASE("every truncation of a frame is refused", "[codec]") {
  CHECK(rc::check([] {
    const auto bytes = wire::encode(arbitrary_envelope(*rc::gen::inRange<std::size_t>(0, message_count)));
    for (std::size_t size = 0; size < bytes.size(); ++size)
      RC_ASSERT(!wire::decode(std::string_view(bytes).substr(0, size)));
    RC_ASSERT(!wire::decode(bytes + '\xc0'));
  }));
}

TEST_CASE("a mutated frame is refused or is another good frame, and what is accepted can be sent on", "[codec]") {
  CHECK(rc::check([] {
    auto bytes = wire::encode(arbitrary_envelope(*rc::gen::inRange<std::size_t>(0, message_count)));
    for (int changes = *rc::gen::inRange(1, 6); changes > 0; --changes)
      bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    (void)wire::hello_version(bytes);
    if (const auto frame = wire::decode(bytes)) RC_ASSERT(wire::decode(wire::encode(*frame)) == *frame);
    auto bulk = wire::encode(arbitrary_alternative<wire::bulk_message>(*rc::gen::inRange<std::size_t>(0, bulk_count)));
    bulk[*rc::gen::inRange<std::size_t>(0, bulk.size())] = *rc::gen::arbitrary<char>();
    if (const auto message = wire::decode_bulk(bulk)) RC_ASSERT(wire::decode_bulk(wire::encode(*message)) == *message);
  }));
}
