// A turn that is being stopped is told nothing any more, so it is not met either.
#include "controller/commands/running_turn.hpp"

#include "controller/commands/message_standing.hpp"
#include "controller/conversations.hpp"
#include "controller/ledger.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::commands {

using turns::during_turn;

met_turn meet_running_turn(const turns::message_order& order, const context& with) {
  const auto manner = order.during.value_or(during_turn::queue);
  const auto running = with.talks.running(order.scope);
  if (manner == during_turn::queue || !running || order.exchange) return {};
  const auto view = with.operations.view(running->turn, with.now);
  if (!view || view->hot.now == status::cancelling) return {}; // it is being stopped: nothing is told to it any more
  if (manner == during_turn::steer)
    return running->owner == order.author.id ? met_turn{manner, running->turn, false} : met_turn{};
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
