// Counts from the newest message backwards.
#include "actors/turns/compaction.hpp"

#include <algorithm>

#include "actors/turns/context_fit.hpp"
#include "protocol/note.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t tokens_of_trimmed = 120; ///< about what a trimmed result takes

/// With its results trimmed: how they are sent when they do not fit.
std::size_t tokens_if_trimmed(const conversation_entry& entry) {
  const auto* results = std::get_if<tool_results>(&entry);
  if (!results) return tokens_of(entry);
  std::size_t tokens = 0;
  for (const auto& one : results->results)
    tokens += std::min(tokens_of(tool_results{{one}}), tokens_of(tool_results{}) + tokens_of_trimmed);
  return tokens;
}

/// The first of the newest exchanges before `end` that together take at most `room`.
std::size_t first_kept(const conversation& all, std::size_t begin, std::size_t end, std::size_t room) {
  std::size_t kept = end, used = 0;
  for (std::size_t i = end; i > begin; --i) {
    used += tokens_if_trimmed(all[i - 1]);
    if (used > room) break;
    if (begins_exchange(all[i - 1])) kept = i - 1;
  }
  return kept;
}

/// The first of the turn's newest rounds that together take at most `room`; always the last one.
std::size_t first_round(const conversation& all, std::size_t own, std::size_t room) {
  std::size_t kept = all.size(), used = 0;
  for (std::size_t i = all.size(); i > own + 1; --i) {
    used += tokens_if_trimmed(all[i - 1]);
    const bool begins_round = std::holds_alternative<assistant_message>(all[i - 1]);
    if (begins_round && (used <= room || kept == all.size())) kept = i - 1;
    if (used > room && kept < all.size()) break;
  }
  return kept == all.size() ? own + 1 : kept;
}

/// The begin of an exchange with the notes before its request, which belong to it.
std::size_t with_notes(const placed_conversation& all, std::size_t at, std::size_t begin) {
  while (at > begin && at < all.begins.size() && all.begins[at - 1] == all.begins[at]) --at;
  return at;
}

std::size_t tokens_between(const conversation& all, std::size_t begin, std::size_t end) {
  std::size_t used = 0;
  for (auto i = begin; i < end; ++i) used += tokens_if_trimmed(all[i]);
  return used;
}

/// The text for the summarising model: everything, or the beginning and as much of the rest as fits.
conversation readable(const conversation& all, std::size_t end, std::size_t room, std::uint64_t& unread) {
  conversation part(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(end));
  std::size_t head = 1;
  while (head < end && !begins_exchange(part[head])) ++head;
  const auto first = tokens_between(part, 0, head);
  if (estimated_tokens(part) <= room || head == end || first > room / 3) {
    auto fit = fit_into(std::move(part), room);
    unread += fit.left_out;
    return std::move(fit.messages);
  }
  const auto cut = part.begin() + static_cast<std::ptrdiff_t>(head);
  auto fit = fit_into(conversation(cut, part.end()), room - first);
  unread += fit.left_out;
  part.erase(cut, part.end());
  part.insert(part.end(), fit.messages.begin(), fit.messages.end());
  return part;
}

std::uint64_t messages_in(const conversation& all, std::size_t begin, std::size_t end) {
  return static_cast<std::uint64_t>(std::count_if(
      all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end),
      [](const auto& entry) { return !std::holds_alternative<user_message>(entry) || begins_exchange(entry); }));
}

} // namespace

std::optional<compaction> plan_compaction(const placed_conversation& all, std::size_t room, std::size_t reading_room) {
  const auto& messages = all.messages;
  const std::size_t begin = all.before ? 1 : 0;
  const std::size_t own = all.turn ? own_begin(messages) : messages.size();
  const std::size_t newest = with_notes(all, std::max(begin, own_begin(messages)), begin);
  const std::size_t end = all.turn ? newest : own;
  compaction plan;
  const auto own_tokens = tokens_between(messages, end, messages.size());
  plan.rest = own_tokens >= room / 2 ? end : first_kept(messages, begin, end, room / 2 - own_tokens);
  // An idle conversation keeps its newest exchange.
  if (!all.turn) plan.rest = tokens_between(messages, newest, own) <= room / 4 ? newest : own;
  std::size_t round = own + 1;
  if (all.turn && own_tokens > room / 2)
    round = first_round(messages, own, room / 2 - std::min(room / 2, tokens_of(messages[own])));
  if (round > own + 1) plan.own = own, plan.rest = round;
  if (plan.rest <= begin) return std::nullopt;

  auto& summary = plan.summary;
  if (all.before) {
    summary = *all.before;
    summary.text.clear();
    if (summary.turn != all.turn || !all.turn) summary.turn.reset(), summary.rounds = 0;
  }
  summary.people = all.people;
  const std::size_t covered = std::min(plan.rest, own);
  // Notes before a request have its seq, and can be covered without it.
  const auto first_left = covered < all.begins.size() ? all.begins[covered] : std::uint64_t{0};
  for (std::size_t i = 0; i < std::min(covered, all.begins.size()); ++i)
    if (first_left == 0 || all.begins[i] < first_left) summary.up_to = std::max(summary.up_to, all.begins[i]);
  summary.messages += messages_in(messages, begin, covered);
  if (plan.own) {
    const auto rounds = std::count_if(
        messages.begin() + static_cast<std::ptrdiff_t>(own), messages.begin() + static_cast<std::ptrdiff_t>(plan.rest),
        [](const auto& entry) { return std::holds_alternative<assistant_message>(entry); });
    summary.turn = all.turn;
    summary.rounds += static_cast<std::uint32_t>(rounds);
    summary.messages += messages_in(messages, own + 1, plan.rest);
  }
  keep_cancelled(summary, conversation(messages.begin() + static_cast<std::ptrdiff_t>(begin),
                                       messages.begin() + static_cast<std::ptrdiff_t>(covered)));
  plan.to_read = readable(messages, plan.rest, reading_room, summary.unread);
  return plan;
}

placed_conversation compacted(const placed_conversation& all, const compaction& plan, conversation_summary summary) {
  placed_conversation now;
  now.turn = all.turn;
  now.people = all.people;
  now.messages.emplace_back(user_message{summary_note(summary)});
  now.begins.push_back(0);
  if (plan.own) {
    now.messages.push_back(all.messages[*plan.own]);
    now.begins.push_back(*plan.own < all.begins.size() ? all.begins[*plan.own] : 0);
  }
  now.messages.insert(now.messages.end(), all.messages.begin() + static_cast<std::ptrdiff_t>(plan.rest),
                      all.messages.end());
  if (plan.rest < all.begins.size())
    now.begins.insert(now.begins.end(), all.begins.begin() + static_cast<std::ptrdiff_t>(plan.rest), all.begins.end());
  now.before = std::move(summary);
  return now;
}

} // namespace quell::controller::turns
