// Groups messages by turn, in the order in which the turns were requested.
#include "actors/turns/history.hpp"

#include <algorithm>

#include "actors/turns/result_json.hpp"
#include "protocol/note.hpp"

namespace quell::controller::turns {

namespace {

struct group {
  std::optional<operation_id> turn; ///< none: a stop message and its acknowledgement
  std::vector<const records::kept_message*> messages;
  std::size_t bytes = 0;
};

std::size_t bytes_of(const records::kept_message& m) {
  std::size_t bytes = m.message.text.size();
  for (const auto& c : m.calls)
    bytes += m.message.role == records::message_role::tool ? (c.outcome ? c.outcome->result.size() : 0)
                                                           : c.name.size() + c.input.size();
  return bytes;
}

std::vector<group> groups_of(const std::vector<records::kept_message>& kept, const operation_id& last) {
  std::vector<group> groups;
  for (const auto& m : kept) {
    if (m.message.discarded) continue;
    if (!m.message.turn && m.message.role == records::message_role::user) {
      groups.push_back({std::nullopt, {&m}, bytes_of(m)});
      continue;
    }
    auto at = std::find_if(groups.rbegin(), groups.rend(), [&](const group& g) { return g.turn == m.message.turn; });
    if (at == groups.rend()) {
      // A group that does not begin with its user's message is the end of a turn whose beginning was not read.
      if (m.message.role != records::message_role::user) continue;
      groups.push_back({m.message.turn, {}, 0});
      at = groups.rbegin();
    }
    at->messages.push_back(&m);
    at->bytes += bytes_of(m);
  }
  const auto own = std::find_if(groups.begin(), groups.end(), [&](const group& g) { return g.turn == last; });
  if (own != groups.end()) groups.erase(std::next(own), groups.end());
  return groups;
}

tool_result result_of(const records::call_record& c, const history_facts& facts) {
  if (!c.outcome) return {c.call, c.name, false, false, with_unknown_outcome(json_result_texts{}.interrupted())};
  const bool is_unknown = facts.unknown.contains(c.operation);
  return {c.call, c.name, c.outcome->ok, c.outcome->cancelled,
          is_unknown ? with_unknown_outcome(c.outcome->result) : c.outcome->result};
}

/// The note after an earlier group: its ending, if that is not clear from its messages.
std::string note_behind(const group& g, const history_facts& facts) {
  const auto& last = g.messages.back()->message;
  const bool was_answered = last.role != records::message_role::user;
  if (!g.turn) return was_answered ? std::string() : note("This message stopped what was running.");
  const bool was_cut = last.role == records::message_role::assistant && last.interrupted;
  const auto known = facts.turns.find(*g.turn);
  return note_of(known == facts.turns.end() ? turn_ending{} : known->second, was_answered, was_cut);
}

assistant_message answer_of(const records::kept_message& m) {
  assistant_message a;
  a.text = m.message.text;
  a.interrupted = m.message.interrupted;
  for (const auto& c : m.calls) a.calls.push_back({c.call, c.name, c.input});
  return a;
}

void add_to(actors::turn_past& past, const records::kept_message& answer) {
  const auto& m = answer.message;
  if (!m.text.empty()) past.text += (past.text.empty() ? "" : std::string(actors::answer_separator)) + m.text;
  past.usage.input_tokens += m.usage.input_tokens;
  past.usage.output_tokens += m.usage.output_tokens;
  past.usage.cached_input_tokens += m.usage.cached_input_tokens;
  past.model_calls += 1;
  past.tool_calls += answer.calls.size();
}

} // namespace

told_history history_for(const std::vector<records::kept_message>& kept, const operation_id& turn,
                         const history_facts& facts, const history_limits& limits) {
  auto groups = groups_of(kept, turn);
  std::size_t bytes = 0;
  auto first = groups.size();
  while (first > 0 && (first == groups.size() || bytes + groups[first - 1].bytes <= limits.bytes))
    bytes += groups[--first].bytes;

  told_history told;
  for (auto g = first; g < groups.size(); ++g) {
    const bool is_own = groups[g].turn == turn;
    for (std::size_t i = 0; i < groups[g].messages.size(); ++i) {
      const auto& m = *groups[g].messages[i];
      switch (m.message.role) {
      case records::message_role::user:
        // Only quell writes notes, so a message that looks like one is quoted.
        told.messages.emplace_back(user_message{is_note(m.message.text) ? "> " + m.message.text : m.message.text});
        break;
      case records::message_role::assistant:
        if (is_own) add_to(told.past, m);
        told.messages.emplace_back(answer_of(m));
        break;
      case records::message_role::tool: {
        const bool is_last = is_own && i + 1 == groups[g].messages.size();
        const bool is_open = std::any_of(m.calls.begin(), m.calls.end(), [](const auto& c) { return !c.outcome; });
        if (is_last)
          for (const auto& c : m.calls) told.last.push_back(c.operation);
        if (is_last && is_open) {
          for (const auto& c : m.calls) {
            told.calls.push_back(c.operation);
            if (c.outcome) told.known.push_back(result_of(c, facts));
          }
          break;
        }
        tool_results results;
        for (const auto& c : m.calls) results.results.push_back(result_of(c, facts));
        told.messages.emplace_back(std::move(results));
        break;
      }
      }
    }
    if (is_own) continue;
    if (auto text = note_behind(groups[g], facts); !text.empty())
      told.messages.emplace_back(user_message{std::move(text)});
  }
  return told;
}

void put_before_message(told_history& told, const std::string& context) {
  if (context.empty()) return;
  for (auto m = told.messages.rbegin(); m != told.messages.rend(); ++m)
    if (auto* said = std::get_if<user_message>(&*m)) { // its own message: no other one follows it
      said->text = context + "\n\n" + said->text;
      return;
    }
}

} // namespace quell::controller::turns
