// Compact bytes: the layout of numbers and strings.
#include "storage/pack.hpp"

#include <bit>
#include <cstring>

namespace quell::storage {

void packer::number(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<char>(value));
}

void packer::integer(std::int64_t value) {
  // Zigzag: small negative numbers stay short.
  number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

void packer::real(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(bits >> shift));
}

void packer::text(std::string_view value) {
  number(value.size());
  bytes_.append(value);
}

void packer::texts(const std::vector<std::string>& values) {
  number(values.size());
  for (const auto& value : values) text(value);
}

void packer::map(const std::map<std::string, std::string>& values) {
  number(values.size());
  for (const auto& [key, value] : values) {
    text(key);
    text(value);
  }
}

std::uint64_t unpacker::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  ok_ = false;
  rest_ = {};
  return 0;
}

std::int64_t unpacker::integer() {
  const auto value = number();
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

double unpacker::real() {
  if (rest_.size() < 8) {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(rest_[i])) << (8 * i);
  rest_.remove_prefix(8);
  return std::bit_cast<double>(bits);
}

std::string_view unpacker::view() {
  const auto size = number();
  if (size > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const auto value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

std::string unpacker::text() { return std::string(view()); }

std::vector<std::string> unpacker::texts() {
  std::vector<std::string> values;
  for (auto left = number(); left > 0 && ok_; --left) values.push_back(text());
  return values;
}

std::map<std::string, std::string> unpacker::map() {
  std::map<std::string, std::string> values;
  for (auto left = number(); left > 0 && ok_; --left) {
    auto key = text();
    values.insert_or_assign(std::move(key), text());
  }
  return values;
}

} // namespace quell::storage
