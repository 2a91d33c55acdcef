// Lines of a TOML table, for `quelld --print-config`; empty values are left out.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace quell::controller::turns {

/// A basic string with its quotes.
std::string toml_quoted(const std::string& text);
std::string toml_list(const std::vector<std::string>& texts);

class toml_lines {
 public:
  void text(const char* key, const std::string& value);
  void texts(const char* key, const std::vector<std::string>& value);
  void table(const char* key, const std::map<std::string, std::string>& value);
  /// Writes `value` without quotes.
  void plain(const char* key, const std::string& value);
  void flag(const char* key, bool value) { plain(key, value ? "true" : "false"); }
  const std::string& all() const { return all_; }

 private:
  std::string all_;
};

} // namespace quell::controller::turns
