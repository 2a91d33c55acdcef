// What a call answers in words: at most 2,000 characters, short ids, elapsed times, what to call next. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/mcp/json.hpp"
#include "cli/operation_view.hpp"

namespace quell::cli::mcp {

inline constexpr std::size_t most_characters = 2000;

/// The text if it is short enough, else its beginning and a `…`. Bytes that are no UTF-8 become U+FFFD.
std::string clipped(std::string_view text, std::size_t most = most_characters);

/// What every call answers once a user has stopped the work (SURFACE 14, exactly).
std::string cancelled_by_user(std::string_view reason);
/// What calls answer when this server's operation was stopped, for whatever cause (SURFACE 2).
std::string stopped_text(std::string_view cause, std::string_view reason);

/// `7bee07dd running 12s: integration tests (on w1)`.
std::string headline(const json& operation, const view& v);
/// It has ended, in whatever way.
bool is_over(const json& operation);
/// Started, or started and ended, and what to call next. `by_user`: somebody else cancelled it.
std::string run_text(const json& operation, const view& v, bool by_user);
/// The same after a wait.
std::string wait_text(const json& operation, const view& v, bool by_user);
std::string show_text(const json& operation, const view& v);
/// `more`: there are others beyond these.
std::string list_text(const json& operations, const view& v, bool more);

/// The end of a stream.
struct output_tail {
  std::string operation; ///< whole id
  std::string stream;
  std::string bytes;
  std::uint64_t offset = 0; ///< of the first byte
  std::uint64_t dropped_bytes = 0;
  bool end = false; ///< nothing will follow
};
/// Takes away what is left of characters that were cut at its beginning, or are not whole yet at its end.
void keep_whole_characters(output_tail& tail);
/// `{"type","operation","stream","offset","text"|"base64","end","dropped_bytes"}`: an `output` line with what the
/// headers say.
json output_shape(const output_tail& tail);
std::string output_text(const output_tail& tail);

/// One cancel, or a dry run of one.
std::string cancel_text(const json& cancel, const view& v);
/// Of everything that is mine; `cancels` as the controller answered them.
std::string cancels_text(const std::vector<json>& cancels, const view& v, bool dry_run);

} // namespace quell::cli::mcp
