// Reads a script from JSON or TOML, strictly: a misspelt word is an error that gives its place.
#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "protocol/toml.hpp"

#include "integrations/models/json.hpp"
#include "integrations/models/script.hpp"
#include "integrations/models/text.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t longest_ms = 24ULL * 3600 * 1000;

/// The first error and its place; everything after it is read as if absent.
struct trouble {
  std::optional<std::string> first;
  void say(const std::string& where, const std::string& what) {
    if (!first) first = where + ": " + what;
  }
};

class script_reader {
 public:
  script_reader(const json& value, std::string where, trouble& wrong)
      : value_(value), where_(std::move(where)), wrong_(wrong) {
    if (!value.is_object()) wrong_.say(where_, "expected an object");
  }

  void only(std::initializer_list<std::string_view> known) const {
    if (!value_.is_object()) return;
    for (const auto& [name, ignored] : value_.items())
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        std::string list;
        for (const std::string_view one : known) list += (list.empty() ? "" : ", ") + std::string(one);
        wrong_.say(where_ + "/" + name, "unknown; known here: " + list);
      }
  }
  bool has(const char* name) const { return value_.is_object() && value_.contains(name); }
  const json& at(const char* name) const { return member(value_, name); }
  std::string where(const char* name) const { return where_ + "/" + name; }

  std::optional<std::string> text(const char* name) const {
    if (!has(name)) return std::nullopt;
    if (!at(name).is_string()) wrong_.say(where(name), "expected a text");
    return text_member(value_, name);
  }
  std::optional<std::uint64_t> count(const char* name, std::uint64_t most) const {
    if (!has(name)) return std::nullopt;
    if (!at(name).is_number_unsigned() || count_member(value_, name) > most)
      wrong_.say(where(name), "expected a whole number from 0 to " + std::to_string(most));
    return std::min(count_member(value_, name), most);
  }
  std::optional<std::uint32_t> number(const char* name) const {
    const auto found = count(name, 1'000'000);
    return found ? std::optional(static_cast<std::uint32_t>(*found)) : std::nullopt;
  }
  milliseconds time(const char* name) const { return milliseconds(count(name, longest_ms).value_or(0)); }
  bool yes(const char* name) const {
    if (has(name) && !at(name).is_boolean()) wrong_.say(where(name), "expected true or false");
    return at(name) == json(true);
  }
  script_reader inside(const char* name) const { return {at(name), where(name), wrong_}; }
  template <class F>
  void each(const char* name, F&& f) const {
    if (!has(name)) return;
    if (!at(name).is_array()) return wrong_.say(where(name), "expected a list");
    for (std::size_t i = 0; i < at(name).size(); ++i)
      f(script_reader(at(name)[i], where(name) + "/" + std::to_string(i), wrong_));
  }
  void say(const std::string& what) const { wrong_.say(where_, what); }

 private:
  const json& value_;
  std::string where_;
  trouble& wrong_;
};

script_steps::call read_call(const script_reader& from) {
  from.only({"name", "input", "id"});
  script_steps::call call{from.text("id").value_or(""), from.text("name").value_or(""), "{}"};
  if (call.name.empty()) from.say("a call needs a name");
  // A text is passed on unchanged, so that a script can play a model that writes invalid JSON.
  if (from.has("input")) call.input = from.at("input").is_string() ? *from.text("input") : dump_json(from.at("input"));
  return call;
}

script_steps::fail read_error(const script_reader& from) {
  from.only({"code", "message", "retry", "retry_after_ms"});
  script_steps::fail step;
  step.why = {from.text("code").value_or(std::string(name_of(failure_code::model_unavailable))),
              from.text("message").value_or("an error of the script"),
              {}};
  const std::string& code = step.why.code;
  std::string codes;
  bool is_known = false;
  for (const auto& row : failure_codes) {
    const auto name = row.text;
    if (name != name_of(failure_code::context_overflow) && !name.starts_with("model_")) continue;
    is_known = is_known || name == code;
    codes += (codes.empty() ? "" : ", ") + std::string(name);
  }
  if (!is_known) from.say("the code is none of " + codes);
  step.again = from.yes("retry");
  if (from.has("retry_after_ms")) step.requested_wait = from.time("retry_after_ms");
  return step;
}

