// How long a text is as a chat service counts it, and where it may be cut. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quell::integrations::chat {

/// What a service's limit counts: Telegram and Discord UTF-16 units, Slack characters, IRC bytes.
enum class length_unit : std::uint8_t { bytes, utf16, characters };

/// The length of `text`, which is UTF-8.
std::size_t length_of(std::string_view text, length_unit unit);

/// Bytes of the longest beginning of `text` (UTF-8) that is at most `most` long and ends between two code points.
std::size_t fitting(std::string_view text, std::size_t most, length_unit unit);

/// Where to cut a text that is too long for one message: bytes of a beginning that fits `most`, never before
/// `at_least` bytes (what is shown already). Behind a blank line, a line break or a space where one is in the last
/// half; else anywhere between two code points. The whole size if all of it fits.
std::size_t good_cut(std::string_view text, std::size_t most, length_unit unit, std::size_t at_least = 0);

} // namespace quell::integrations::chat
