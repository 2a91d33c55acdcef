// The directory of a task that works in a workspace of its conversation, as it stands in the task's `cwd`.
//
// Text form: `workspace:NAME?exists&quota=BYTES&keep=MS&in=PATH`; each part after the name can be missing, and `in`
// comes last. It is never an absolute path, so a client's task cannot name one, and a worker that does not know it
// fails the start. Only workers with the label `quell.workspaces` get such a task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/fault.hpp"
#include "protocol/scope.hpp"
#include "protocol/time.hpp"

namespace quell {

/// A worker has this label, with this value, if it can keep workspaces apart.
inline constexpr const char* workspaces_label = "quell.workspaces";
inline constexpr const char* workspaces_label_value = "apart";
/// Where a task sees its workspace.
inline constexpr const char* workspace_mount = "/workspace";

struct workspace_place {
  std::string name;              ///< of its directory: 1 to 200 of `A-Z a-z 0-9 . _ - : @ + = ~ %`, no leading dot
  bool must_exist = false;       ///< it was used before: if it is not there, the start fails as `workspace_gone`
  bool remove = false;           ///< remove it when nothing runs in it any more; the task itself does not enter it
  std::uint64_t quota_bytes = 0; ///< 0 = none
  milliseconds keep{0};          ///< removed after so long without use; 0 = never
  std::string below;             ///< the task's directory: absolute, or relative to the workspace

  std::string text() const;
  /// Nullopt if the text does not begin with `workspace:`. Fault `bad_workspace`.
  static std::optional<result<workspace_place>> parse(std::string_view text);
  /// The `cwd` of a task that still needs a workspace; a worker refuses it.
  static std::string unplaced(const std::string& below);
  /// The `below` of any such text; "" if there is none.
  static std::string below_in(std::string_view text);
  friend bool operator==(const workspace_place&, const workspace_place&) = default;
};

/// A name that no other scope and no earlier workspace of this one has; `mark` is unique.
std::string workspace_name(const scope_path& scope, const std::string& mark);

/// Whether two directories of tasks are the same place: for workspaces the names decide.
bool is_same_directory(const std::optional<std::string>& a, const std::optional<std::string>& b);

} // namespace quell
