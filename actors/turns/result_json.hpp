// Results that quell itself gives a call (DESIGN 4), and the size limit of all results. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "actors/turn/result_texts.hpp"
#include "controller/records/records.hpp"

namespace quell::controller::turns {

constexpr std::size_t most_result_bytes = 1 << 20;

/// The reason why a call did not run about which nobody decided within `wait`.
std::string undecided_reason(std::chrono::milliseconds wait);

class json_result_texts final : public actors::result_texts {
 public:
  std::string cancelled() const override;
  std::string not_started() const override;
  std::string timed_out(const std::string& tool, std::chrono::milliseconds limit) const override;
  std::string denied(const std::string& reason) const override;
  std::string undecided(const std::string& reason) const override;
  using result_texts::failed;
  std::string failed(const std::string& code, const std::string& message) const override;
  std::string shortened(const std::string& result, bool ok) const override;
  /// A JSON object gets the member `note`; anything else goes into an object beside it.
  std::string noted(const std::string& result, const std::string& note) const override;
  /// The result of a call that a restart of the controller ended.
  std::string interrupted() const;
};

/// The code and message of a failed result, for the row of its call; `error` if the result has no code.
records::operation_error error_of_result(const std::string& result);
/// `{"ok":true,"result":…}` around JSON text; text that is not JSON becomes a string.
std::string ok_result(const std::string& json);
/// Always JSON of at most `most` bytes (at least 1 KiB): a longer result becomes
/// `{"ok":…,"truncated":true,"result_bytes":…,"result":"head … tail"}`, and text that is not JSON a string.
std::string bounded_result(std::string json, std::size_t most = most_result_bytes, bool ok = true);

/// Valid UTF-8 of at most `most` bytes: a longer text keeps its head and its tail, with a line between that gives the
/// number of missing bytes; invalid UTF-8 becomes U+FFFD. Sets `was_cut` if something is missing.
std::string bounded_text(std::string_view text, std::size_t most, bool& was_cut);

} // namespace quell::controller::turns
