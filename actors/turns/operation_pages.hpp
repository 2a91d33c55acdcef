// Reads all operations that a filter selects without holding them all, and the turn above one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "controller/store_reader.hpp"

namespace quell::controller::turns {

constexpr std::uint32_t operations_per_page = 1'000;

/// Calls `take` with each operation that the filter selects, oldest first. The filter's order and limit do not matter.
/// Holds a page at a time. Returns the fault that ended the reading. Reads the store, so call it on a thread that can
/// wait.
std::optional<fault> for_each_operation(store_reader& store, records::operation_filter f,
                                        const std::function<void(records::operation_record&)>& take);

/// Whether `test` is true of one of them; the reading ends with the first. The same else.
result<bool> any_operation(store_reader& store, records::operation_filter f,
                           const std::function<bool(const records::operation_record&)>& test);

/// The turn whose tree has this operation, by the operation's parent; nullopt: none, or it cannot be read.
std::optional<records::operation_record> turn_above(store_reader& store, std::optional<operation_id> parent);

} // namespace quell::controller::turns
