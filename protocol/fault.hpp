// An error as a value: a code that a program can switch on and a sentence that a person can act on.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace quell {

/// `code` is one of SURFACE's error codes (docs: `quell help errors`). `detail` says what is wrong, where, and what to
/// do. `pointer` is the JSON pointer of the bad field ("" = not about one field).
struct fault {
  std::string code;
  std::string detail;
  std::string pointer;

  friend bool operator==(const fault&, const fault&) = default;
};

/// A value or a `fault`. The usual return type of a function that can fail for a reason outside our own code.
template <class T>
using result = tl::expected<T, fault>;

inline tl::unexpected<fault> failure(std::string code, std::string detail, std::string pointer = {}) {
  return tl::unexpected<fault>(fault{std::move(code), std::move(detail), std::move(pointer)});
}

} // namespace quell
