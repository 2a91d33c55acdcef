// Looks through the tasks of the conversation's scope.
#include "actors/turns/workspace_tasks.hpp"

#include <utility>

#include "actors/turns/operation_pages.hpp"
#include "actors/turns/workspace_choice.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

bool is_in(const workspace_row& row, const std::optional<std::string>& cwd) {
  workspace_place place;
  place.name = row.name;
  return is_same_directory(place.text(), cwd);
}

bool has_task_lately(const workspace_row& row, const scope_path& scope, store_reader& store, wall_time now) {
  const auto has_any = [&](operation_filter f) {
    f.scopes = {scope};
    f.kinds = {kind::task};
    const auto found =
        any_operation(store, std::move(f), [&](const operation_record& task) { return is_in(row, task.task.cwd); });
    return !found || *found; // nothing may be given up because it cannot be read
  };
  operation_filter living, ended;
  living.want_ended = false;
  ended.want_live = false;
  ended.ended_since = now - unused_time(row);
  return has_any(living) || has_any(ended);
}

} // namespace quell::controller::turns
