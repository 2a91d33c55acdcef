// One line of a log about a command: `name field=value field=value`. Values that people or programs chose are cut and
// made printable; environment, reasons, command lines and secrets appear only as their size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "controller/orders.hpp"

namespace quell::controller::commands {

class description {
 public:
  explicit description(std::string_view command) : text_(command) {}

  /// Shows the value, quoted if it has spaces: at most 100 bytes, in which control characters, quotes and bytes beyond
  /// ASCII become `?`. Leaves out an empty one.
  description& shown(std::string_view field, std::string_view value);
  description& count(std::string_view field, std::uint64_t value);
  /// Leaves out `false`.
  description& flag(std::string_view field, bool value);
  /// Shows only how many bytes a text has. Leaves out an empty one.
  description& redacted(std::string_view field, std::string_view value);
  /// Shows the identity of the caller's token, never a secret.
  description& by(const caller& who) { return shown("by", who.token_id); }

  std::string done() { return std::move(text_); }

 private:
  std::string text_;
};

} // namespace quell::controller::commands
