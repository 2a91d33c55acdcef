// The tool project, which only quelld asks for: the instructions and the skills that a workspace holds for agents.
#include <algorithm>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <set>

#include "protocol/utf8.hpp"
#include "worker/tools/front_matter.hpp"
#include "worker/tools/input_reader.hpp"
#include "worker/tools/tool.hpp"
#include "worker/tools/walk.hpp"
#include "worker/tools/workspace.hpp"

namespace quell::worker::tools {

using nlohmann::json;

namespace {

constexpr std::size_t most_instruction_bytes = 32 << 10, most_skills = 64, most_nested = 32, most_visited = 5'000,
                      nested_depth = 4, skill_file_bytes = 1 << 20, most_shown_path = 512;
constexpr const char* instructions_file = "AGENTS.md";

/// The text of a file, or nullopt: it is not there, cannot be read, or is not text.
std::optional<std::string> content_of(const workspace& where, const std::string& path, std::size_t limit) {
  const auto file = where.open_at(path, O_RDONLY | O_NONBLOCK); // must not hang on a pipe
  if (!file) return std::nullopt;
  auto content = read_all(*file, path, limit);
  if (!content || !is_utf8(*content)) return std::nullopt;
  return std::move(*content);
}

bool is_passed_over(const std::string& name) { return name.starts_with('.') || name == "node_modules"; }

/// Folders below the root that have instructions of their own.
json nested_in(const workspace& where, std::size_t& visited, bool& is_cut) {
  json found = json::array();
  (void)walk(where, ".", nested_depth, [&](const found_entry& e) {
    if (++visited > most_visited || found.size() == most_nested) {
      is_cut = true;
      return walk_on::stop;
    }
    if (e.type == 'd' && is_passed_over(e.name)) return walk_on::not_into;
    const bool is_nested = e.type == 'f' && e.name == instructions_file && e.path != e.name;
    if (is_nested && e.path.size() <= most_shown_path && is_utf8(e.path)) found.push_back(e.path);
    return walk_on::yes;
  });
  return found;
}

void add_skills(const workspace& where, const std::string& folder, json& found, std::set<std::string>& names,
                std::size_t& visited, bool& is_cut) {
  (void)walk(where, folder, 1, [&](const found_entry& e) {
    if (++visited > most_visited || found.size() == most_skills) {
      is_cut = true;
      return walk_on::stop;
    }
    const auto path = e.path + "/SKILL.md";
    if (e.type != 'd' || path.size() > most_shown_path || !is_utf8(path)) return walk_on::not_into;
    const auto text = content_of(where, path, skill_file_bytes);
    const auto head = text ? head_of_skill(*text) : std::nullopt;
    if (head && names.insert(head->name).second)
      found.push_back({{"name", head->name}, {"description", head->description}, {"path", path}});
    return walk_on::not_into;
  });
}

} // namespace

result<json> read_project(const workspace& where, const json& input, const tool_limits& limits) {
  input_reader in(input);
  if (auto wrong = in.trouble()) return tl::unexpected(*wrong);
  json answer = json::object();
  if (auto text = content_of(where, instructions_file, limits.file_bytes)) {
    const bool is_long = text->size() > most_instruction_bytes;
    if (is_long) text->resize(utf8_prefix(*text, most_instruction_bytes).size());
    answer["instructions"] = {{"path", instructions_file}, {"text", std::move(*text)}, {"truncated", is_long}};
  }
  // Each search has its own allowance, so that a large tree hides no skill.
  std::size_t nested_visited = 0, skills_visited = 0;
  bool is_cut = false;
  answer["nested"] = nested_in(where, nested_visited, is_cut);
  json skills = json::array();
  std::set<std::string> names;
  for (const char* folder : {".agents/skills", "skills"})
    add_skills(where, folder, skills, names, skills_visited, is_cut);
  answer["skills"] = std::move(skills);
  answer["truncated"] = is_cut;
  return answer;
}

} // namespace quell::worker::tools
