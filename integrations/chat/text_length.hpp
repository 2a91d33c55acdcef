// The length of a text as a chat service counts it, and positions where it can be cut. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quell::integrations::chat {

/// The unit of a service's limit: Telegram and Discord UTF-16 units, Slack characters, IRC bytes.
enum class length_unit : std::uint8_t { bytes, utf16, characters };

/// The length of `text`, which is UTF-8.
std::size_t length_of(std::string_view text, length_unit unit);

/// Bytes of the longest prefix of `text` (UTF-8) that has at most `most` units and ends between two code points.
std::size_t fitting(std::string_view text, std::size_t most, length_unit unit);

/// The position at which to cut a text that is too long for one message: bytes of a prefix that fits `most`, never
/// below `at_least` bytes (the part already shown). After a blank line, a line break or a space if there is one in the
/// last half, otherwise between any two code points. The whole size if all of it fits.
std::size_t good_cut(std::string_view text, std::size_t most, length_unit unit, std::size_t at_least = 0);

} // namespace quell::integrations::chat
