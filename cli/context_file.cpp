// Contexts, read with toml++.
#include "cli/context_file.hpp"

#include "protocol/toml.hpp"

#include <array>
#include <filesystem>
#include <utility>

namespace quell::cli {
namespace {

answer<context> from_table(const std::string& path, const std::string& name, const toml::table& table) {
  context c;
  c.name = name;
  const std::array<std::pair<std::string_view, std::string*>, 5> keys{{{"url", &c.url},
                                                                       {"token", &c.token},
                                                                       {"token_file", &c.token_file},
                                                                       {"ca_file", &c.ca_file},
                                                                       {"scope", &c.scope}}};
  for (const auto& [key, value] : table) {
    std::string* target = nullptr;
    for (const auto& [known, place] : keys)
      if (key.str() == known) target = place;
    const std::string shown(key.str());
    if (target == nullptr)
      return refuse(local_code::usage, path + ": [contexts." + name + "] has the unknown key '" + shown +
                                           "'; known are url, token, token_file, ca_file, scope");
    if (!value.is_string())
      return refuse(local_code::usage, path + ": '" + shown + "' in [contexts." + name + "] must be a string");
    *target = value.as_string()->get();
  }
  return c;
}

} // namespace

answer<std::optional<context>> read_context(const std::string& path, const std::optional<std::string>& wanted) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (wanted)
      return refuse(local_code::usage, "--context " + *wanted + ": there is no file " + path + "; write [contexts." +
                                           *wanted + "] with a url into it");
    return std::optional<context>{};
  }
  toml::table all;
  // With exceptions, as in the other rooms: toml++ uses the same names for both modes, which must not be mixed in one
  // program.
  try {
    all = toml::parse_file(path);
  } catch (const toml::parse_error& broken) {
    return refuse(local_code::usage, path + " line " + std::to_string(broken.source().begin.line) + ": " +
                                         std::string(broken.description()));
  } catch (const std::exception& broken) {
    return refuse(local_code::usage, path + ": " + broken.what());
  }
  for (const auto& [key, value] : all)
    if (key.str() != "context" && key.str() != "contexts")
      return refuse(local_code::usage,
                    path + " has the unknown key '" + std::string(key.str()) + "'; known are context and contexts");
  const auto name = wanted ? wanted : all["context"].value<std::string>();
  if (!name) return std::optional<context>{};
  if (const auto* table = all["contexts"][*name].as_table()) {
    auto found = from_table(path, *name, *table);
    if (!found) return tl::unexpected(found.error());
    return std::optional<context>{*found};
  }
  std::string known;
  if (const auto* contexts = all["contexts"].as_table())
    for (const auto& [key, value] : *contexts) known += (known.empty() ? "" : ", ") + std::string(key.str());
  return refuse(local_code::usage,
                path + " has no context '" + *name + "'; it has " + (known.empty() ? "none" : known));
}

} // namespace quell::cli
