// The bytes that a token, an author and a scope may bring in a day, as every door for bytes asks for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "protocol/scope.hpp"

namespace quell::controller {

/// The sender of bytes, and the place that they go to.
struct byte_source {
  std::string token;       ///< as `caller::token_id`; the bootstrap token, quell itself and "" have no share as tokens
  std::string token_words; ///< for people: token 'laptop'
  std::string author; ///< as this token names them: another token's author of this name is another one; "" = nobody
  std::optional<scope_path> scope = {}; ///< counted for each scope above it, too
  bool token_is_counted = false;        ///< the token's own share has these bytes already
};

/// Bytes that were not taken.
struct bytes_refused {
  std::string why;                   ///< whose share, its limit, and when there is room again
  std::chrono::seconds free_after{}; ///< then there is room for as many
};

/// Thread-safe.
class byte_quota {
 public:
  virtual ~byte_quota() = default;
  /// Counts the bytes in every share of their source, or in none and says why not.
  virtual std::optional<bytes_refused> take(const byte_source& from, std::uint64_t bytes) = 0;
  /// Why `take` would refuse them now; counts nothing.
  virtual std::optional<bytes_refused> look(const byte_source& from, std::uint64_t bytes) const = 0;
  /// Counts bytes that are never refused: what comes after them is.
  virtual void add(const byte_source& from, std::uint64_t bytes) = 0;
  /// Takes bytes out of every share of this source again that were counted and then refused elsewhere.
  virtual void give_back(const byte_source& from, std::uint64_t bytes) = 0;
};

} // namespace quell::controller
