// Groups messages by turn, in the order in which the turns were requested.
#include "actors/turns/history.hpp"

#include <algorithm>

#include "actors/turns/changed_input.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/speakers.hpp"
#include "actors/turns/steering.hpp"
#include "protocol/note.hpp"

namespace quell::controller::turns {

namespace {

struct group {
  std::optional<operation_id> turn; ///< none: a stop message and its acknowledgement
  std::vector<const records::kept_message*> messages;
};

/// Without what a summary up to this seq stands for.
std::vector<group> groups_of(const std::vector<records::kept_message>& kept, const operation_id& last,
                             std::uint64_t up_to) {
  std::vector<group> groups;
  for (const auto& m : kept) {
    if (m.message.discarded || is_summary(m.message)) continue;
    const bool begins = m.message.role == records::message_role::user && !is_steering(m.message);
    if (begins && m.message.seq <= up_to) continue;
    if (!m.message.turn && m.message.role == records::message_role::user) {
      groups.push_back({std::nullopt, {&m}});
      continue;
    }
    auto at = std::find_if(groups.rbegin(), groups.rend(), [&](const group& g) { return g.turn == m.message.turn; });
    if (at == groups.rend()) {
      // A group that does not begin with its user's message is the end of a turn whose beginning was not read.
      if (!begins) continue;
      groups.push_back({m.message.turn, {}});
      at = groups.rbegin();
    }
    at->messages.push_back(&m);
  }
  const auto own = std::find_if(groups.begin(), groups.end(), [&](const group& g) { return g.turn == last; });
  if (own != groups.end()) groups.erase(std::next(own), groups.end());
  return groups;
}

tool_result known_result(const records::call_record& c, const history_facts& facts) {
  if (!c.outcome) return {c.call, c.name, false, false, with_unknown_outcome(json_result_texts{}.interrupted())};
  const bool is_unknown = facts.unknown.contains(c.operation);
  return {c.call, c.name, c.outcome->ok, c.outcome->cancelled,
          is_unknown ? with_unknown_outcome(c.outcome->result) : c.outcome->result};
}

tool_result result_of(const records::call_record& c, const history_facts& facts) {
  auto known = known_result(c, facts);
  if (const auto at = facts.printed.find(c.operation); at != facts.printed.end())
    known.result = with_printed(known.result, at->second);
  if (const auto input = changed_input(c.changed)) known.result = with_changed_input(known.result, *input);
  return known;
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

/// The final answer of a turn whose exchange was cancelled. Calls before it stay: what they did, they did.
bool is_unheard_answer(const records::kept_message& m, const group& g, const history_facts& facts) {
  const auto known = g.turn ? facts.turns.find(*g.turn) : facts.turns.end();
  return known != facts.turns.end() && known->second.as == turn_ending::how::cancelled && !known->second.why.empty() &&
         m.calls.empty();
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
  past.model_calls += 1;
  past.tool_calls += answer.calls.size();
  past.was_cut = m.interrupted;
}

} // namespace

model_history history_for(const std::vector<records::kept_message>& kept, const operation_id& turn,
                          const history_facts& facts, std::uint64_t gap_behind) {
  const auto mark = std::find_if(kept.rbegin(), kept.rend(), [](const auto& m) { return is_summary(m.message); });
  const auto summary = mark == kept.rend() ? conversation_summary{} : summary_of(mark->message);
  const auto groups = groups_of(kept, turn, summary.up_to);
  const speakers people(kept);
  model_history for_model;
  for_model.people = people.people();
  const auto gap = [&for_model](std::uint64_t begins_at) {
    for_model.messages.emplace_back(
        user_message{note("Many messages of this conversation came here; they are left out.")});
    for_model.begins.push_back(begins_at);
  };
  if (mark != kept.rend() && !summary.is_clear()) {
    for_model.messages.emplace_back(user_message{summary_note(summary)});
    for_model.begins.push_back(0);
    for_model.summary = summary;
  }
  if (mark != kept.rend() && gap_behind > 0) gap(summary.up_to);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const bool is_own = groups[g].turn == turn;
    const auto begins_at = groups[g].messages.front()->message.seq;
    auto covered = groups[g].turn && groups[g].turn == summary.turn ? summary.rounds : 0;
    bool is_covered = false;
    if (gap_behind > 0 && begins_at > gap_behind && g > 0 && groups[g - 1].messages.front()->message.seq <= gap_behind)
      gap(begins_at);
    for (std::size_t i = 0; i < groups[g].messages.size(); ++i) {
      const auto& m = *groups[g].messages[i];
      if (m.message.role == records::message_role::assistant) is_covered = covered > 0 && covered-- > 0;
      if (is_covered && m.message.role != records::message_role::user) {
        if (is_own && m.message.role == records::message_role::assistant) add_to(for_model.past, m);
        continue;
      }
      switch (m.message.role) {
      case records::message_role::user:
        if (is_own && i == 0) for_model.own = for_model.messages.size();
        for_model.messages.emplace_back(
            user_message{people.text_of(m.message), files_in(m.message.decision), is_steering(m.message)});
        break;
      case records::message_role::assistant:
        if (is_own) add_to(for_model.past, m);
        if (!is_own && is_unheard_answer(m, groups[g], facts)) break;
        for_model.messages.emplace_back(answer_of(m));
        break;
      case records::message_role::tool: {
        const bool is_last = is_own && i + 1 == groups[g].messages.size();
        const bool is_open = std::any_of(m.calls.begin(), m.calls.end(), [](const auto& c) { return !c.outcome; });
        if (is_last)
          for (const auto& c : m.calls) for_model.last.push_back(c.operation);
        if (is_last && is_open) {
          for (const auto& c : m.calls) {
            for_model.calls.push_back(c.operation);
            if (c.outcome) for_model.known.push_back(result_of(c, facts));
          }
          break;
        }
        tool_results results;
        for (const auto& c : m.calls) results.results.push_back(result_of(c, facts));
        for_model.messages.emplace_back(std::move(results));
        break;
      }
      }
    }
    if (!is_own)
      if (auto text = note_behind(groups[g], facts); !text.empty())
        for_model.messages.emplace_back(user_message{std::move(text)});
    for_model.begins.resize(for_model.messages.size(), begins_at);
  }
  return for_model;
}

std::string text_for_model(const std::string& text) { return is_note(text) ? "> " + text : text; }

void put_before_message(model_history& for_model, const std::string& context) {
  if (context.empty() || for_model.own >= for_model.messages.size()) return;
  if (auto* own_message = std::get_if<user_message>(&for_model.messages[for_model.own]))
    own_message->text = context + "\n\n" + own_message->text;
}

void put_note_before_message(model_history& for_model, const std::string& note) {
  if (note.empty() || for_model.own >= for_model.messages.size()) return;
  const auto at = static_cast<std::ptrdiff_t>(for_model.own);
  for_model.messages.insert(for_model.messages.begin() + at, user_message{note});
  if (const auto place = static_cast<std::size_t>(at); place < for_model.begins.size())
    for_model.begins.insert(for_model.begins.begin() + at, for_model.begins[place]);
  ++for_model.own;
}

} // namespace quell::controller::turns
