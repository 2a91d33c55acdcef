// Reads a JSON text in one pass that also finds a member that the text gives twice: readers differ in which one they
// take, so the sender may have meant the other one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

namespace quell::controller::http {

struct read_json {
  nlohmann::json value; ///< with the last one of doubled members
  /// The JSON pointer (RFC 6901) of the first member whose name its object already has, however the name is escaped.
  std::optional<std::string> doubled;
};

struct not_json {
  std::optional<std::size_t> byte; ///< where it stops being JSON, counted from 1; absent: a number is too large
  std::string what;                ///< in the words of the JSON library
};

/// O(n log n) time. The caller bounds the nesting.
tl::expected<read_json, not_json> read_json_text(std::string_view text);

} // namespace quell::controller::http
