// JSON of changed inputs, in a call's row and in what its model reads.
#include "actors/turns/changed_input.hpp"

#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/result_json.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

constexpr std::size_t most_shown_bytes = 16 << 10;
constexpr const char* input_member = "changed_input";

json object_or_text(const std::string& text) {
  auto value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

} // namespace

std::string changed_text(const std::string& input, const records::person& by) {
  return json_text({{"input", object_or_text(input)}, {"by", {{"id", by.id}, {"name", by.name}}}});
}

std::optional<std::string> changed_input(const std::string& changed) {
  if (changed.empty()) return std::nullopt;
  const auto read = json::parse(changed, nullptr, false);
  if (!read.is_object() || !read.contains("input")) return std::nullopt;
  return json_text(read["input"]);
}

std::string with_changed(const std::string& block, const std::string& changed) {
  if (changed.empty()) return block;
  auto shown = json::parse(block, nullptr, false);
  if (!shown.is_object()) return block;
  shown["changed"] = object_or_text(changed);
  return json_text(shown);
}

std::string input_that_ran(const records::call_record& call) {
  return changed_input(call.changed).value_or(call.input);
}

std::string with_changed_input(const std::string& result, const std::string& input) {
  if (result == json_result_texts{}.not_started()) return result;
  const std::string words = "a person changed the input of this call before approving it: what ran is `changed_input`, "
                            "not the input that you gave";
  // A note that is there already, of a repetition, stays.
  const auto before = json::parse(result, nullptr, false);
  const auto earlier = before.is_object() ? before.find("note") : before.end();
  auto value = json::parse(json_result_texts{}.noted(result, words), nullptr, false);
  if (!value.is_object()) return result;
  if (before.is_object() && earlier != before.end() && earlier->is_string())
    value["note"] = earlier->get<std::string>() + " " + value["note"].get<std::string>();
  bool was_cut = false;
  if (input.size() <= most_shown_bytes)
    value[input_member] = object_or_text(input);
  else
    value[input_member] = bounded_text(input, most_shown_bytes, was_cut);
  return json_text(value);
}

std::optional<std::string> input_named_in(const std::string& result) {
  if (result.find(input_member) == std::string::npos) return std::nullopt;
  const auto value = json::parse(result, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  const auto at = value.find(input_member);
  if (at == value.end() || !at->is_object()) return std::nullopt;
  return json_text(*at);
}

} // namespace quell::controller::turns
