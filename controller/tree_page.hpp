// A page of the live tree: what stands directly below a scope or an operation, with counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/orders.hpp"

namespace quell::controller {

/// Behind what a page goes on: a scope, or an operation, which may have ended since.
struct tree_place {
  std::string scope;        ///< not empty: behind this one, and its operations are still to come
  std::uint32_t slot = 0;   ///< of the operation in the ledger
  std::uint64_t seq = 0;    ///< of the operation; 0 = before the first
  bool is_stopping = false; ///< it was among those of its scope that are being stopped
  friend bool operator==(const tree_place&, const tree_place&) = default;
};

enum class branches_of : std::uint8_t {
  scope,     ///< the scopes directly in it, then its operations whose parent is in another scope or none
  operation, ///< its live children, newest first
  roots      ///< operations without a live parent in a scope and below it
};

struct tree_question {
  branches_of what = branches_of::scope;
  std::optional<operation_id> operation; ///< of `branches_of::operation`
  std::optional<scope_path> scope;       ///< nullopt = all there is
  std::optional<tree_place> after;
  std::size_t limit = 100;
};

struct tree_branch {
  operation_id id;
  std::uint32_t children = 0; ///< live ones directly below
  std::uint32_t below = 0;    ///< live ones below at any depth, detached ones left out
};

struct tree_page {
  bool is_live = true;          ///< false: the operation that was asked for is not
  std::uint64_t live = 0;       ///< in and below the scope; of an operation: its children
  std::uint64_t cancelling = 0; ///< of these; of an operation 0
  std::vector<scope_view> scopes;
  std::vector<tree_branch> operations;
  std::optional<tree_place> next; ///< there may be more
};

} // namespace quell::controller
