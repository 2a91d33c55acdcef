// An error as a value: a code that a program can switch on and a sentence that a person can act on.
#pragma once

#include "protocol/error_code.hpp"

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace quell {

/// `code` is the text of an `error_code`; or one that stays within its room, as that of a containment or of a settings
/// file; or one that somebody else chose: the owner of an external operation, a worker, a tool or a model server. So it
/// is a text, in which anything may come. `detail` says what is wrong, where, and what to do. `pointer` is the JSON
/// pointer of the bad field ("" = not about one field).
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

/// A fault whose code quell itself chose from its list. It becomes a `fault` wherever one is asked for.
struct coded_fault {
  error_code code = error_code::internal;
  std::string detail;
  std::string pointer = {};

  operator fault() const { return {std::string(text_of(code)), detail, pointer}; }
  friend bool operator==(const coded_fault&, const coded_fault&) = default;
};

/// The border from texts to codes: a code that is not listed is `internal` to clients. The details stay.
inline coded_fault coded(const fault& f) {
  return {error_code_of(f.code).value_or(error_code::internal), f.detail, f.pointer};
}

inline tl::unexpected<fault> failure(error_code code, std::string detail, std::string pointer = {}) {
  return failure(std::string(text_of(code)), std::move(detail), std::move(pointer));
}

inline bool has_code(const fault& f, error_code code) { return f.code == text_of(code); }

} // namespace quell
