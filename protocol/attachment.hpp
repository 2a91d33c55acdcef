// Images and documents of a conversation, as plain values. Their bytes are kept apart, as blobs. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/fault.hpp"

namespace quell {

enum class media_kind : std::uint8_t { image, document, text, other };

/// `other` for a type that no model is sent. `type` is a media type in lower case without parameters.
media_kind media_kind_of(std::string_view type);
/// The accepted types, for error texts.
std::string_view accepted_media_types();
/// A Content-Type without its parameters, in lower case.
std::string plain_media_type(std::string_view content_type);
/// The type of an image or a PDF file, by its first bytes; "" for anything else.
std::string_view media_type_of_bytes(std::string_view bytes);
/// Checks that bytes are what `type` says, by their first bytes, and text by its encoding: a provider refuses every
/// request that holds an image of the wrong type. Faults: `unsupported_media_type`, `invalid_field`.
result<void> check_media(std::string_view type, std::string_view bytes);

struct attachment {
  std::string blob; ///< its id
  std::string name; ///< for display; "" = none
  std::string type; ///< media type
  std::uint64_t bytes = 0;
  std::shared_ptr<const std::string> content = {}; ///< while a request is written; nullptr: a text says why not
  std::string missing = {};                        ///< why the content is missing; set: never sent to a model
  bool comes_later = false;                        ///< named before it was fetched, which can have failed
  friend bool operator==(const attachment&, const attachment&) = default;
};
using attachments = std::vector<attachment>;

/// One line: `[attached: photo.png (image/png, 1234 bytes)]`, with the reason if it is not shown.
std::string attachment_line(const attachment& one, std::string_view why_not_shown = {});

/// An estimate of the tokens that a model takes for it.
std::uint64_t attachment_tokens(const attachment& one);

/// The bytes of one message's attachments, and their number, at most.
inline constexpr std::size_t most_attachments = 10;
inline constexpr std::size_t most_attachment_name = 128;

} // namespace quell
