// A client takes its turn back before the others are given up, or is too late: one lock decides.
#include "actors/turns/lost_clients.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <spdlog/spdlog.h>
#include <utility>

#include "actors/turns/json_text.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commands/stop_local.hpp"
#include "controller/named_request.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

/// Before the start of quelld: clients that repeat a request by themselves do so within seconds.
constexpr std::chrono::seconds answers_may_be_lost_within{15};
constexpr const char* client_did_not_return = "the client did not return after a restart of quelld";

/// Clients of our own API end their turns with `stop.cause` `disconnect`, all others by a cancel of their author.
void stop_for_lost_client(const std::shared_ptr<agent_runtime>& runtime, const lost_client& gone) {
  spdlog::info("turn {} is stopped: its client did not return within {} s of the restart", gone.turn.text(),
               clients_may_return_within.count());
  if (gone.via == message_order{}.via_channel)
    return runtime->core.execute({commands::stop_local{{gone.turn}, stop_cause::disconnect}, {}});
  cancel_order c;
  c.by_token = agent_runtime::acting_for(gone.owner);
  c.target = records::target_operation{gone.turn};
  c.if_unknown = unknown_id::is_refused;
  c.reason = client_did_not_return;
  c.by = gone.owner;
  c.via_channel = gone.via;
  c.received = runtime->core.now().boot;
  // A refusal says that it has ended meanwhile.
  runtime->core.execute(
      {commands::order_cancel{std::move(c), cancel_id::fresh(), commands::order_cancel::may_target::live_target}, {}});
}

/// Whether an equal request is a repeat, and not the next message of the conversation: the request names its message,
/// or the turn is the only one of its conversation, made for one request.
bool is_of_one_request(const lost_client& client) {
  if (client.request.starts_with(names_its_message)) return true;
  const auto text = client.scope.text();
  const auto last = text.rfind('/');
  if (last == std::string::npos || !operation_id::parse(text.substr(last + 1))) return false;
  const auto above = std::string_view(text).substr(0, last);
  return above == client.via || above.ends_with("/" + client.via);
}

/// The foreign clients whose turns ended in the last moments before this start, oldest first.
std::vector<lost_client> just_answered(store_reader& store, wall_time now) {
  records::operation_filter f;
  f.kinds = {kind::turn};
  f.want_live = false;
  f.limit = 1'000;
  std::vector<lost_client> found;
  const auto rows = store.operations(f);
  if (!rows) return found;
  for (const auto& row : *rows) {
    const bool is_recent = row.hot.ended_at && *row.hot.ended_at + answers_may_be_lost_within >= now;
    if (!is_recent || row.hot.now != status::completed) continue;
    auto client = client_of(row);
    if (!client || client->request.empty() || !is_of_one_request(*client)) continue;
    found.push_back(std::move(*client));
  }
  std::reverse(found.begin(), found.end());
  return found;
}

} // namespace

std::string with_client(const std::string& block, const stream_client& client, const std::string& via) {
  auto all = json::parse(block, nullptr, false);
  if (!all.is_object()) all = json::object();
  all["client"] = {{"request", client.request}, {"via", via}};
  return json_text(all);
}

std::optional<lost_client> client_of(const records::operation_record& turn) {
  const auto block = json::parse(turn.kind_data, nullptr, false);
  if (turn.kind != kind::turn || !block.is_object()) return std::nullopt;
  const auto at = block.find("client");
  if (at == block.end() || !at->is_object()) return std::nullopt;
  return lost_client{turn.id, turn.scope, turn.owner, at->value("request", ""), at->value("via", "")};
}

void lost_clients::may_return(std::vector<lost_client> all) {
  std::vector<std::function<void(bool)>> waiting;
  {
    const std::lock_guard lock(guard_);
    awaited_ = std::move(all);
    are_known_ = true;
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& then : waiting) then(true);
}

void lost_clients::when_known(std::function<void(bool)> then) {
  {
    const std::lock_guard lock(guard_);
    if (!are_known_) return waiting_.push_back(std::move(then));
  }
  then(true);
}

bool lost_clients::returns(const operation_id& turn) {
  const std::lock_guard lock(guard_);
  return std::erase_if(awaited_, [&](const lost_client& one) { return one.turn == turn; }) > 0;
}

std::optional<lost_client> lost_clients::returns_with(const std::string& request) {
  const std::lock_guard lock(guard_);
  if (request.empty()) return std::nullopt;
  const auto at =
      std::find_if(awaited_.begin(), awaited_.end(), [&](const lost_client& one) { return one.request == request; });
  if (at == awaited_.end()) return std::nullopt;
  auto back = std::move(*at);
  awaited_.erase(at);
  return back;
}

std::vector<lost_client> lost_clients::give_up() {
  const std::lock_guard lock(guard_);
  return std::exchange(awaited_, {});
}

void await_clients(const std::shared_ptr<agent_runtime>& runtime, const std::shared_ptr<lost_clients>& clients,
                   const std::vector<operation_id>& turns, store_reader& store) {
  std::set<operation_id> live; ///< to be stopped if their clients do not return
  auto lost = just_answered(store, runtime->core.now().wall);
  for (const auto& id : turns) {
    const auto row = store.operation(id);
    if (!row || !*row) continue;
    auto client = client_of(**row);
    if (!client) continue;
    live.insert(client->turn);
    lost.push_back(std::move(*client));
  }
  const bool nobody = lost.empty();
  clients->may_return(std::move(lost));
  if (nobody) return;
  runtime->background_reads->run_after(clients_may_return_within,
                                       [runtime, clients, live = std::move(live)](store_reader&) {
                                         for (const auto& gone : clients->give_up())
                                           if (live.contains(gone.turn)) stop_for_lost_client(runtime, gone);
                                       });
}

} // namespace quell::controller::turns
