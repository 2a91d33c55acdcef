// Output as JSON lines (`run --json`, `logs -f --json`). Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace quell::cli {

/// `{"type":"output","operation","stream","offset","text"|"base64"}`: text if the bytes are UTF-8.
nlohmann::json output_line(const std::string& operation, const std::string& stream, std::uint64_t offset,
                           std::string_view bytes);
/// Decodes the bytes; characters that are not base64 are skipped.
std::string from_base64(std::string_view text);
/// The number of bytes at the end that begin an incomplete character (0 to 3).
std::size_t cut_character(std::string_view bytes);

} // namespace quell::cli
