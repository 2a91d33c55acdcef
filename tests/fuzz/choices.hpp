// Bytes as a stream of small decisions, for targets that play a conversation. Beyond the end every byte reads as zero,
// so every input is a whole conversation; the writer makes seeds that read back as meant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace quell::fuzz {

class choices {
 public:
  explicit choices(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto b = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return b;
  }
  /// 0 to `count` - 1.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : byte() % count; }
  bool yes() { return (byte() & 1) != 0; }
  /// Little endian.
  template <class T>
  T number() {
    T value{};
    const auto size = std::min(sizeof value, rest_.size());
    std::memcpy(&value, rest_.data(), size);
    rest_.remove_prefix(size);
    return value;
  }
  /// A small number, or now and then an extreme one.
  std::uint64_t count() {
    const auto b = byte();
    if (b < 0xf0) return b;
    if (b < 0xf8) return number<std::uint64_t>();
    return ~std::uint64_t{0} - (b - 0xf8);
  }
  template <class Enum>
  Enum word(std::size_t count) {
    return static_cast<Enum>(below(count));
  }
  /// Two bytes of length, then that many bytes (or the rest).
  std::string_view piece() {
    const std::size_t wanted = number<std::uint16_t>();
    const auto size = std::min(wanted, rest_.size());
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string text() { return std::string(piece()); }

 private:
  std::string_view rest_;
};

/// Writes what `choices` reads.
class choice_writer {
 public:
  choice_writer& byte(std::size_t b) {
    out_ += static_cast<char>(b);
    return *this;
  }
  template <class T>
  choice_writer& number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  choice_writer& piece(std::string_view text) {
    number(static_cast<std::uint16_t>(text.size()));
    out_ += text;
    return *this;
  }
  choice_writer& raw(std::string_view text) {
    out_ += text;
    return *this;
  }
  const std::string& done() const { return out_; }

 private:
  std::string out_;
};

} // namespace quell::fuzz
