// The rules of each tag, and the decoding of frames.
#include "integrations/voice/wire.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "protocol/utf8.hpp"

namespace quell::integrations::voice {
namespace {

constexpr std::size_t head_bytes = 5;

enum class shape : std::uint8_t { nothing, pcm, choice, words };

struct rule {
  voice::tag tag;
  voice::shape shape;
  std::size_t most;
  std::uint8_t directions; ///< bits
};

constexpr std::uint8_t bit(direction d) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(d)); }
constexpr auto from_client = bit(direction::client_to_gateway), to_client = bit(direction::gateway_to_client),
               to_brain = bit(direction::gateway_to_brain), from_brain = bit(direction::brain_to_gateway);
constexpr std::uint8_t to_both = to_client | to_brain;
/// A cancel that comes from a brain is a known tag, so that it can be ignored.
constexpr std::uint8_t around_brain = to_brain | from_brain;

constexpr std::array rules{
    rule{tag::audio, shape::pcm, most_audio_bytes, from_client},
    rule{tag::pause, shape::nothing, most_text_bytes, from_client},
    rule{tag::resume, shape::nothing, most_text_bytes, from_client},
    rule{tag::interrupt_speech, shape::nothing, most_text_bytes, from_client},
    rule{tag::choice, shape::choice, 1, from_client},
    rule{tag::summary_request, shape::nothing, most_text_bytes, from_client},
    rule{tag::cancel, shape::nothing, most_text_bytes, from_client},
    rule{tag::hello, shape::words, most_hello_bytes, from_client},
    rule{tag::ready, shape::nothing, most_text_bytes, to_both},
    rule{tag::text, shape::words, most_text_bytes, to_client},
    rule{tag::error, shape::words, most_text_bytes, to_both},
    rule{tag::speech, shape::pcm, most_speech_bytes, to_client},
    rule{tag::speech_end, shape::nothing, most_text_bytes, to_client},
    rule{tag::feedback, shape::words, most_text_bytes, to_client},
    rule{tag::summary, shape::words, most_text_bytes, to_client},
    rule{tag::notice, shape::words, most_text_bytes, to_client},
    rule{tag::transcript, shape::words, most_text_bytes, to_brain},
    rule{tag::brain_choice, shape::choice, 1, to_brain},
    rule{tag::brain_summary_request, shape::nothing, most_text_bytes, to_brain},
    rule{tag::brain_cancel, shape::nothing, most_text_bytes, around_brain},
    rule{tag::answer, shape::words, most_text_bytes, from_brain},
    rule{tag::session_start, shape::words, most_hello_bytes, from_brain},
    rule{tag::session_end, shape::nothing, most_text_bytes, from_brain},
    rule{tag::question, shape::words, most_text_bytes, from_brain},
    rule{tag::brain_summary, shape::words, most_text_bytes, from_brain},
    rule{tag::brain_notice, shape::words, most_text_bytes, from_brain},
};

const rule* rule_of(std::uint8_t number, direction from) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const rule& r) {
    return static_cast<std::uint8_t>(r.tag) == number && (r.directions & bit(from)) != 0;
  });
  return found == rules.end() ? nullptr : &*found;
}

std::string named(std::uint8_t number) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%02X", static_cast<unsigned>(number));
  return text.data();
}

std::size_t length_at(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length |= static_cast<std::size_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
  return length;
}

} // namespace

std::string encode(const frame& f) {
  std::string bytes(1, static_cast<char>(f.tag));
  for (std::size_t i = 0; i < 4; ++i) bytes += static_cast<char>((f.payload.size() >> (8 * i)) & 0xFFU);
  return bytes + f.payload;
}

tl::unexpected<fault> frame_reader::broken(const char* code, std::string why) {
  waiting_.clear();
  read_ = 0;
  fault_ = fault{code, std::move(why), {}};
  return tl::unexpected(*fault_);
}

result<std::optional<frame>> frame_reader::next() {
  if (fault_) return tl::unexpected(*fault_);
  for (;;) {
    const auto gone = std::min(skipped_, waiting_.size() - read_);
    read_ += gone;
    skipped_ -= gone;
    const auto rest = std::string_view(waiting_).substr(read_);
    const auto* r = rest.empty() ? nullptr : rule_of(static_cast<std::uint8_t>(rest.front()), from_);
    if (!rest.empty() && !r)
      return broken("bad_frame", "a frame with tag " + named(static_cast<std::uint8_t>(rest.front())) +
                                     " is unknown here; see docs/VOICE-PROTOCOL.md");
    const bool has_length = rest.size() >= head_bytes;
    const auto length = has_length ? length_at(rest.substr(1)) : 0;
    if (has_length && length > r->most)
      return broken("too_long", "a frame with tag " + named(static_cast<std::uint8_t>(r->tag)) + " has " +
                                    std::to_string(length) + " bytes; at most " + std::to_string(r->most) +
                                    " are taken");
    if (has_length && r->shape == shape::nothing) {
      read_ += head_bytes;
      skipped_ = length;
      return frame{r->tag, {}};
    }
    if (!has_length || rest.size() < head_bytes + length) {
      waiting_.erase(0, read_);
      read_ = 0;
      return std::nullopt;
    }
    frame f{r->tag, std::string(rest.substr(head_bytes, length))};
    read_ += head_bytes + length;
    if (r->shape == shape::pcm && length % 2 != 0)
      return broken("bad_audio",
                    "audio of " + std::to_string(length) + " bytes is not a whole number of 16-bit samples");
    if (r->shape == shape::words && !is_utf8(f.payload))
      return broken("bad_utf8",
                    "the text of a frame with tag " + named(static_cast<std::uint8_t>(r->tag)) + " is not UTF-8");
    if (r->shape == shape::choice && f.payload.empty()) f.payload = '\x01';
    if (r->shape == shape::choice && f.payload[0] != '\x00' && f.payload[0] != '\x01')
      return broken("bad_frame", "a choice is 01 (continue) or 00 (retry)");
    return f;
  }
}

} // namespace quell::integrations::voice
