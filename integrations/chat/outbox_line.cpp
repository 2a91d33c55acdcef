// Shows people that their turn waits, as a reaction or as a line with the number of turns ahead, and takes that back
// when the turn begins or ends.
#include <algorithm>

#include "integrations/chat/outbox_state.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::size_t most_shown = 64;   ///< waits that are shown in one place and taken back
constexpr milliseconds short_wait{2000}; ///< for a model; it is not shown

} // namespace

void outbox::outbox_state::show_wait(place& in, const operation_id& turn, std::uint32_t ahead, std::string service_id) {
  const bool is_kept = rules.can_take_back && in.line.size() < most_shown;
  const bool can_react = rules.can_react && !service_id.empty();
  const bool has_line = is_kept && rules.can_edit && rules.shows_place && ahead > 1;
  if (is_kept) in.line.push_back({turn, ahead});
  if (can_react) {
    part p;
    p.what = part_kind::queued;
    p.turn = turn;
    p.text = rules.words.queued;
    p.message = service_id;
    p.is_until_begun = is_kept;
    if (!p.text.empty()) add(in, std::move(p));
  }
  if ((can_react && !has_line) || rules.words.in_line.empty()) return;
  part p;
  p.what = has_line ? part_kind::in_line : part_kind::note;
  p.turn = turn;
  p.text = one_message(rules.words.in_line + std::to_string(ahead) + ".");
  p.reply_to = std::move(service_id);
  p.is_until_begun = has_line;
  add(in, std::move(p));
}

void outbox::outbox_state::take_back_wait(place& in, const operation_id& turn) {
  for (auto p = in.parts.begin(); p != in.parts.end();) {
    const auto here = p++;
    const bool waits = here->what == part_kind::queued || here->what == part_kind::in_line ||
                       (here->what == part_kind::note && !here->is_posted);
    if (!waits || here->turn != turn) continue;
    here->is_over = here->is_until_begun;
    if (!here->is_posted && !is_flying(in, here)) in.parts.erase(here);
  }
}

void outbox::outbox_state::begin_turn(place& in, const operation_id& turn) {
  take_back_wait(in, turn);
  const auto at = std::find_if(in.line.begin(), in.line.end(), [&](const waiting_turn& w) { return w.turn == turn; });
  if (at == in.line.end()) return;
  for (auto before = in.line.begin(); before != at; ++before) take_back_wait(in, before->turn);
  in.line.erase(in.line.begin(), std::next(at));
  std::uint32_t ahead = 0;
  for (auto& waiting : in.line) waiting.ahead = ++ahead; // the one that runs, and those in between
  number_line(in);
}

void outbox::outbox_state::leave_line(place& in, const operation_id& turn) {
  const auto at = std::find_if(in.line.begin(), in.line.end(), [&](const waiting_turn& w) { return w.turn == turn; });
  if (at == in.line.end()) return;
  take_back_wait(in, turn);
  for (auto behind = std::next(at); behind != in.line.end(); ++behind)
    if (behind->ahead > 1) --behind->ahead;
  in.line.erase(at);
  number_line(in);
}

void outbox::outbox_state::number_line(place& in) {
  for (auto& p : in.parts) {
    if (p.what != part_kind::in_line || p.is_over) continue;
    for (const auto& waiting : in.line)
      if (waiting.turn == p.turn && waiting.ahead > 0)
        p.text = one_message(rules.words.in_line + std::to_string(waiting.ahead) + ".");
  }
}

void outbox::outbox_state::show_model_wait(place& in, const operation_id& turn, reply& r, boot_time now) {
  const bool is_silent = !r.is_over && !r.has_part && !r.waits_for_model;
  if (!is_silent || !rules.can_react || !rules.can_take_back || r.reply_to.empty() || rules.words.queued.empty())
    return;
  r.waits_for_model = true;
  part p;
  p.what = part_kind::queued;
  p.turn = turn;
  p.text = rules.words.queued;
  p.message = r.reply_to;
  p.is_until_begun = true;
  p.not_before = now + short_wait;
  add(in, std::move(p));
}

void outbox::outbox_state::end_model_wait(const operation_id& turn) {
  const auto found = replies.find(turn);
  if (found == replies.end() || !std::exchange(found->second.waits_for_model, false)) return;
  if (const auto at = places.find(found->second.scope); at != places.end()) take_back_wait(at->second, turn);
}

} // namespace quell::integrations::chat
