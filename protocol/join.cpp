// The join line: length, fields and checksum as base64url, so that a cut line can be told from a mistyped one.
#include "protocol/join.hpp"

#include <array>
#include <cstdint>
#include <optional>

#include "protocol/base64.hpp"

namespace quell {
namespace {

constexpr std::string_view prefix = "qwj1.";
constexpr std::size_t max_text_bytes = 8 * 1024;
constexpr std::size_t max_endpoints = 16;

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
  }
  return ~crc;
}

void put_number(std::string& to, std::uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to += static_cast<char>((value >> (8 * i)) & 0xff);
}

void put_text(std::string& to, std::string_view text) {
  put_number(to, static_cast<std::uint32_t>(text.size()), 2);
  to += text;
}

/// Reads the fields that `put_…` wrote; nullopt past the end.
class reader {
 public:
  explicit reader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::uint32_t> number(int bytes) {
    if (rest_.size() < static_cast<std::size_t>(bytes)) return std::nullopt;
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value = (value << 8) | static_cast<std::uint8_t>(rest_[static_cast<std::size_t>(i)]);
    rest_.remove_prefix(static_cast<std::size_t>(bytes));
    return value;
  }
  std::optional<std::string> text() {
    const auto length = number(2);
    if (!length || rest_.size() < *length) return std::nullopt;
    std::string value(rest_.substr(0, *length));
    rest_.remove_prefix(*length);
    return value;
  }
  std::optional<std::vector<std::string>> texts() {
    const auto count = number(1);
    if (!count || *count > max_endpoints) return std::nullopt;
    std::vector<std::string> list;
    for (std::uint32_t i = 0; i < *count; ++i) {
      auto item = text();
      if (!item) return std::nullopt;
      list.push_back(std::move(*item));
    }
    return list;
  }

 private:
  std::string_view rest_;
};

tl::unexpected<fault> bad(std::string why) {
  return failure("bad_join",
                 "the join line " + std::move(why) + "; copy the whole line that `quell worker add` printed");
}

} // namespace

std::string to_text(const join_line& line) {
  std::string fields;
  put_text(fields, line.worker);
  for (const auto* list : {&line.control_endpoints, &line.bulk_endpoints}) {
    put_number(fields, static_cast<std::uint32_t>(list->size()), 1);
    for (const auto& endpoint : *list) put_text(fields, endpoint);
  }
  put_text(fields, line.server_public_key);
  put_text(fields, line.worker_secret_key);
  std::string bytes;
  put_number(bytes, static_cast<std::uint32_t>(fields.size()), 2);
  bytes += fields;
  put_number(bytes, crc32(bytes), 4);
  return std::string(prefix) + base64url(bytes);
}

result<join_line> parse_join(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return bad("is empty");
  text = text.substr(first, text.find_last_not_of(blank) - first + 1);
  if (!text.starts_with(prefix)) {
    if (text.starts_with("qwj") && text.size() > 3 && text[3] >= '2' && text[3] <= '9')
      return failure("bad_join", "the join line was made by a newer version of quell (" +
                                     std::string(text.substr(0, 4)) + "); install that version of quell-worker here");
    return bad("does not begin with " + std::string(prefix));
  }
  text.remove_prefix(prefix.size());
  if (text.size() > max_text_bytes) return bad("is longer than any join line is");

  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto value = base64url_digits.find(text[i]);
    if (value == std::string_view::npos)
      return bad("is mistyped: character " + std::to_string(prefix.size() + i + 1) + " cannot occur in one");
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>((bits >> held) & 0xff);
    }
  }
  const auto length = reader(bytes).number(2);
  if (!length || bytes.size() < *length + 6) return bad("is cut short");
  if (bytes.size() > *length + 6) return bad("is mistyped: it is longer than it says itself");
  const auto sum = reader(std::string_view(bytes).substr(*length + 2)).number(4);
  if (sum != crc32(std::string_view(bytes).substr(0, *length + 2)) || base64url(bytes) != text)
    return bad("is mistyped: its checksum is wrong");

  reader fields(std::string_view(bytes).substr(2, *length));
  auto worker = fields.text();
  auto control = worker ? fields.texts() : std::nullopt;
  auto bulk = control ? fields.texts() : std::nullopt;
  auto server = bulk ? fields.text() : std::nullopt;
  auto secret = server ? fields.text() : std::nullopt;
  if (!secret) return bad("is damaged: a field is missing");
  if (worker->empty() || control->empty() || control->size() != bulk->size())
    return bad("names no worker or no controller");
  if (worker->size() > 128 || worker->find_first_of(std::string_view("/\0", 2)) != std::string::npos ||
      worker->front() == '.')
    return bad("names a worker in a way that no worker can be named");
  if (server->size() != 40 || (!secret->empty() && secret->size() != 40)) return bad("holds a key of a wrong length");
  return join_line{std::move(*worker), std::move(*control), std::move(*bulk), std::move(*server), std::move(*secret)};
}

} // namespace quell
