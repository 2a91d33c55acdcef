// A turn that is being stopped is told nothing any more, so it is not met either.
#include "controller/commands/running_turn.hpp"

#include "controller/commands/message_standing.hpp"
#include "controller/conversations.hpp"
#include "controller/ledger.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::commands {

using turns::during_turn;

namespace {

/// The field of the message that only a turn of its own can have; "" = none.
std::string unheard_by(const turns::begun_turn& running, const turns::message_order& order) {
  if (order.agent && !running.agent.empty() && *order.agent != running.agent) return "agent";
  if (!order.labels.empty()) return "labels";
  if (order.timeout) return "timeout_ms";
  if (order.budget) return "budget";
  if (order.model) return "model";
  if (order.tools) return "tools";
  return order.parent ? "parent" : "";
}

} // namespace

turns::brought_by way_of(const turns::message_order& order) {
  return order.by.role == role::chat || order.was_by_chat ? turns::brought_by::chat : turns::brought_by::person;
}

met_turn meet_running_turn(const turns::message_order& order, const context& with) {
  const auto manner = order.during.value_or(during_turn::queue);
  const auto running = with.talks.running(order.scope);
  if (manner == during_turn::queue || !running || order.exchange) return {};
  const auto view = with.operations.view(running->turn, with.now);
  if (!view || view->hot.now == status::cancelling) return {}; // it is being stopped: nothing is told to it any more
  if (manner == during_turn::steer) {
    if (running->owner != order.author.id) return {};
    // A chat only names its people, and the commands of a turn that no chat began ask nobody.
    if (way_of(order) == turns::brought_by::chat && running->way != turns::brought_by::chat) return {};
    auto unheard = unheard_by(*running, order);
    if (unheard.empty()) return {manner, running->turn, false};
    if (order.is_during_default) return {}; // a turn of its own gives it what it asks for
    return {during_turn::queue, std::nullopt, false, std::move(unheard)};
  }
  if (standing_of(order, with) == turns::standing::none) return {during_turn::queue, std::nullopt, true};
  return {manner, running->turn, false};
}

cancel_order superseding(const turns::message_order& order, const operation_id& turn, boot_time received) {
  constexpr std::size_t reason_bytes = 200;
  cancel_order c;
  c.by_token = order.by;
  c.target = records::target_operation{turn};
  c.reason = std::string(utf8_prefix(order.text, reason_bytes));
  c.by = order.author;
  c.via_channel = order.via_channel;
  c.received = received;
  return c;
}

} // namespace quell::controller::commands
