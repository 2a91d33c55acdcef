// Names of environment variables, and the check for those that no key reads.
#include "quelld/config_environment.hpp"

#include <algorithm>

#include "protocol/nearest.hpp"

namespace quell::controller {

std::string variable_of(const config_key& key) {
  auto name = "QUELLD_" + key.section + "_" + key.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

result<void> check_variables(const std::map<std::string, std::string>& environment,
                             const std::set<std::string>& named) {
  std::vector<std::string> known;
  for (const auto& key : config_keys()) known.push_back(variable_of(key));
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("QUELLD_") || named.contains(name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return failure(error_code::invalid_field, "the environment variable " + name.substr(0, 128) +
                                                  " sets nothing; the nearest known one is " + nearest(name, known) +
                                                  " (QUELLD_<SECTION>_<KEY>; `quelld --print-config` lists all keys)");
  }
  return {};
}

} // namespace quell::controller
