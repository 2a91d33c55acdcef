// What a message carries beside its words, described in words: files, stickers, what was forwarded. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations::chat {

/// `[attached: report.pdf (application/pdf, 1234 bytes) https://…]`. What is "" or absent is left out.
std::string attached_file(std::string_view name, std::string_view type, std::optional<std::uint64_t> bytes,
                          std::string_view url);
/// `[sticker: wave]`, for anything that has a kind and at most a name.
std::string attached_thing(std::string_view kind, std::string_view name);
/// `[forwarded: …]`, with the words that were forwarded.
std::string forwarded(std::string_view from, std::string_view text);

/// `text` with what is attached on lines of their own; a text that is a word to stop is that and nothing else.
std::string with_attached(std::string text, const std::string& attached, bool is_cancel);

/// Adds a line, while there are not too many.
void attach(std::string& to, const std::string& line);

} // namespace quell::integrations::chat
