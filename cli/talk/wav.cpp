// RIFF chunks, and a linear resampler: good enough for speech.
#include "cli/talk/wav.hpp"

#include <cstdint>
#include <vector>

namespace quell::cli {
namespace {

constexpr std::uint32_t our_rate = 16000;

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < size; ++i)
    n |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
  return n;
}

void put(std::string& to, std::uint32_t n, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to += static_cast<char>((n >> (8 * i)) & 0xFFU);
}

std::int16_t sample_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::int16_t>(number_at(bytes, at, 2));
}

} // namespace

result<std::string> samples_of_wav(std::string_view file) {
  constexpr std::size_t head = 12, chunk_head = 8, format_bytes = 16, most_channels = 16;
  if (file.size() < head || file.substr(0, 4) != "RIFF" || file.substr(8, 4) != "WAVE")
    return failure(local_code::usage,
                   "it is not a WAV file; convert it, as in: sox speech.mp3 -r 16000 -c 1 -b 16 speech.wav");
  std::uint32_t rate = 0, channels = 0;
  for (std::size_t at = head; at + chunk_head <= file.size();) {
    const auto name = file.substr(at, 4);
    const auto size = static_cast<std::size_t>(number_at(file, at + 4, 4));
    const auto body = file.substr(at + chunk_head, size); // a streamed file's length can be wrong
    if (name == "fmt ") {
      if (body.size() < format_bytes || number_at(body, 0, 2) != 1 || number_at(body, 14, 2) != 16)
        return failure(local_code::usage,
                       "it is not 16-bit PCM; convert it, as in: sox in.wav -b 16 -e signed out.wav");
      channels = number_at(body, 2, 2);
      rate = number_at(body, 4, 4);
    }
    if (name == "data") {
      if (rate < 4000 || rate > 192000 || channels < 1 || channels > most_channels)
        return failure(local_code::usage,
                       "its format is missing, or has a rate or number of channels that no speech has");
      std::vector<std::int32_t> mono;
      for (std::size_t i = 0; i + 2 * channels <= body.size(); i += 2 * channels) {
        std::int32_t sum = 0;
        for (std::size_t c = 0; c < channels; ++c) sum += sample_at(body, i + 2 * c);
        mono.push_back(sum / static_cast<std::int32_t>(channels));
      }
      std::string samples;
      const auto count = static_cast<std::uint64_t>(mono.size()) * our_rate / rate;
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto exact = i * rate;
        const auto before = static_cast<std::size_t>(exact / our_rate);
        const auto part = static_cast<std::int64_t>(exact % our_rate);
        const auto after = std::min(before + 1, mono.size() - 1);
        const auto value = mono[before] + (mono[after] - mono[before]) * part / static_cast<std::int64_t>(our_rate);
        put(samples, static_cast<std::uint16_t>(static_cast<std::int16_t>(value)), 2);
      }
      return samples;
    }
    at += chunk_head + size + size % 2;
  }
  return failure(local_code::usage, "there are no samples in it");
}

std::string wav_of_samples(std::string_view samples) {
  std::string file = "RIFF";
  put(file, static_cast<std::uint32_t>(36 + samples.size()), 4);
  file += "WAVEfmt ";
  put(file, 16, 4);
  put(file, 1, 2);
  put(file, 1, 2);
  put(file, our_rate, 4);
  put(file, 2 * our_rate, 4);
  put(file, 2, 2);
  put(file, 16, 2);
  file += "data";
  put(file, static_cast<std::uint32_t>(samples.size()), 4);
  return file += samples;
}

} // namespace quell::cli
