// The frames of the voice exchange: `[tag u8][length u32 little-endian][payload]`, read from bytes that can arrive
// split or merged. Pure. docs/VOICE-PROTOCOL.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"

namespace quell::integrations::voice {

enum class tag : std::uint8_t {
  // client to gateway
  audio = 0x01, ///< i16 LE, 16 kHz, mono
  pause = 0x02,
  resume = 0x03,
  interrupt_speech = 0x04,
  choice = 0x05, ///< 01 or nothing: continue; 00: retry
  summary_request = 0x06,
  cancel = 0x07,
  hello = 0x08, ///< JSON
  // gateway to client
  ready = 0x80, ///< also to a brain
  text = 0x81,
  error = 0x82,  ///< JSON; also to a brain
  speech = 0x83, ///< i16 LE, 16 kHz, mono
  speech_end = 0x84,
  feedback = 0x85,
  summary = 0x86,
  notice = 0x87,
  // gateway to brain
  transcript = 0xA0,
  brain_choice = 0xA5,
  brain_summary_request = 0xA6,
  brain_cancel = 0xA9,
  // brain to gateway
  answer = 0xA1,        ///< can begin with [SPEED:x.x]
  session_start = 0xA2, ///< JSON
  session_end = 0xA3,
  question = 0xA4,
  brain_summary = 0xA7,
  brain_notice = 0xA8,
};

struct frame {
  voice::tag tag = tag::ready;
  std::string payload{};
  friend bool operator==(const frame&, const frame&) = default;
};

/// Whether an answer is spoken: the payload of a choice.
enum class user_choice : std::uint8_t { drop, go_on };
inline user_choice choice_in(std::string_view payload) {
  return payload == std::string_view("\0", 1) ? user_choice::drop : user_choice::go_on;
}
inline std::string payload_of(user_choice what) { return std::string(1, what == user_choice::go_on ? '\1' : '\0'); }

/// Sender and receiver. A tag of another direction is unknown.
enum class direction : std::uint8_t { client_to_gateway, gateway_to_client, gateway_to_brain, brain_to_gateway };

inline constexpr std::size_t most_text_bytes = 64 << 10;
inline constexpr std::size_t most_audio_bytes = 64 << 10; ///< of one segment: about two seconds
inline constexpr std::size_t most_speech_bytes = 8000;    ///< of one chunk: 4000 samples
inline constexpr std::size_t most_hello_bytes = 8 << 10;
inline constexpr std::size_t samples_per_second = 16000;

/// `f.payload` must respect the limits of its tag; otherwise the bug is ours, and the peer closes the connection.
std::string encode(const frame& f);

/// Decodes one direction of a connection. An error is permanent.
class frame_reader {
 public:
  explicit frame_reader(direction from) : from_(from) {}

  /// Buffers at most one frame beyond the bytes of one `put`: call `next` until it returns nothing.
  void put(std::string_view bytes) { waiting_ += bytes; }
  /// The next whole frame. A payload is dropped if its tag has none; an empty choice reads as 01. Faults: `bad_frame`
  /// (a tag or choice that is unknown here), `too_long` (as soon as the length is read), `bad_audio` (an odd number of
  /// bytes), `bad_utf8`.
  result<std::optional<frame>> next();

 private:
  tl::unexpected<fault> broken(const char* code, std::string why);
  const direction from_;
  std::string waiting_;
  std::size_t read_ = 0;    ///< offset in `waiting_`
  std::size_t skipped_ = 0; ///< bytes of a skipped payload still to come
  std::optional<fault> fault_;
};

} // namespace quell::integrations::voice
