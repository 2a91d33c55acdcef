// The copy says which turn its message came from; the waiting turn's result says where its message went.
#include "actors/turns/steering.hpp"

#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/open_steered_call.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

constexpr std::size_t most_steering_bytes = 64 << 10; ///< of all texts that are told before one model call
constexpr std::string_view steering_begin = R"({"steered_from":)";

/// A turn and its message are created in one transaction, so their numbers are neighbours.
std::optional<records::message_record> message_of(const records::operation_record& turn, store_reader& store) {
  constexpr std::uint32_t neighbours = 20;
  records::message_filter f;
  f.scope = turn.scope;
  f.after_seq = turn.seq;
  f.limit = neighbours;
  const auto found = store.messages(f);
  if (!found) return std::nullopt;
  for (const auto& one : *found)
    if (one.message.turn == turn.id && one.message.role == records::message_role::user) return one.message;
  return std::nullopt;
}

commands::open_steered_call::steering steering_of(const operation_id& turn, const operation_id& root,
                                                  records::message_record message) {
  commands::open_steered_call::steering one;
  one.turn = *message.turn;
  one.end = end_of_taken(turn);
  one.event.type = event_type::turn_steered;
  one.event.scope = message.scope;
  one.event.operation = turn;
  one.event.root = root;
  one.event.data = json_text({{"turn", turn.text()},
                              {"from", one.turn.text()},
                              {"message", message.id.text()},
                              {"author", {{"id", message.author.id}, {"name", message.author.name}}},
                              {"text", message.text}});
  message.decision = decision_with_files(json_text({{"steered_from", one.turn.text()}}), files_in(message.decision));
  message.id = message_id::fresh();
  message.turn = turn;
  message.client_id.clear();
  message.acknowledged.reset();
  one.message = std::move(message);
  return one;
}

} // namespace

own_outcome end_of_taken(const operation_id& into) {
  own_outcome end;
  auto outcome = json::parse(completed_data({}), nullptr, false);
  outcome["steered"] = into.text();
  end.result = json_text(outcome);
  end.completed_data = end.result;
  return end;
}

std::optional<operation_id> steered_by(const std::string& block) {
  if (block.find(R"("steers")") == std::string::npos) return std::nullopt;
  const json read = json::parse(block, nullptr, false);
  if (!read.is_object() || !read.contains("steers") || !read["steers"].is_string()) return std::nullopt;
  const auto id = operation_id::parse(read["steers"].get<std::string>());
  return id ? std::optional(*id) : std::nullopt;
}

bool is_steering(const records::message_record& m) {
  return m.role == records::message_role::user && m.decision.starts_with(steering_begin);
}

records::message_record copy_of_steering(records::message_record m) {
  const json read = json::parse(m.decision, nullptr, false);
  const auto from = read.is_object() ? read.value("steered_from", "") : std::string();
  m.decision = decision_with_files(json_text({{"steered_from", from}}), files_in(m.decision));
  m.id = message_id::fresh();
  m.turn.reset();
  m.client_id.clear();
  m.acknowledged.reset();
  return m;
}

read_steering read_steering_of(const operation_id& turn, const operation_id& root,
                               const std::vector<operation_id>& waiting, store_reader& store) {
  read_steering found;
  std::size_t bytes = 0;
  for (const auto& id : waiting) {
    const auto row = store.operation(id);
    if (!row || !*row) continue;
    if ((*row)->hot.now != status::pending) {
      found.gone.push_back(id);
      continue;
    }
    auto message = message_of(**row, store);
    if (!message) continue;
    bytes += message->text.size();
    if (bytes > most_steering_bytes && !found.all.empty()) break;
    found.all.push_back(steering_of(turn, root, std::move(*message)));
  }
  return found;
}

} // namespace quell::controller::turns
