// Positions in sent text count code points from the beginning of the turn, over all its answers.
#include "actors/turns/partial_text.hpp"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "actors/turns/summary.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/keep_message.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::size_t most_text_bytes = 1 << 20;

result<std::uint64_t> stored_code_points(store_reader& store, const records::operation_record& turn) {
  records::message_filter f;
  f.scope = turn.scope;
  if (turn.kind == kind::sub_agent) f.aside_of = turn.id;
  f.after_seq = turn.seq;
  f.limit = 500;
  std::uint64_t count = 0;
  const auto add = [&count](const std::string& text) {
    if (!text.empty()) count += code_points(text) + (count == 0 ? 0 : code_points(actors::answer_separator));
  };
  while (true) {
    const auto page = store.messages(f);
    if (!page) return tl::unexpected(page.error());
    for (const auto& m : *page)
      if (m.message.turn == turn.id && m.message.role == records::message_role::assistant && !is_summary(m.message))
        add(m.message.text);
    if (page->size() < f.limit) return count;
    f.after_seq = page->back().message.seq;
  }
}

} // namespace

result<std::string> text_left_of(store_reader& store, const records::operation_record& turn) {
  const auto stored = stored_code_points(store, turn);
  if (!stored) return tl::unexpected(stored.error());
  records::event_filter f;
  f.below = turn.id;
  f.types = {event_type::text_delta, event_type::turn_resumed};
  std::string left;
  std::uint64_t known = *stored;
  while (left.size() < most_text_bytes) {
    const auto page = store.events(f);
    if (!page) return tl::unexpected(page.error());
    for (const auto& e : *page) {
      if (e.operation != turn.id) continue; // of a sub-agent
      const auto data = nlohmann::json::parse(e.data, nullptr, false);
      if (!data.is_object()) continue;
      const auto offset = data.value("offset", std::uint64_t{0});
      if (e.type == event_type::turn_resumed) { // what came behind it was replaced
        left.clear();
        known = std::max(*stored, offset);
        continue;
      }
      const auto text = data.value("text", std::string{});
      const auto end = offset + code_points(text);
      if (end <= known) continue;
      left += without_characters(text, known > offset ? known - offset : 0);
      known = end;
    }
    if (page->size() < f.limit) break;
    f.after = page->back().id;
  }
  if (*stored > 0 && left.starts_with(actors::answer_separator)) left.erase(0, actors::answer_separator.size());
  return std::string(utf8_prefix(left, most_text_bytes));
}

void recover_partial_text(const agent_runtime& runtime, const operation_id& turn, store_reader& store) {
  const auto row = store.operation(turn);
  if (!row || !*row) return;
  const auto partial = text_left_of(store, **row);
  if (!partial) return spdlog::error("what {} had said is not kept: {}", turn.text(), partial.error().detail);
  if (partial->empty()) return;
  records::message_record m;
  m.id = message_id::fresh();
  m.scope = (*row)->scope;
  m.role = records::message_role::assistant;
  m.turn = turn;
  m.aside = (*row)->kind == kind::sub_agent;
  m.text = *partial;
  m.interrupted = true;
  runtime.core.execute({commands::keep_message{std::move(m)}, {}});
}

void recover_texts(const agent_runtime& runtime, const operation_id& turn, store_reader& store) {
  records::operation_filter f;
  f.below = turn;
  f.kinds = {kind::sub_agent};
  f.limit = 1'000;
  recover_partial_text(runtime, turn, store);
  const auto below = store.operations(f);
  if (!below) return;
  for (const auto& row : *below) recover_partial_text(runtime, row.id, store);
}

} // namespace quell::controller::turns
