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
constexpr std::array decisions{"cancel", "turn", "ignored"};

/// One line. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json standing_json(const std::optional<standing>& s) {
  return s ? ordered_json(standings[static_cast<std::size_t>(*s)]) : ordered_json();
}

} // namespace

std::string decision_json(const message_order& order, const message_answer& a) {
  ordered_json turn, cancel;
  if (a.turn && a.decision == message_answer::decided::turn)
    turn = {{"id", a.turn->text()}, {"status", std::string(name_of(a.turn_status))}, {"position", a.position}};
  if (a.cancel)
    cancel = {{"id", a.cancel->text()},     {"outcome", a.cancel_outcome},  {"status", a.cancel_status},
              {"operations", a.operations}, {"interrupted", a.interrupted}, {"durable", a.durable}};
  if (a.words_follow) cancel["words_follow"] = true;
  const bool acknowledges = a.decision == message_answer::decided::cancel;
  return json_text({{"message", a.message ? ordered_json(a.message->text()) : ordered_json()},
                    {"id", order.client_id.empty() ? ordered_json() : ordered_json(order.client_id)},
                    {"scope", order.scope.text()},
                    {"seq", a.seq},
                    {"duplicate", a.is_duplicate},
                    {"decision", decisions[static_cast<std::size_t>(a.decision)]},
                    {"why", a.why},
                    {"detected", {{"cancel_word", or_null(a.cancel_word)}, {"standing", standing_json(a.standing)}}},
                    {"turn", turn},
                    {"cancel", cancel},
                    {"acknowledgement", acknowledges ? "pending" : "none"}});
}

records::event_record decision_event(const message_order& order, const message_answer& answer) {
  records::event_record e;
  e.type = "message_decided";
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
  return a;
}

std::string kept_text(const kept_decision& d) {
  if (!d.cancel && !d.cancel_word) return {};
  ordered_json j = {{"why", d.why}, {"cancel_word", or_null(d.cancel_word)}, {"standing", standing_json(d.standing)}};
  if (d.modality == modality::voice) j["voice"] = true;
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
  d.why = string_at("why");
  if (auto word = string_at("cancel_word"); !word.empty()) d.cancel_word = std::move(word);
  for (std::size_t i = 0; i < standings.size(); ++i)
    if (string_at("standing") == standings[i]) d.standing = static_cast<standing>(i);
  if (j.contains("voice")) d.modality = modality::voice;
  if (const auto id = cancel_id::parse(string_at("cancel"))) d.cancel = *id;
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

/// A call says more than its task, and a turn is named only if nothing runs below it.
void choose_names(kept_decision& into, const std::vector<outlined>& live) {
  std::unordered_set<operation_id> roots_at_work; ///< roots below which something was named
  const auto choose = [&](const outlined& o) {
    roots_at_work.insert(o.root);
    if (into.interrupted.size() < most_named) into.interrupted.push_back(o.id);
  };
  std::unordered_set<operation_id> turns;
  for (const auto& o : live)
    if (o.kind == kind::turn) turns.insert(o.id);
  for (const auto& o : live) {
    const bool is_of_turn = turns.contains(o.root);
    if (o.kind == kind::tool_call || (o.kind == kind::sub_agent && !is_of_turn)) choose(o);
    // Operations outside of turns are named themselves.
    if ((o.kind == kind::task || o.kind == kind::external || o.kind == kind::exchange) && !is_of_turn) choose(o);
  }
  for (const auto& o : live) {
    if (o.kind != kind::turn || roots_at_work.contains(o.id)) continue;
    if (o.now == status::pending)
      ++into.queued;
    else
      choose(o);
  }
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
  if (order.text.find_first_not_of(" \t\r\n\v\f") == std::string::npos) return "empty";
  return {};
}

} // namespace quell::controller::turns
