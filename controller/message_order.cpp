// The JSON of decisions, for clients and for the store.
#include "controller/message_order.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace quell::controller::turns {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array standings{"text", "speaker_owns", "addressed", "only_human", "none"};
constexpr std::array during_turn_names{"queue", "steer", "supersede"};
constexpr std::array decisions{"cancel", "turn", "ignored"};

ordered_json met_json(const message_answer& a) {
  if (!a.met || a.decision != message_answer::decided::turn) return {};
  ordered_json met = {{"manner", during_turn_names[static_cast<std::size_t>(a.during)]}, {"turn", a.met->text()}};
  if (a.cancel) met["cancel"] = {{"id", a.cancel->text()}, {"outcome", a.cancel_outcome}, {"operations", a.operations}};
  return met;
}

/// One line. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

constexpr const char* files_member = "files"; // of a stored decision
constexpr const char* origin_member = "edits";

ordered_json files_json(const attachments& files) {
  auto list = ordered_json::array();
  for (const auto& f : files) {
    list.push_back({{"blob", f.blob}, {"name", f.name}, {"type", f.type}, {"bytes", f.bytes}});
    if (f.comes_later) list.back()["comes_later"] = true;
  }
  return list;
}

ordered_json standing_json(const std::optional<standing>& s) {
  return s ? ordered_json(standings[static_cast<std::size_t>(*s)]) : ordered_json();
}

} // namespace

std::string decision_json(const message_order& order, const message_answer& a) {
  ordered_json turn, cancel;
  if (a.turn && a.decision == message_answer::decided::turn)
    turn = {{"id", a.turn->text()}, {"status", std::string(name_of(a.turn_status))}, {"position", a.position}};
  if (a.cancel && a.decision == message_answer::decided::cancel)
    cancel = {{"id", a.cancel->text()},     {"outcome", a.cancel_outcome},  {"status", a.cancel_status},
              {"operations", a.operations}, {"interrupted", a.interrupted}, {"durable", a.durable}};
  if (a.words_follow) cancel["words_follow"] = true;
  const bool acknowledges = a.decision == message_answer::decided::cancel;
  ordered_json decision = {
      {"message", a.message ? ordered_json(a.message->text()) : ordered_json()},
      {"id", order.client_id.empty() ? ordered_json() : ordered_json(order.client_id)},
      {"scope", order.scope.text()},
      {"seq", a.seq},
      {"duplicate", a.is_duplicate},
      {"decision", decisions[static_cast<std::size_t>(a.decision)]},
      {"why", a.why},
      {"detected", {{"cancel_word", or_null(a.cancel_word)}, {"standing", standing_json(a.standing)}}},
      {"turn", turn},
      {"cancel", cancel},
      {"acknowledgement", acknowledges ? "pending" : "none"}};
  if (auto met = met_json(a); !met.is_null()) decision["during_turn"] = std::move(met);
  return json_text(decision);
}

records::event_record decision_event(const message_order& order, const message_answer& answer) {
  records::event_record e;
  e.type = event_type::message_decided;
  e.scope = order.scope;
  e.cancel = answer.cancel;
  e.data = decision_json(order, answer);
  return e;
}

message_answer answer_of(const kept_decision& kept, const message_id& message,
                         const std::optional<operation_id>& turn) {
  message_answer a;
  a.decision = kept.cancel ? message_answer::decided::cancel : message_answer::decided::turn;
  a.why = kept.why;
  a.message = message;
  a.cancel_word = kept.cancel_word;
  a.standing = kept.standing;
  a.turn = turn;
  a.cancel = kept.cancel;
  a.cancel_outcome = kept.cancel_outcome;
  a.cancel_status = kept.cancel_status;
  a.operations = kept.operations;
  a.during = kept.during;
  a.met = kept.met;
  if (kept.supersedes_by) a.cancel = kept.supersedes_by;
  return a;
}

