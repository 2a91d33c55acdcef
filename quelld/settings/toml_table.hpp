// Reads a table of a configuration file key by key: the first error becomes a fault with file, line and key; at the
// end, keys that were never requested are refused. For .cpp files that read TOML.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/time.hpp"
#include "protocol/toml.hpp"

namespace quell::controller::turns {

/// The first error in one file, shared by all its tables.
class file_trouble {
 public:
  explicit file_trouble(std::string file) : file_(std::move(file)) {}
  /// `line` 0: no particular line.
  void say(std::size_t line, const std::string& what) {
    if (first_) return;
    first_ =
        coded_fault{error_code::invalid_field, file_ + (line == 0 ? "" : ":" + std::to_string(line)) + ": " + what, {}};
  }
  const std::optional<fault>& first() const { return first_; }

 private:
  std::string file_;
  std::optional<fault> first_;
};

/// Used by one thread; `table` and `trouble` must outlive it. An absent or wrong value reads as nothing, "" or the
/// given default.
class toml_table {
 public:
  /// `place`: its name in faults, e.g. `[[agents]] "coder"`.
  toml_table(const toml::table& table, std::string place, file_trouble& trouble)
      : table_(table), place_(std::move(place)), trouble_(trouble) {}

  void call_it(std::string place) { place_ = std::move(place); }
  bool has(const char* key);
  std::string text(const char* key, std::size_t most_bytes);
  std::optional<std::string> text_if(const char* key, std::size_t most_bytes);
  std::uint32_t number(const char* key, std::uint32_t otherwise, std::uint32_t least, std::uint32_t most);
  /// From 0 to 1.
  double fraction(const char* key, double otherwise);
  std::optional<double> real_if(const char* key, double least, double most);
  bool flag(const char* key, bool otherwise);
  /// The value is a string.
  bool is_text(const char* key);
  milliseconds duration(const char* key, milliseconds otherwise, milliseconds least);
  std::vector<std::string> texts(const char* key, std::size_t most, std::size_t most_bytes);
  std::map<std::string, std::string> pairs(const char* key, std::size_t most);
  const toml::table* table(const char* key);
  /// Refuses keys that were never requested, with the nearest key that was.
  void end();
  /// Reports that the value of `key` (or the table itself, "") is wrong.
  void wrong(const std::string& key, const std::string& why);

 private:
  const toml::node* find(const char* key);

  const toml::table& table_;
  std::string place_;
  file_trouble& trouble_;
  std::vector<std::string> known_;
};

} // namespace quell::controller::turns
