// Textual descriptions of a message's attachments: files, stickers, forwarded messages. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quell::integrations::chat {

/// `[attached: report.pdf (application/pdf, 1234 bytes) https://…]`. Members that are "" or absent are left out.
std::string attached_file(std::string_view name, std::string_view type, std::optional<std::uint64_t> bytes,
                          std::string_view url);
/// `[sticker: wave]`, for anything that has a kind and optionally a name.
std::string attached_thing(std::string_view kind, std::string_view name);
/// `[forwarded: …]` with the forwarded text.
std::string forwarded(std::string_view from, std::string_view text);

/// `text` followed by the attachments on lines of their own; a cancel word stays alone.
std::string with_attached(std::string text, const std::string& attached, bool is_cancel);

/// Appends a line, up to a limit.
void attach(std::string& to, const std::string& line);

} // namespace quell::integrations::chat
