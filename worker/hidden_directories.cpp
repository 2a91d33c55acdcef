// Finds the hidden directories once, at the start.
#include "worker/hidden_directories.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "protocol/state_marks.hpp"

namespace quell::worker {

std::vector<std::string> without_needed(const std::vector<std::string>& directories,
                                        const std::vector<std::string>& needed) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> hidden;
  for (const auto& directory : directories) {
    auto path = fs::weakly_canonical(directory, error).string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (error || path.size() < 2 || std::find(hidden.begin(), hidden.end(), path) != hidden.end()) continue;
    const auto holds = [&](const std::string& one) {
      return (fs::weakly_canonical(one, error).string() + "/").starts_with(path + "/");
    };
    if (const auto it = std::find_if(needed.begin(), needed.end(), holds); it != needed.end()) {
      spdlog::warn("{} cannot be hidden from tasks: {} lies in it", path, *it);
      continue;
    }
    hidden.push_back(std::move(path));
  }
  return hidden;
}

void hide_workspaces(std::vector<std::string>& hidden, const std::string& workspaces) {
  const auto lies_in = [&](const std::string& one) { return (workspaces + "/").starts_with(one + "/"); };
  if (std::none_of(hidden.begin(), hidden.end(), lies_in)) hidden.push_back(workspaces);
}

std::vector<std::string> hidden_from_tasks(const std::vector<std::string>& configured, const std::string& state,
                                           const std::vector<std::string>& needed,
                                           const std::map<std::string, std::string>& environment) {
  namespace fs = std::filesystem;
  auto wanted = configured;
  const auto add_from = [&](const char* variable, const char* below) {
    if (const auto at = environment.find(variable); at != environment.end() && at->second.starts_with('/'))
      wanted.push_back((fs::path(at->second) / below).string());
  };
  add_from("QUELL_STATE", "");
  add_from("XDG_STATE_HOME", "quell");
  add_from("HOME", ".local/state/quell");
  wanted.emplace_back("/var/lib/quell");
  wanted.push_back(fs::path(state_marks_of_root).parent_path().string());
  std::error_code error;
  const auto own = fs::weakly_canonical(state, error);
  wanted.push_back(own.string());
  for (auto above = own.parent_path(); above != above.root_path(); above = above.parent_path())
    if (fs::exists(above / "client.json", error)) wanted.push_back(above.string());

  auto hidden = without_needed(wanted, needed);
  // Hiding an outer directory first hides the inner ones, which then cannot and need not be covered.
  std::sort(hidden.begin(), hidden.end());
  std::vector<std::string> outermost;
  for (auto& path : hidden)
    if (outermost.empty() || !(path + "/").starts_with(outermost.back() + "/")) outermost.push_back(std::move(path));
  return outermost;
}

} // namespace quell::worker
