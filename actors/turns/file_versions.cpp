// quell-tool includes the version in its answer; if a result was cut the version is missing and stays unknown.
#include "actors/turns/file_versions.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "actors/turns/changed_input.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

constexpr std::size_t most_files = 10'000, most_version_bytes = 128;

} // namespace

bool is_file_tool(const std::string& name) { return name == "read" || name == "write" || name == "edit"; }

std::string file_of_call(const agent_settings& agent, const std::string& input_json) {
  const auto input = json::parse(input_json, nullptr, false);
  if (!input.is_object()) return {};
  const auto path = input.find("path");
  if (path == input.end() || !path->is_string() || path->get_ref<const std::string&>().empty()) return {};
  const bool is_own = agent.mode != workspace_mode::shared;
  return (std::filesystem::path(agent.workspace.value_or(is_own ? workspace_mount : "")) / path->get<std::string>())
      .lexically_normal()
      .string();
}

void file_versions::note(const std::string& file, const std::string& result_json) {
  if (file.empty()) return;
  const auto answer = json::parse(result_json, nullptr, false);
  if (!answer.is_object() || !answer.contains("result") || !answer["result"].is_object()) return;
  const auto version = answer["result"].find("version");
  if (version == answer["result"].end() || !version->is_string()) return;
  const auto& text = version->get_ref<const std::string&>();
  if (text.empty() || text.size() > most_version_bytes) return;
  const std::lock_guard lock(guard_);
  if (seen_.size() >= most_files && !seen_.contains(file)) return;
  seen_[file] = text;
}

void file_versions::note_all(const agent_settings& agent, const conversation& so_far) {
  const std::vector<tool_call>* calls = nullptr;
  for (const auto& entry : so_far) {
    if (const auto* answer = std::get_if<assistant_message>(&entry)) calls = &answer->calls;
    const auto* results = std::get_if<tool_results>(&entry);
    if (!results || !calls) continue;
    for (std::size_t i = 0; i < results->results.size() && i < calls->size(); ++i)
      if (results->results[i].ok && is_file_tool((*calls)[i].name))
        note(file_of_call(agent, input_named_in(results->results[i].result).value_or((*calls)[i].input)),
             results->results[i].result);
  }
}

std::string file_versions::of(const std::string& file) const {
  const std::lock_guard lock(guard_);
  const auto at = seen_.find(file);
  return at == seen_.end() ? std::string() : at->second;
}

} // namespace quell::controller::turns
