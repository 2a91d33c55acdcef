// The row of a turn or call decides; the texts are fixed.
#include "actors/turns/endings.hpp"

#include <nlohmann/json.hpp>

#include "protocol/note.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

constexpr std::size_t most_why_bytes = 200;
constexpr std::string_view unknown_words =
    "outcome unknown: it may have had an effect or not. Look before doing it again.";

/// One line without the brackets that would end a note.
std::string plain_line(std::string_view text) {
  std::string line(utf8_prefix(text, most_why_bytes));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    if (c == '[') c = '(';
    if (c == ']') c = ')';
  }
  return line;
}

std::string words_of(const records::operation_error& error) {
  if (has_code(error, failure_code::interrupted)) return "quell was restarted while it ran";
  if (has_code(error, failure_code::timeout)) return "it ran out of its time";
  if (has_code(error, failure_code::budget)) return "its budget was used up";
  return plain_line(has_code(error, failure_code::error) ? error.message : error.code + ": " + error.message);
}

} // namespace

turn_ending ending_of(const records::operation_record& turn) {
  using how = turn_ending::how;
  const auto& hot = turn.hot;
  const auto own = hot.self_status.value_or(hot.now);
  if (own == status::completed) return {};
  if (own == status::failed) return {how::unfinished, hot.error ? words_of(*hot.error) : "it failed"};
  const bool is_stopped = own == status::cancelled || hot.now == status::cancelling || hot.stop.has_value();
  if (!is_stopped) return {how::unfinished, "it is not over yet"};
  const auto cause = hot.stop ? hot.stop->cause : stop_cause::cancel;
  if (cause == stop_cause::timeout) return {how::unfinished, "it ran out of its time"};
  if (cause == stop_cause::budget) return {how::unfinished, "its budget was used up"};
  if (cause == stop_cause::worker_lost) return {how::unfinished, "its worker was lost"};
  return {how::cancelled, {}};
}

/// Nobody heard the answer of a cancelled exchange to its end. A lost connection takes nothing back.
turn_ending ending_in_conversation(const records::operation_record& turn, const row_source& row_of) {
  auto e = ending_of(turn);
  if (e.as == turn_ending::how::unfinished || !turn.parent) return e;
  const auto above = row_of(*turn.parent);
  if (!above || !*above || (*above)->kind != kind::exchange) return e;
  const auto& stop = (*above)->hot.stop;
  if (stop && stop->cause != stop_cause::cancel) return e;
  if (ending_of(**above).as == turn_ending::how::cancelled) return turn_ending{turn_ending::how::cancelled, "unheard"};
  return e;
}

std::string ending_text(const turn_ending& ending) {
  if (ending.as == turn_ending::how::completed) return {};
  const bool is_cancelled = ending.as == turn_ending::how::cancelled;
  const json text{{"ending", {{"as", is_cancelled ? "cancelled" : "unfinished"}, {"why", ending.why}}}};
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<turn_ending> ending_in(const std::string& decision) {
  if (decision.find("\"ending\"") == std::string::npos) return std::nullopt;
  const auto all = json::parse(decision, nullptr, false);
  if (!all.is_object() || !all.contains("ending") || !all["ending"].is_object()) return std::nullopt;
  const auto& ending = all["ending"];
  return turn_ending{ending.value("as", "") == "cancelled" ? turn_ending::how::cancelled : turn_ending::how::unfinished,
                     ending.value("why", "")};
}

bool is_outcome_unknown(const records::operation_record& call) {
  const auto& hot = call.hot;
  if (!hot.started_at) return false;
  if (hot.error && has_code(*hot.error, failure_code::interrupted)) return true;
  if (!hot.stop) return false;
  if (!is_terminal(hot.now)) return true; // being stopped and not proven yet
  return hot.stop->how == receipt::unconfirmed || hot.stop->how == receipt::declared;
}

std::vector<operation_id> open_turns(const std::vector<records::kept_message>& kept, const operation_id& own,
                                     store_reader& store) {
  std::set<operation_id> open, seen{own};
  for (const auto& m : kept) {
    if (m.message.discarded || !m.message.turn || !seen.insert(*m.message.turn).second) continue;
    const auto row = store.operation(*m.message.turn);
    if (!row || !*row) continue;
    if (!is_terminal((*row)->hot.now)) open.insert(*m.message.turn);
    if (!(*row)->parent) continue;
    const auto above = store.operation(*(*row)->parent);
    if (above && *above && (*above)->kind == kind::exchange && !is_terminal((*above)->hot.now))
      open.insert((*above)->id);
  }
  return {open.begin(), open.end()};
}

history_facts facts_of(const std::vector<records::kept_message>& kept, const operation_id& own, store_reader& store,
                       const known_ends& known) {
  const auto row_of = [&](const operation_id& id) {
    auto row = store.operation(id);
    if (const auto newer = known.find(id); row && *row && newer != known.end()) (*row)->hot = newer->second;
    return row;
  };
  history_facts facts;
  for (const auto& m : kept) {
    if (m.message.discarded || !m.message.turn) continue;
    const auto& turn = *m.message.turn;
    if (auto known = ending_in(m.message.decision); known && m.message.role == records::message_role::user)
      facts.turns.insert_or_assign(turn, std::move(*known));
    else if (turn != own && !facts.turns.contains(turn))
      if (const auto row = row_of(turn); row && *row) facts.turns.emplace(turn, ending_in_conversation(**row, row_of));
    if (m.message.role != records::message_role::tool) continue;
    for (const auto& call : m.calls) {
      if (!call.outcome || call.outcome->ok) continue;
      if (const auto row = row_of(call.operation); row && *row && is_outcome_unknown(**row))
        facts.unknown.insert(call.operation);
    }
  }
  return facts;
}

std::string note_of(const turn_ending& ending, bool was_answered, bool was_cut) {
  const std::string cut = was_cut ? "The answer above was cut off. " : "";
  switch (ending.as) {
  case turn_ending::how::completed:
    return was_answered ? (was_cut ? note("The answer above was cut off.") : std::string()) : no_answer_note();
  case turn_ending::how::cancelled:
    return note(cut + "The request above was cancelled by the user: it is not to be done unless asked again. What had "
                      "been done already stays.");
  case turn_ending::how::unfinished:
    return note(cut + "The request above is unfinished: " + ending.why +
                ". If the user asks to go on, it may be continued.");
  }
  return {};
}

std::string with_unknown_outcome(const std::string& result_json) {
  auto result = json::parse(result_json, nullptr, false);
  if (result.is_object() && result.contains("outcome")) return result_json;
  if (!result.is_object()) result = {{"ok", false}, {"result", result_json}};
  auto& error = result["error"];
  if (!error.is_object()) error = json::object();
  const auto at = error.find("message");
  const auto message = at != error.end() && at->is_string() ? at->get<std::string>() + " " : std::string();
  error["message"] = message + std::string(unknown_words);
  result["outcome"] = "unknown";
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace quell::controller::turns
