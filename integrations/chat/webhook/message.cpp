// Reads a message from JSON, field by field.
#include "integrations/chat/webhook/message.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "protocol/utf8.hpp"

namespace quell::integrations::chat {
namespace {

using nlohmann::json;

constexpr std::size_t most_text = 64 << 10, most_id = 128, most_name = 128, most_names = 16;
constexpr auto known =
    std::to_array<std::string_view>({"id", "scope", "text", "author", "modality", "final", "confidence", "addressed",
                                     "humans_present", "bot_names", "on_disconnect", "coalesce_ms"});

/// Reads members of one object and keeps the first error.
class reader {
 public:
  explicit reader(const json& object, std::string at = {}) : object_(object), at_(std::move(at)) {}

  const json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  std::string text(const char* key, std::size_t most, bool is_required) {
    const auto* value = find(key);
    if (!value && !is_required) return {};
    if (!value || !value->is_string()) {
      wrong(key, "must be a string");
      return {};
    }
    auto text = value->get<std::string>();
    if (text.size() > most) wrong(key, "must be at most " + std::to_string(most) + " bytes long");
    return text;
  }
  std::optional<bool> flag(const char* key) {
    const auto* value = find(key);
    if (!value) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    wrong(key, "must be true or false");
    return std::nullopt;
  }
  void wrong(const std::string& key, const std::string& what, error_code code = error_code::invalid_field) {
    if (!fault_) fault_ = coded_fault{code, at_ + "/" + key + " " + what, at_ + "/" + key};
  }
  template <class Keys>
  void only(const Keys& keys) {
    for (const auto& [key, value] : object_.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        wrong(std::string(utf8_prefix(key, 64)),
              key == "agent" ? "is not the sender's to choose: it stands in [[incoming]] of the configuration"
                             : "is not a field of a message",
              error_code::unknown_field);
  }
  const std::optional<fault>& first() const { return fault_; }

 private:
  const json& object_;
  std::string at_;
  std::optional<fault> fault_;
};

void read_author(reader& all, const json& body, incoming_message& into, std::optional<fault>& trouble) {
  const auto at = body.find("author");
  if (at == body.end() || !at->is_object()) return all.wrong("author", "must be an object with an id");
  reader author(*at, "/author");
  author.only(std::to_array<std::string_view>({"id", "name"}));
  into.author.id = author.text("id", most_id, true);
  into.author.name = author.text("name", most_name, false);
  if (into.author.id.empty()) author.wrong("id", "must not be empty");
  if (author.first()) trouble = author.first();
}

void read_voice(reader& all, incoming_message& into) {
  const auto modality = all.text("modality", 16, false);
  if (!modality.empty() && modality != "text" && modality != "voice") all.wrong("modality", "must be text or voice");
  into.is_voice = modality == "voice";
  into.is_final = all.flag("final").value_or(true);
  into.addressed = all.flag("addressed");
  if (const auto* value = all.find("confidence")) {
    const auto number = value->is_number() ? value->get<double>() : -1;
    if (number < 0 || number > 1) all.wrong("confidence", "must be a number from 0 to 1");
    into.confidence = number;
  }
  if (const auto* value = all.find("humans_present")) {
    if (value->is_number_unsigned() && value->get<std::uint64_t>() <= 1'000'000)
      into.humans_present = value->get<std::uint32_t>();
    else
      all.wrong("humans_present", "must be a count");
  }
}

void read_names(reader& all, incoming_message& into) {
  const auto* names = all.find("bot_names");
  if (!names) return;
  const bool good =
      names->is_array() && names->size() <= most_names && std::all_of(names->begin(), names->end(), [](const json& n) {
        return n.is_string() && n.get_ref<const std::string&>().size() <= most_name;
      });
  if (!good) return all.wrong("bot_names", "must be a list of at most 16 names");
  for (const auto& name : *names) into.bot_names.push_back(name.get<std::string>());
}

} // namespace

result<incoming_message> read_incoming(std::string_view text, const scope_path& base, const std::string& delivery) {
  const auto body = json::parse(text, nullptr, false);
  if (body.is_discarded()) return failure(error_code::bad_json, "the body is not JSON");
  if (!body.is_object()) return failure(error_code::bad_json, "the body must be a JSON object");
  reader all(body);
  all.only(known);
  incoming_message s;
  s.scope = base;
  if (const auto scope = all.text("scope", 512, false); !scope.empty()) {
    const auto parsed = scope_path::parse(scope);
    if (!parsed)
      all.wrong("scope", "is not a scope: " + parsed.error().detail, error_code::bad_scope);
    else if (!parsed->is_at_or_below(base))
      return failure(error_code::scope_forbidden, "scope " + scope + " lies outside " + base.text(), "/scope");
    else
      s.scope = *parsed;
  }
  s.id = all.text("id", most_id, false);
  if (s.id.empty()) s.id = delivery;
  s.text = all.text("text", most_text, true);
  std::optional<fault> trouble;
  read_author(all, body, s, trouble);
  read_voice(all, s);
  read_names(all, s);
  if (all.first()) return tl::unexpected(*all.first());
  if (trouble) return tl::unexpected(*trouble);
  return s;
}

} // namespace quell::integrations::chat
