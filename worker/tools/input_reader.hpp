// Reads the fields of a tool's input and checks them: the first error becomes a fault that the model can act on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "protocol/failure_code.hpp"

namespace quell::worker::tools {

class input_reader {
 public:
  explicit input_reader(const nlohmann::json& input) : input_(input) {
    if (!input.is_object()) fail("", "the input must be an object");
  }

  std::string text(const char* name) {
    if (const auto* v = find(name)) {
      if (v->is_string()) return v->get<std::string>();
      fail(name, "must be a string");
    } else {
      fail(name, "is required");
    }
    return {};
  }
  std::string text_or(const char* name, std::string otherwise) { return find(name) ? text(name) : otherwise; }
  bool flag(const char* name, bool otherwise) {
    const auto* v = find(name);
    if (!v) return otherwise;
    if (!v->is_boolean()) fail(name, "must be true or false");
    return v->is_boolean() ? v->get<bool>() : otherwise;
  }
  std::uint64_t number(const char* name, std::uint64_t otherwise, std::uint64_t least, std::uint64_t most) {
    const auto* v = find(name);
    if (!v) return otherwise;
    if (v->is_number_unsigned() && v->get<std::uint64_t>() >= least && v->get<std::uint64_t>() <= most)
      return v->get<std::uint64_t>();
    fail(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return otherwise;
  }
  /// Call after all fields were read.
  std::optional<fault> trouble() {
    if (!trouble_ && input_.is_object())
      for (const auto& [name, value] : input_.items())
        if (!known_.count(name)) fail(name, "is not a field of this tool");
    return trouble_;
  }

 private:
  const nlohmann::json* find(const char* name) {
    known_.insert(name);
    if (!input_.is_object()) return nullptr;
    const auto at = input_.find(name);
    return at == input_.end() || at->is_null() ? nullptr : &*at;
  }
  void fail(const std::string& name, const std::string& why) {
    if (!trouble_) trouble_ = failure_of(failure_code::invalid_input, name.empty() ? why : "`" + name + "` " + why);
  }

  const nlohmann::json& input_;
  std::set<std::string> known_;
  std::optional<fault> trouble_;
};

} // namespace quell::worker::tools
