// A page of the live tree: the children of a scope or an operation, with counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/orders.hpp"

namespace quell::controller {

/// The position after which a page continues: a scope, or an operation, which can have ended since.
struct tree_place {
  std::string scope;        ///< not empty: after this scope; operations follow after the scopes
  std::uint32_t slot = 0;   ///< of the operation in the ledger
  std::uint64_t seq = 0;    ///< of the operation; 0 = before the first
  bool is_stopping = false; ///< it was among the operations of its scope that are being stopped
  friend bool operator==(const tree_place&, const tree_place&) = default;
};

enum class branches_of : std::uint8_t {
  scope,     ///< the scopes directly in it, then its operations without a parent in the same scope
  operation, ///< its live children, newest first
  roots      ///< operations without a live parent in a scope and below it
};

struct tree_question {
  branches_of what = branches_of::scope;
  std::optional<operation_id> operation; ///< for `branches_of::operation`
  std::optional<scope_path> scope;       ///< nullopt = everything
  std::optional<tree_place> after;
  std::size_t limit = 100;
};

struct tree_branch {
  operation_id id;
  std::uint32_t children = 0; ///< live ones directly below
  std::uint32_t below = 0;    ///< live ones below at any depth, excluding detached ones
};

struct tree_page {
  bool is_live = true;          ///< false: the requested operation is not live
  std::uint64_t event = 0;      ///< the counts hold the events up to this id, and none of those behind it
  std::uint64_t live = 0;       ///< in and below the scope; for an operation: its children
  std::uint64_t cancelling = 0; ///< of these, being stopped; for an operation 0
  std::vector<scope_view> scopes;
  std::vector<tree_branch> operations;
  std::optional<tree_place> next; ///< set if there can be more
};

} // namespace quell::controller
