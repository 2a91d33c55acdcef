// Random steps of turns around model calls, stops and background tasks. `below(n)` draws a number below n.
#pragma once

#include <string>
#include <utility>

#include "tests/controller/commands/drawn_history.hpp"

namespace quell::controller::core_tests {

inline used_by_call drawn_use(const drawing& below, const scope_path& scope) {
  used_by_call used{scope, below(2) == 0 ? "ada" : "bob", "main", "m", {}};
  if (below(4) > 0) used.usage = {below(256), below(256)};
  if (below(2) == 0) used.usage.cost_nanos = below(1000);
  return used;
}

inline commands::open_model_call drawn_model_call(const drawing& below, commands::create_local call,
                                                  const operation_id& turn) {
  commands::open_model_call what;
  what.id = call.id;
  what.order = std::move(call.order);
  what.turn = turn;
  if (below(2) == 0) what.limits = {below(2000), below(1000), below(4)};
  return what;
}

inline commands::close_model_call drawn_model_end(const drawing& below, const scope_path& scope,
                                                  const operation_id& call, const operation_id& turn, own_outcome end) {
  commands::close_model_call what;
  what.what.call = call;
  what.what.turn = turn;
  what.what.end = std::move(end);
  what.what.end.call.reset();
  what.what.used = drawn_use(below, scope);
  what.what.is_last = below(3) == 0;
  if (below(2) == 0) {
    auto& event = what.what.reported.emplace();
    event.type = event_type::model_usage;
    event.data = below(2) == 0 ? "{}" : "";
  }
  return what;
}

inline commands::add_cost drawn_early_use(const drawing& below, const scope_path& scope, const operation_id& turn,
                                          const records::event_record& event) {
  commands::add_cost what{{drawn_use(below, scope)}};
  if (below(2) == 0) what.what.turn = turn;
  if (below(2) == 0) what.what.reported = event;
  return what;
}

inline commands::acknowledge_stop drawn_acknowledgement(const drawing& below, const records::message_record& words,
                                                        const records::event_record& event) {
  commands::acknowledge_stop what{words.id, {}, below(2) == 0};
  for (auto i = below(3); i > 0; --i) {
    commands::acknowledge_stop::acknowledgement one{{}, event};
    if (below(2) == 0) {
      one.words = words;
      one.words->id = message_id::fresh();
    }
    what.all.push_back(std::move(one));
  }
  return what;
}

/// Of the scopes in which the played tasks are.
inline commands::limit_slots drawn_limits(const drawing& below) {
  commands::limit_slots what;
  for (const char* guild : {"a", "a/b", "d"})
    if (below(2) == 0) what.of_guilds.emplace(guild, 1 + below(3));
  return what;
}

/// `task` is detached from its call, as those of the product are.
inline commands::start_background drawn_background(const drawing& below, commands::create_operation task,
                                                   const operation_id& call, own_outcome end) {
  task.order.on_parent_end = on_parent_end::detach;
  if (below(4) > 0) task.order.parent = call;
  const auto scope = *task.order.scope;
  return {std::move(task.order), task.fresh, scope, static_cast<std::uint32_t>(below(3)), call, std::move(end)};
}

} // namespace quell::controller::core_tests
