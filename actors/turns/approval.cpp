// Finds the rule that fits a call: by its tool, and by the content of its input.
#include "actors/turns/approval.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "actors/turns/json_text.hpp"
#include "actors/turns/mcp_tools.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

bool is_for(const approval_rule& rule, const std::string& tool_name) {
  if (rule.tool.starts_with("mcp:")) return tool_name.starts_with(mcp_names_of(rule.tool.substr(4)));
  if (is_remote_agent(rule.tool)) return tool_name == a2a_offered_name(rule.tool);
  return glob_fits(rule.tool, tool_name);
}

/// The line of an exec: the shell line, or argv's arguments with spaces between them.
std::string line_of(const json& input) {
  if (const auto line = input.find("command"); line != input.end() && line->is_string())
    return line->get<std::string>();
  std::string all;
  if (const auto argv = input.find("argv"); argv != input.end() && argv->is_array())
    for (const auto& argument : *argv)
      if (argument.is_string()) all += (all.empty() ? "" : " ") + argument.get<std::string>();
  return all;
}

/// The whole input and every string in it, both as it is and as a normalised path.
void add_texts(const json& value, std::vector<std::string>& texts) {
  if (value.is_structured()) {
    for (const auto& inner : value) add_texts(inner, texts);
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    texts.push_back(text);
    constexpr std::size_t longest_path = 4096;
    if (text.size() <= longest_path && text.find('/') != std::string::npos)
      texts.push_back(std::filesystem::path(text).lexically_normal().string());
  }
}

std::vector<std::string> texts_of(const std::string& tool_name, const std::string& input_json) {
  const auto input = json::parse(input_json, nullptr, false);
  if (input.is_discarded() || !input.is_object()) return {input_json};
  if (tool_name == "exec") return commands_of(line_of(input));
  std::vector<std::string> texts{json_text(input)};
  add_texts(input, texts);
  return texts;
}

bool fits(const approval_rule& rule, const std::vector<std::string>& texts, bool is_exec) {
  if (rule.match.empty()) return true;
  for (const auto& text : texts) {
    if (is_exec && text.empty()) return true; // a command that only the shell can name
    if (glob_fits(rule.match, text)) return true;
    // `rm *` must match a bare `rm`, too.
    if (is_exec && rule.match.ends_with(" *") && glob_fits(rule.match, text + " ")) return true;
  }
  return false;
}

/// The commands of an exec that does nothing else than to run them; nullopt: it is not understood so well.
std::optional<std::vector<std::string>> plain_commands_of(const std::string& input_json) {
  const auto input = json::parse(input_json, nullptr, false);
  if (!input.is_object()) return std::nullopt;
  for (const auto& [name, value] : input.items())
    if (name != "command" && name != "argv" && name != "timeout_ms" && name != "background")
      return std::nullopt; // variables of the environment, or another directory, can make another command of it
  if (const auto argv = input.find("argv"); argv != input.end()) {
    if (!argv->is_array() || input.contains("command")) return std::nullopt;
    for (const auto& argument : *argv) // these in a program's name would read like its arguments, or another command
      if (!argument.is_string() || argument.get<std::string>().empty() ||
          argument.get<std::string>().find_first_of(" |;&") != std::string::npos)
        return std::nullopt;
  }
  return plain_commands(line_of(input));
}

bool is_allowed(const std::vector<approval_rule>& rules, const std::string& tool_name, const std::string& input_json) {
  std::vector<approval_rule> by_match;
  for (const auto& rule : rules) {
    if (!rule.allows || !is_for(rule, tool_name)) continue;
    if (rule.match.empty()) return true;
    by_match.push_back(rule);
  }
  if (by_match.empty() || tool_name != "exec") return false;
  const auto commands = plain_commands_of(input_json);
  return commands && std::all_of(commands->begin(), commands->end(), [&](const std::string& command) {
           return std::any_of(by_match.begin(), by_match.end(),
                              [&](const approval_rule& rule) { return fits(rule, {command}, true); });
         });
}

} // namespace

std::string rule_text(const approval_rule& rule) {
  return rule.match.empty() ? rule.tool : rule.tool + ": " + rule.match;
}

const approval_rule* deciding_rule(const std::vector<approval_rule>& rules, const std::string& tool_name,
                                   const std::string& input_json) {
  std::vector<std::string> texts;
  bool has_texts = false;
  const approval_rule* found = nullptr;
  for (const auto& rule : rules) {
    if (rule.allows || (found && !rule.denies) || !is_for(rule, tool_name)) continue;
    if (!has_texts && !rule.match.empty()) texts = texts_of(tool_name, input_json);
    has_texts = has_texts || !rule.match.empty();
    if (!fits(rule, texts, tool_name == "exec")) continue;
    found = &rule;
    if (rule.denies) break;
  }
  return found && !found->denies && is_allowed(rules, tool_name, input_json) ? nullptr : found;
}

std::string rule_for(const std::vector<approval_rule>& rules, const std::string& tool_name,
                     const std::string& input_json) {
  const auto* rule = deciding_rule(rules, tool_name, input_json);
  return rule ? rule_text(*rule) : std::string();
}

} // namespace quell::controller::turns
