// Reads stored decisions as JSON; a text that is not an object says nothing.
#include "actors/turns/kept_decision.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace quell::controller::turns {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* files_member = "files"; // as `kept_text` writes it
constexpr const char* origin_member = "edits";
constexpr const char* copied_member = "copies";

std::string decision_with(const std::string& decision, const char* member, ordered_json value) {
  auto all = ordered_json::parse(decision, nullptr, false);
  if (!all.is_object()) all = ordered_json::object();
  all[member] = std::move(value);
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::optional<operation_id> turn_in(const std::string& decision, const char* member) {
  const auto all = json::parse(decision, nullptr, false);
  const auto at = all.is_object() ? all.find(member) : all.end();
  if (!all.is_object() || at == all.end() || !at->is_string()) return std::nullopt;
  const auto id = operation_id::parse(at->get<std::string>());
  return id ? std::optional(*id) : std::nullopt;
}

} // namespace

attachments files_in(const std::string& decision) {
  attachments files;
  if (decision.find(files_member) == std::string::npos) return files;
  const auto all = json::parse(decision, nullptr, false);
  const auto list = all.is_object() ? all.find(files_member) : all.end();
  if (!all.is_object() || list == all.end() || !list->is_array()) return files;
  for (const auto& one : *list) {
    if (!one.is_object() || files.size() >= most_attachments) continue;
    const auto text = [&](const char* key) {
      const auto at = one.find(key);
      return at != one.end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    const auto bytes = one.find("bytes");
    files.push_back({text("blob"), text("name"), text("type"),
                     bytes != one.end() && bytes->is_number_unsigned() ? bytes->get<std::uint64_t>() : 0});
    files.back().comes_later = one.contains("comes_later");
  }
  return files;
}

std::string decision_with_files(const std::string& decision, const attachments& files) {
  return files.empty() ? decision : decision_with(decision, files_member, ordered_json::parse(files_text(files)));
}

std::string decision_with_origin(const std::string& decision, const operation_id& turn) {
  return decision_with(decision, origin_member, turn.text());
}

std::optional<operation_id> origin_in(const std::string& decision) { return turn_in(decision, origin_member); }

std::string decision_of_copy(const std::string& decision, const operation_id& turn) {
  return decision_with(decision, copied_member, turn.text());
}

std::optional<operation_id> turn_that_brought(const records::message_record& m) {
  if (const auto copied = turn_in(m.decision, copied_member)) return copied;
  if (const auto edited = origin_in(m.decision)) return edited;
  return m.turn;
}

kept_decision read_kept(const std::string& text) {
  kept_decision d;
  d.why = "no_cancel_word";
  const auto j = json::parse(text, nullptr, false);
  if (!j.is_object()) return d;
  const auto string_at = [&](const char* key) {
    const auto at = j.find(key);
    return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const auto count_at = [&](const char* key) {
    const auto at = j.find(key);
    return at != j.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
  };
  if (auto why = string_at("why"); !why.empty()) d.why = std::move(why);
  if (auto word = string_at("cancel_word"); !word.empty()) d.cancel_word = std::move(word);
  d.standing = standing_named(string_at("standing"));
  if (j.contains("voice")) d.modality = modality::voice;
  d.files = files_in(text);
  if (const auto id = cancel_id::parse(string_at("cancel"))) d.cancel = *id;
  if (const auto id = cancel_id::parse(string_at("supersedes_by"))) d.supersedes_by = *id;
  if (const auto met = j.find("during"); met != j.end() && met->is_object()) {
    d.during = during_turn_named(met->value("manner", "")).value_or(during_turn::queue);
    if (const auto id = operation_id::parse(met->value("turn", ""))) d.met = *id;
  }
  d.cancel_outcome = string_at("outcome");
  d.cancel_status = string_at("status");
  d.operations = count_at("operations");
  d.queued = count_at("queued");
  if (const auto ids = j.find("interrupted"); ids != j.end() && ids->is_array())
    for (const auto& one : *ids)
      if (one.is_string())
        if (const auto id = operation_id::parse(one.get<std::string>())) d.interrupted.push_back(*id);
  return d;
}

bool is_refused_stop(const operation_id& turn, const std::vector<records::kept_message>& kept) {
  return std::any_of(kept.begin(), kept.end(), [&](const records::kept_message& k) {
    return k.message.turn == turn && k.message.role == records::message_role::user &&
           read_kept(k.message.decision).standing == standing::none;
  });
}

} // namespace quell::controller::turns
