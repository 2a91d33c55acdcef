// Manages exchanges as operations.
#include "actors/voice/exchange_table.hpp"

#include "actors/turns/turn_json.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/create_local.hpp"
#include "controller/commands/end_local.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commands/stop_local.hpp"

namespace quell::controller::voice {

namespace {
constexpr std::size_t voice_title_bytes = 80;
}

operation_id exchange_table::begin(const speaker& who, const std::string& session, watcher w) {
  const auto id = operation_id::fresh();
  const auto house = context_.lock();
  if (!house) return id;
  live_.emplace(id, entry{{}, std::move(w)});
  create_order order;
  order.by = who.by;
  order.kind = kind::exchange;
  order.scope = who.scope;
  order.name = "voice";
  order.title = "voice exchange of " + who.author.name.substr(0, voice_title_bytes);
  order.owner = who.author;
  order.kind_data = turns::exchange_block(session);
  const auto made = [loop = house->loop, self = weak_from_this(), id](const outcome<created>& answer) {
    if (answer) return;
    loop->post([self, id, why = answer.error().error.detail] {
      const auto table = self.lock();
      if (!table) return;
      if (auto node = table->live_.extract(id); !node.empty() && node.mapped().observer.refused)
        node.mapped().observer.refused(why);
    });
  };
  house->work->core.execute({commands::create_local{std::move(order), id}, made});
  return id;
}

void exchange_table::transcribed(const operation_id& id, const std::string& text) {
  if (const auto at = live_.find(id); at != live_.end()) at->second.transcript = text;
}

void exchange_table::answered(const operation_id& id) {
  if (const auto at = live_.find(id); at != live_.end()) at->second.is_answered = true;
}

void exchange_table::refused_stop(const operation_id& id) {
  if (const auto at = live_.find(id); at != live_.end()) at->second.is_refused_stop = true;
}

void exchange_table::tell_standing(turns::message_order& order) const {
  for (const auto& [id, one] : live_) {
    if (one.is_answered) order.answered.push_back(id);
    if (one.is_refused_stop) order.refused_stops.push_back(id);
  }
}

void exchange_table::end(const operation_id& id, const own_outcome& how) {
  const auto house = context_.lock();
  if (!house) return;
  const auto durable = [loop = house->loop, self = weak_from_this(), id](bool has_ended_itself) {
    loop->post([self, id, has_ended_itself] {
      if (const auto table = self.lock()) table->has_ended(id, has_ended_itself);
    });
  };
  house->work->core.execute({commands::end_local{id, how}, durable});
}

/// A stop that the ledger accepted just before an end sends no signal if it finds the operation ended: then this answer
/// is the only notice of it.
void exchange_table::has_ended(const operation_id& id, bool has_ended_itself) {
  const auto node = live_.extract(id);
  if (node.empty()) return; // its stop, or its refusal, was reported before
  const auto& tell = has_ended_itself ? node.mapped().ended : node.mapped().observer.stopped;
  if (tell) tell();
}

void exchange_table::finish(const operation_id& id, bool was_spoken, const std::string& failure,
                            std::function<void()> ended) {
  const auto at = live_.find(id);
  if (at == live_.end()) return ended();
  at->second.ended = std::move(ended);
  own_outcome how;
  how.result = turns::exchange_result(at->second.transcript, was_spoken);
  if (!failure.empty()) {
    how.as = status::failed;
    how.error = records::own_error(failure_code::error, failure);
  }
  end(id, how);
}

void exchange_table::cancel(const operation_id& id, const speaker& who, std::function<void(bool was_live)> fenced) {
  cancel_order c;
  c.by_token = who.by;
  c.reason = "cancelled by voice";
  c.by = who.author;
  c.via_channel = "voice";
  give(std::move(c), id, [self = weak_from_this(), id, fenced = std::move(fenced)](bool was_live) {
    // It has ended, or its begin was refused.
    if (const auto table = self.lock(); table && !was_live) table->leave(id);
    fenced(was_live);
  });
}

void exchange_table::cancel_unanswered(const operation_id& id, std::function<void(bool was_taken)> fenced) {
  cancel_order c;
  c.by_token = turns::agent_runtime::acting_for({"quell", "quell"});
  c.reason = "its turn was cancelled";
  give(std::move(c), id, std::move(fenced));
}

void exchange_table::give(cancel_order c, const operation_id& id, std::function<void(bool was_taken)> answered) {
  const auto house = context_.lock();
  if (!house) return;
  c.target = records::target_operation{id};
  c.if_unknown = unknown_id::is_refused;
  c.received = house->work->core.now().boot;
  const auto fenced = [loop = house->loop, answered = std::move(answered)](const outcome<cancel_view>& v) {
    loop->post([answered, was_taken = v.has_value()] { answered(was_taken); });
  };
  house->work->core.execute({commands::order_cancel{std::move(c), cancel_id::fresh()}, fenced});
}

void exchange_table::leave(const operation_id& id) {
  const auto house = context_.lock();
  const auto at = live_.find(id);
  if (!house || at == live_.end() || at->second.ended) return; // an end on its way is answered
  at->second.observer = {};
  house->work->core.execute({commands::stop_local{{id}, stop_cause::disconnect}, {}});
}

void exchange_table::signalled(const operation_id& id) {
  const auto node = live_.extract(id);
  if (node.empty()) return;
  if (node.mapped().observer.stopped) node.mapped().observer.stopped(); // silenced before it is reported as ended
  if (node.mapped().ended) return;                                      // an end is on its way
  own_outcome how;
  how.result = turns::exchange_result(node.mapped().transcript, false);
  end(id, how);
}

} // namespace quell::controller::voice
