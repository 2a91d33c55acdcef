// Why a task cannot be started with what the worker has: `code` of a fault of its streams and its secrets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/fault.hpp"

namespace quell {

enum class start_fault : std::uint8_t {
  shortage,   ///< the worker itself lacks descriptors, terminals or memory: temporary, and true of any task
  no_streams, ///< this task gets no pipes or terminal
  no_secret   ///< one of its secrets cannot be handed over
};

constexpr std::string_view name_of(start_fault code) {
  switch (code) {
  case start_fault::shortage:
    return "shortage";
  case start_fault::no_streams:
    return "no_streams";
  case start_fault::no_secret:
    return "no_secret";
  }
  return "shortage";
}

inline tl::unexpected<fault> failure(start_fault code, std::string detail) {
  return tl::unexpected<fault>(fault{std::string(name_of(code)), std::move(detail), {}});
}
inline bool has_code(const fault& f, start_fault code) { return f.code == name_of(code); }

} // namespace quell