std::string kept_text(const kept_decision& d) {
  if (!d.cancel && !d.cancel_word && !d.met && d.files.empty()) return {};
  ordered_json j = {{"why", d.why}, {"cancel_word", or_null(d.cancel_word)}, {"standing", standing_json(d.standing)}};
  if (d.modality == modality::voice) j["voice"] = true;
  if (d.met) j["during"] = {{"manner", during_turn_names[static_cast<std::size_t>(d.during)]}, {"turn", d.met->text()}};
  if (d.supersedes_by) {
    j["supersedes_by"] = d.supersedes_by->text();
    j["outcome"] = d.cancel_outcome;
    j["operations"] = d.operations;
  }
  if (!d.files.empty()) j[files_member] = files_json(d.files);
  if (d.cancel) {
    j["cancel"] = d.cancel->text();
    j["outcome"] = d.cancel_outcome;
    j["status"] = d.cancel_status;
    j["operations"] = d.operations;
    j["queued"] = d.queued;
    auto& ids = j["interrupted"] = json::array();
    for (const auto& id : d.interrupted) ids.push_back(id.text());
  }
  return json_text(j);
}

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

static std::string decision_with(const std::string& decision, const char* member, ordered_json value) {
  auto all = ordered_json::parse(decision, nullptr, false);
  if (!all.is_object()) all = ordered_json::object();
  all[member] = std::move(value);
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string decision_with_files(const std::string& decision, const attachments& files) {
  return files.empty() ? decision : decision_with(decision, files_member, files_json(files));
}

std::string decision_with_origin(const std::string& decision, const operation_id& turn) {
  return decision_with(decision, origin_member, turn.text());
}

std::optional<operation_id> origin_in(const std::string& decision) {
  const auto all = json::parse(decision, nullptr, false);
  const auto at = all.is_object() ? all.find(origin_member) : all.end();
  if (!all.is_object() || at == all.end() || !at->is_string()) return std::nullopt;
  const auto id = operation_id::parse(at->get<std::string>());
  return id ? std::optional(*id) : std::nullopt;
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
  for (std::size_t i = 0; i < standings.size(); ++i)
    if (string_at("standing") == standings[i]) d.standing = static_cast<standing>(i);
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

std::optional<during_turn> during_turn_named(std::string_view name) {
  const auto at = std::find(during_turn_names.begin(), during_turn_names.end(), name);
  if (at == during_turn_names.end()) return std::nullopt;
  return static_cast<during_turn>(at - during_turn_names.begin());
}

std::string with_steered(const std::string& block, const operation_id& turn) {
  auto all = json::parse(block, nullptr, false);
  if (!all.is_object()) all = json::object();
  all["steers"] = turn.text();
  return json_text(all);
}

/// A call says more than its task. A turn is named only if nothing runs below it, and so is a voice exchange, which
/// counts as one with its turn.
void choose_names(kept_decision& into, const std::vector<outlined>& live) {
  std::unordered_set<operation_id> roots_at_work; ///< roots below which something was named
  const auto choose = [&](const outlined& o) {
    roots_at_work.insert(o.root);
    if (into.interrupted.size() < most_named) into.interrupted.push_back(o.id);
  };
  std::unordered_set<operation_id> turns, exchanges;
  for (const auto& o : live) {
    if (o.kind == kind::turn) turns.insert(o.id);
    if (o.kind == kind::exchange) exchanges.insert(o.id);
  }
  for (const auto& o : live) {
    const bool is_of_turn = turns.contains(o.root) || exchanges.contains(o.root);
    if (o.kind == kind::tool_call || (o.kind == kind::sub_agent && !is_of_turn)) choose(o);
    // Operations outside of turns are named themselves.
    if ((o.kind == kind::task || o.kind == kind::external) && !is_of_turn) choose(o);
  }
  for (const auto& o : live) {
    const auto& whole = exchanges.contains(o.root) ? o.root : o.id;
    if (o.kind != kind::turn || roots_at_work.contains(whole)) continue;
    if (o.now != status::pending) {
      choose(o);
      continue;
    }
    ++into.queued;
    roots_at_work.insert(whole);
  }
  for (const auto& o : live)
    if (o.kind == kind::exchange && !roots_at_work.contains(o.id)) choose(o);
}

bool is_refused_stop(const operation_id& turn, const std::vector<records::kept_message>& kept) {
  return std::any_of(kept.begin(), kept.end(), [&](const records::kept_message& k) {
    return k.message.turn == turn && k.message.role == records::message_role::user &&
           read_kept(k.message.decision).standing == standing::none;
  });
}

std::string why_ignored(const message_order& order, double least_confidence) {
  if (!order.is_final) return "not_final";
  const bool is_voice = order.modality == modality::voice;
  if (is_voice && order.confidence && *order.confidence < least_confidence) return "low_confidence";
  if (order.files.empty() && order.text.find_first_not_of(" \t\r\n\v\f") == std::string::npos) return "empty";
  return {};
}

} // namespace quell::controller::turns
