// The wire codec on any bytes: the result is a value or a fault, and a value survives being written and read again.
#include "protocol/codec.hpp"
#include "tests/fuzz/samples.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

void explained(const fault& why) {
  expect(why.code == "bad_frame" || why.code == "unknown_tag" || why.code == "too_large", "a codec fault has its code");
  expect(!why.detail.empty() && why.detail.size() < 1000, "a codec fault says why, in one sentence");
}

void control(std::string_view bytes) {
  const auto version = wire::hello_version(bytes);
  const auto frame = wire::decode(bytes);
  if (!frame) return explained(frame.error());
  if (const auto* hello = std::get_if<wire::hello>(&frame->body))
    expect(version.value_or(wire::protocol_version) == hello->version, "the version is seen without reading the hello");
  const auto again = wire::decode(wire::encode(*frame));
  expect(again.has_value(), "what was read can be written and read");
  expect(*again == *frame, "reading what was written gives the same frame");
}

void bulk(std::string_view bytes) {
  const auto message = wire::decode_bulk(bytes);
  if (!message) return explained(message.error());
  const auto again = wire::decode_bulk(wire::encode(*message));
  expect(again.has_value(), "what was read can be written and read");
  expect(*again == *message, "reading what was written gives the same message");
}

void run(std::string_view bytes) {
  control(bytes);
  bulk(bytes);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const auto& frame : sample_frames()) all.push_back(wire::encode(frame));
  for (const auto& message : sample_bulk()) all.push_back(wire::encode(message));
  all.push_back(std::string(200, '\x91'));
  all.push_back("\xdd\xff\xff\xff\xff");
  all.push_back("\xdf\xff\xff\xff\xff\xc0");
  return all;
}

const known_target known("codec", run, seeds);

} // namespace
} // namespace quell::fuzz
