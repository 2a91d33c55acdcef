// Settings of turns read from a text, for tests.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "protocol/id.hpp"
#include "quelld/settings/turn_settings.hpp"

namespace quell::testing {

using controller::turns::turn_settings;

struct file {
  std::string path =
      (std::filesystem::temp_directory_path() / ("quell-turns-" + operation_id::fresh().text())).string();
  explicit file(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~file() { std::filesystem::remove(path); }
};

using variables = std::map<std::string, std::string>;

inline turn_settings settings_of(const std::string& text, const variables& environment = {}) {
  const file f(text);
  auto read = controller::turns::read_turn_settings(f.path, environment);
  INFO((read ? "" : read.error().detail));
  REQUIRE(read);
  return *read;
}

/// The fault's text without the file's name, which it must begin with.
inline std::string refusal_of(const std::string& text, const variables& environment = {}) {
  const file f(text);
  const auto read = controller::turns::read_turn_settings(f.path, environment);
  if (read) return "(accepted)";
  CHECK(read.error().code == "invalid_field");
  CHECK(read.error().detail.starts_with(f.path + ":"));
  return read.error().detail.substr(f.path.size());
}

inline bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO("\"" << part << "\" in: " << text);
  return text.find(part) != std::string::npos;
}

} // namespace quell::testing