void read_step(const script_reader& from, std::vector<script_step>& steps) {
  const char* kinds[] = {"text", "endless", "call", "calls", "hang", "error"};
  const auto count =
      std::count_if(std::begin(kinds), std::end(kinds), [&](const char* kind) { return from.has(kind); });
  if (count > 1) return from.say("a step is one of text, endless, call, calls, hang, error, delay_ms");
  if (from.has("text") || from.has("endless")) {
    from.only({"text", "endless", "chunk", "delay_ms"});
    const bool endless = from.has("endless");
    const std::string text = from.text(endless ? "endless" : "text").value_or("");
    if (text.empty() && endless) from.say("an endless text cannot be empty");
    steps.emplace_back(script_steps::say{text, from.number("chunk").value_or(0), from.time("delay_ms"), endless});
    return;
  }
  if (count == 0 && !from.has("delay_ms"))
    return from.say("a step is one of text, endless, call, calls, hang, error, delay_ms");
  if (from.has("delay_ms")) steps.emplace_back(script_steps::pause{from.time("delay_ms")});
  from.only({"call", "calls", "hang", "error", "delay_ms"});
  if (from.has("call")) steps.emplace_back(read_call(from.inside("call")));
  from.each("calls", [&](const script_reader& call) { steps.emplace_back(read_call(call)); });
  if (from.yes("hang")) steps.emplace_back(script_steps::hang{});
  if (from.has("error")) steps.emplace_back(read_error(from.inside("error")));
}

script_answer read_answer(const script_reader& from) {
  from.only({"when", "steps", "text", "usage", "stop"});
  script_answer answer;
  if (from.has("when")) {
    const script_reader when = from.inside("when");
    when.only({"user", "result", "system", "ask", "round", "attempt"});
    answer.when = {when.text("user"),  when.text("result"),  when.text("system"),
                   when.number("ask"), when.number("round"), when.number("attempt")};
  }
  if (from.has("text")) answer.steps.emplace_back(script_steps::say{*from.text("text"), 0, milliseconds(0), false});
  from.each("steps", [&](const script_reader& step) { read_step(step, answer.steps); });
  if (from.has("usage")) {
    const script_reader usage = from.inside("usage");
    usage.only({"input", "output", "cached"});
    const auto tokens = [&](const char* name) { return usage.count(name, 1ULL << 50).value_or(0); };
    answer.usage = model_usage{tokens("input"), tokens("output"), tokens("cached")};
  }
  if (const auto wanted = from.text("stop")) {
    using model_events::stop;
    const std::pair<std::string_view, stop> names[] = {{"end", stop::end},
                                                       {"calls", stop::calls},
                                                       {"length", stop::length},
                                                       {"refusal", stop::refusal},
                                                       {"content_filter", stop::content_filter}};
    for (const auto& [name, value] : names)
      if (name == *wanted) answer.stop = value;
    if (!answer.stop) from.say("stop is one of end, calls, length, refusal");
  }
  return answer;
}

json as_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    json value = json::object();
    for (const auto& [name, inner] : *table) value[std::string(name.str())] = as_json(inner);
    return value;
  }
  if (const auto* array = node.as_array()) {
    json value = json::array();
    for (const toml::node& inner : *array) value.push_back(as_json(inner));
    return value;
  }
  if (const auto* text = node.as_string()) return text->get();
  // As JSON's parser does: a number that is not negative is unsigned.
  if (const auto* number = node.as_integer())
    return number->get() < 0 ? json(number->get()) : json(static_cast<std::uint64_t>(number->get()));
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* yes = node.as_boolean()) return yes->get();
  return nullptr; // dates, which scripts do not use
}

result<json> read_text(const std::string& text, const std::string& file) {
  if (!file.ends_with(".toml")) {
    if (auto value = parse_json(text)) return std::move(*value);
    std::string why = "it is not JSON";
    try {
      const json ignored = json::parse(text);
    } catch (const json::exception& wrong) {
      why = wrong.what();
    }
    return failure(failure_code::model_refused, "the script " + file + " cannot be read: " + excerpt(why, 300));
  }
  try {
    return as_json(toml::parse(text));
  } catch (const toml::parse_error& wrong) {
    return failure(failure_code::model_refused, "the script " + file +
                                                    " cannot be read: " + std::string(wrong.description()) +
                                                    " in line " + std::to_string(wrong.source().begin.line));
  }
}

} // namespace

result<script> parse_script(const std::string& text, const std::string& file) {
  auto value = read_text(text, file);
  if (!value) return tl::unexpected(std::move(value.error()));
  trouble wrong;
  script read;
  const script_reader whole(*value, "", wrong);
  whole.only({"answers"});
  whole.each("answers", [&](const script_reader& answer) { read.answers.push_back(read_answer(answer)); });
  if (!wrong.first && read.answers.empty()) wrong.say("/answers", "a script needs at least one answer");
  if (wrong.first) return failure(failure_code::model_refused, "the script " + file + ": " + *wrong.first);
  return read;
}

} // namespace quell::integrations
