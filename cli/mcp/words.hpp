// The answers of calls in words: at most 2,000 characters, short ids, elapsed times, the next call to make. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/mcp/json.hpp"
#include "cli/operation_view.hpp"

namespace quell::cli::mcp {

inline constexpr std::size_t most_characters = 2000;

/// The text if it is short enough, otherwise its beginning and a `…`. Bytes that are not UTF-8 become U+FFFD.
std::string clipped(std::string_view text, std::size_t most = most_characters);

/// The answer of every call after a user has stopped the work (SURFACE 14, exactly).
std::string cancelled_by_user(std::string_view reason);
/// The answer of calls after this server's operation was stopped, for any cause (SURFACE 2).
std::string stopped_text(std::string_view cause, std::string_view reason);

/// `7bee07dd running 12s: integration tests (on w1)`.
std::string headline(const json& operation, const view& v);
/// True if it has ended, in any way.
bool is_over(const json& operation);
/// Started, or started and ended, and the next call to make. `by_user`: another user cancelled it.
std::string run_text(const json& operation, const view& v, bool by_user);
/// As `run_text`, after a wait.
std::string wait_text(const json& operation, const view& v, bool by_user);
std::string show_text(const json& operation, const view& v);
/// `more`: further operations exist.
std::string list_text(const json& operations, const view& v, bool has_more);

/// The last part of a stream.
struct output_tail {
  std::string operation; ///< whole id
  std::string stream;
  std::string bytes;
  std::uint64_t offset = 0; ///< of the first byte
  std::uint64_t dropped_bytes = 0;
  bool end = false; ///< no more output follows
};
/// Removes characters that were cut at its beginning or are incomplete at its end.
void keep_whole_characters(output_tail& tail);
/// `{"type","operation","stream","offset","text"|"base64","end","dropped_bytes"}`: an `output` line with the data of
/// the headers.
json output_shape(const output_tail& tail);
std::string output_text(const output_tail& tail);

/// One cancel, or a dry run of one.
std::string cancel_text(const json& cancel, const view& v);
/// The cancels of everything that this server started; `cancels` as the controller answered them.
std::string cancels_text(const std::vector<json>& cancels, const view& v, bool is_dry_run);

} // namespace quell::cli::mcp
