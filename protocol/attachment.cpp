// The types that providers take, their first bytes, and the words for what is not shown.
#include "protocol/attachment.hpp"

#include <algorithm>
#include <array>

#include "protocol/utf8.hpp"

namespace quell {
namespace {

struct media_type {
  std::string_view name;
  media_kind kind;
};

constexpr std::array types{
    media_type{"image/png", media_kind::image},          media_type{"image/jpeg", media_kind::image},
    media_type{"image/gif", media_kind::image},          media_type{"image/webp", media_kind::image},
    media_type{"application/pdf", media_kind::document}, media_type{"text/plain", media_kind::text},
    media_type{"text/markdown", media_kind::text},       media_type{"text/csv", media_kind::text},
    media_type{"application/json", media_kind::text},
};

constexpr std::size_t least_of_signed = 12; ///< bytes; a shorter one has no content

bool has_signature(std::string_view type, std::string_view bytes) {
  using namespace std::string_view_literals;
  if (type == "image/png") return bytes.starts_with("\x89PNG\r\n\x1a\n"sv);
  if (type == "image/jpeg") return bytes.starts_with("\xff\xd8\xff"sv);
  if (type == "image/gif") return bytes.starts_with("GIF87a"sv) || bytes.starts_with("GIF89a"sv);
  if (type == "image/webp") return bytes.starts_with("RIFF"sv) && bytes.substr(8).starts_with("WEBP"sv);
  return bytes.starts_with("%PDF-"sv);
}

/// A name as one short line.
std::string shown_name(std::string_view name) {
  std::string line(utf8_prefix(name, most_attachment_name));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == '[' || c == ']' || c == 0x7f; }, ' ');
  return line;
}

} // namespace

media_kind media_kind_of(std::string_view type) {
  const auto* found = std::find_if(types.begin(), types.end(), [&](const media_type& t) { return t.name == type; });
  return found == types.end() ? media_kind::other : found->kind;
}

std::string_view accepted_media_types() {
  return "image/png, image/jpeg, image/gif, image/webp, application/pdf, text/plain, text/markdown, text/csv, "
         "application/json";
}

std::string plain_media_type(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type;
}

std::string_view media_type_of_bytes(std::string_view bytes) {
  if (bytes.size() <= least_of_signed) return {};
  const auto* found = std::find_if(types.begin(), types.end(), [&](const media_type& t) {
    return (t.kind == media_kind::image || t.kind == media_kind::document) && has_signature(t.name, bytes);
  });
  return found == types.end() ? std::string_view() : found->name;
}

result<void> check_media(std::string_view type, std::string_view bytes) {
  const auto kind = media_kind_of(type);
  if (kind == media_kind::other)
    return failure(error_code::unsupported_media_type, "'" + std::string(type.substr(0, 64)) +
                                                           "' is not a type that models are sent; send one of " +
                                                           std::string(accepted_media_types()) + " as Content-Type");
  if (bytes.empty()) return failure(error_code::invalid_field, "the body is empty: send the bytes of the file");
  const bool is_sound = kind == media_kind::text ? is_utf8(bytes) && bytes.find('\0') == std::string_view::npos
                                                 : bytes.size() > least_of_signed && has_signature(type, bytes);
  if (is_sound) return {};
  return failure(error_code::invalid_field,
                 "the bytes are not " + std::string(type) +
                     (kind == media_kind::text ? " in UTF-8" : ", as their beginning shows") +
                     "; give the Content-Type that the file has");
}

std::string attachment_line(const attachment& one, std::string_view why_not_shown) {
  const auto name = shown_name(one.name);
  std::string line = "[attached: " + (name.empty() ? std::string("a file") : name) + " (" + one.type + ", " +
                     std::to_string(one.bytes) + " bytes)";
  if (!why_not_shown.empty()) line += "; it is not shown here: " + std::string(why_not_shown);
  return line + "]";
}

std::uint64_t attachment_tokens(const attachment& one) {
  constexpr std::uint64_t of_image = 1'600; // what providers take for a large one
  constexpr std::uint64_t least_of_document = 1'500, most_of_document = 60'000;
  constexpr std::uint64_t of_line = 40;
  if (!one.missing.empty()) return of_line;
  switch (media_kind_of(one.type)) {
  case media_kind::image:
    return of_image;
  case media_kind::document:
    return std::clamp(one.bytes / 50, least_of_document, most_of_document);
  case media_kind::text:
    return one.bytes / 3 + 20;
  case media_kind::other:
    break;
  }
  return of_line;
}

} // namespace quell
