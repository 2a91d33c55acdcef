// Neither waiting messages nor refused stops make anybody an owner.
#include "controller/commands/message_standing.hpp"

#include <algorithm>
#include <unordered_set>

#include "controller/conversations.hpp"
#include "controller/ledger.hpp"

namespace quell::controller::commands {

using turns::message_order;
using turns::standing;

namespace {

bool is_one_of(const std::vector<operation_id>& all, const operation_id& id) {
  return std::find(all.begin(), all.end(), id) != all.end();
}

/// True if the author has an operation there that an exchange has begun, an exchange that is being answered, or an
/// operation that is not an exchange: speaking alone, however often, makes nobody an owner.
bool has_more_of(const message_order& order, const context& with) {
  constexpr std::size_t most_looked_at = 1000;
  if (!order.exchange) return true;
  cancel_order look;
  look.by_token.role = role::admin;
  look.by_token.owner = order.author;
  look.by_token.token_name = look.by_token.token_id = own_token_id;
  look.target = records::target_owner{order.author.id, order.scope};
  look.mode = cancel_mode::dry_run;
  const auto view = with.operations.cancel(look, {}, with.now);
  if (!view) return false;
  const std::unordered_set<operation_id> own(view->would_stop.begin(), view->would_stop.end());
  const auto all = with.operations.actors()->outline(order.scope, most_looked_at);
  return std::any_of(all.begin(), all.end(), [&](const outlined& one) {
    if (one.now == status::pending || !own.contains(one.id) || is_one_of(order.refused_stops, one.root)) return false;
    return one.kind != kind::exchange || is_one_of(order.answered, one.id);
  });
}

bool owns_work(const message_order& order, const context& with) {
  if (!with.operations.actors()->has_live_of(order.author.id, order.scope) || !has_more_of(order, with)) return false;
  return with.talks.of(order.author.id, order.scope) != turns::conversations::ownership::was_refused;
}

} // namespace

bool is_idle_but_for(const message_order& order, const context& with) {
  const auto& local = *with.operations.actors();
  if (!order.exchange) return local.live_in(order.scope) == 0;
  const auto all = local.outline(order.scope, order.apart.size() + 2);
  return std::all_of(all.begin(), all.end(), [&](const outlined& one) {
    return one.root == *order.exchange || is_one_of(order.apart, one.root);
  });
}

standing standing_of(const message_order& order, const context& with) {
  if (order.modality == turns::modality::text) return standing::text;
  if (owns_work(order, with)) return standing::speaker_owns;
  if (order.addressed.value_or(false)) return standing::addressed;
  return order.humans_present == 1U ? standing::only_human : standing::none;
}

} // namespace quell::controller::commands
