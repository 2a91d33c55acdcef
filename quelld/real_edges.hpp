// The core's effects on the real world, and the turn scheduler's link back to the core. For the wiring.
#pragma once

#include <atomic>
#include <caf/send.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <spdlog/spdlog.h>

#include "actors/controller_actor.hpp"
#include "actors/interfaces.hpp"
#include "actors/posted_command.hpp"
#include "actors/turns/turn_scheduler.hpp"
#include "actors/voice/voice_host.hpp"
#include "controller/commands/command_counts.hpp"
#include "controller/commands/command_request.hpp"
#include "gateway/journal_meter.hpp"
#include "gateway/sealed_secret.hpp"
#include "gateway/server.hpp"
#include "gateway/webhooks/webhooks.hpp"
#include "protocol/codec.hpp"
#include "protocol/socket.hpp"
#include "quelld/bulk/bulk_server.hpp"
#include "quelld/chat/connectors.hpp"
#include "storage/journal.hpp"

namespace quell::controller {

/// The core's effects on the real world.
class real_edges final : public commit_gate_edges {
 public:
  storage::journal* journal = nullptr;
  server_socket* control = nullptr;
  bulk_server* bulk = nullptr;
  std::atomic<service*> front = nullptr;
  std::atomic<turns::turn_scheduler*> turn_scheduler = nullptr;
  std::atomic<webhooks::outgoing*> webhooks = nullptr;
  std::atomic<voice::voice_host*> voice = nullptr;
  chat::event_tap chats;     ///< receives events from the beginning, including those of a restart
  chat::event_tap model_use; ///< the same of the use of model calls alone, for metrics
  std::function<void(const fault&)> on_failure;
  std::string secret_key; ///< for the secrets of tasks

  /// Counted by the journal's writer, asked by the gateway.
  const std::shared_ptr<row_changes> changes = std::make_shared<row_changes>();
  /// Counted by the core's thread, asked by the gateway.
  const std::shared_ptr<core_activity> activity = std::make_shared<core_activity>();
  journal_meter meter;
  command_counts commands;
  std::atomic<std::uint64_t> forbidden_moves{0};

  std::uint64_t submit(std::vector<records::entry> batch) override {
    const auto rows = batch.size();
    const auto at = clock_now().boot;
    const auto ticket = journal->submit(std::move(batch));
    meter.submitted(ticket, rows, at, clock_now().boot);
    return ticket;
  }
  /// Gives the gateway what it measures here; it ends before this.
  void measure(gateway_options& of) {
    of.changes = changes;
    of.activity = activity;
    of.journal = [this] { return meter.now(); };
    of.model_use = [this](auto listener) { model_use.open(std::move(listener)); };
    of.commands = [this] { return commands.now(); };
    of.forbidden_moves = [this] { return forbidden_moves.load(); };
  }
  void command_given(const command& what) override {
    commands.count(what);
    if (spdlog::should_log(spdlog::level::debug)) spdlog::debug("command {}", describe(what));
  }
  void move_forbidden(const forbidden_move& move, std::string_view requested_by) override {
    ++forbidden_moves;
    spdlog::error("forbidden move of {}: from {} to {}, asked by {}; the operation is stopped", move.operation.text(),
                  move.from, move.to, requested_by);
  }
  void refusal_known(std::uint64_t ticket) override { journal->refusal_known(ticket); }
  void send(const outgoing_frame& f) override {
    const auto* start = std::get_if<wire::start>(&f.frame.body);
    if (!start || start->spec.secrets.empty()) return control->send(f.route, wire::encode(f.frame));
    auto opened = f.frame; // the secrets are sealed everywhere else
    auto& secrets = std::get<wire::start>(opened.body).spec.secrets;
    secrets = open_secrets(secret_key, secrets);
    control->send(f.route, wire::encode(opened));
  }
  void publish(const records::event_record& event) override {
    if (auto* s = front.load()) deliver_event(*s, event);
    if (auto* s = turn_scheduler.load()) s->on_event(event);
    if (auto* v = voice.load()) v->on_event(event);
    chats.on_event(event);
    if (event.type == event_type::model_usage) model_use.on_event(event);
    if (auto* w = webhooks.load()) w->on_event(event);
  }
  /// To those who watch now; the event is not stored.
  void show(const records::event_record& event) {
    if (auto* s = front.load()) deliver_event(*s, event);
  }
  void signal(const actor_signal& s) override {
    if (auto* v = voice.load()) v->signal(s); // before its turn reports its end
    if (auto* to = turn_scheduler.load()) to->signal(s);
  }
  void tell_owner(const external_signal& s) override {
    if (auto* to = front.load()) deliver_signal(*to, s);
  }
  void ended(const ended_operation& e) override {
    if (auto* to = turn_scheduler.load()) to->ended(e);
  }
  void allow_keys(std::vector<std::string> keys) override {
    bulk->socket().allow(keys);
    control->allow(std::move(keys));
  }
  void output_expected(const operation_id& id, const std::string& worker) override { bulk->files().expect(id, worker); }
  void output_counted(const operation_id& id, const std::string& worker, const output_counts& counts) override {
    bulk->files().counted(id, worker, counts);
  }
  void output_closes(const operation_id& id) override { bulk->files().close(id, clock_now().boot); }
  bool storage_low() const override { return journal->is_low(); }
  void ticked(moment now) override {
    if (now.boot - last_tick_ < std::chrono::seconds{1}) return;
    last_tick_ = now.boot;
    bulk->tick(now.boot);
  }
  void fail_stop(const fault& why) override { on_failure(why); }

 private:
  boot_time last_tick_;
};

/// The turn scheduler's link to the controller's actor; cut before the process waits for the actor.
struct controller_handle {
  std::mutex guard;
  actors::controller_actor to;
};

/// Orders over that link; they have no effect once it is cut.
inline turns::core_link link_over(std::shared_ptr<controller_handle> to_controller, const storage::journal& store) {
  turns::core_link link;
  const auto ask = [to_controller](commit_gate::question what) {
    const std::lock_guard lock(to_controller->guard);
    if (to_controller->to) caf::anon_send(to_controller->to, actors::ask_core{std::move(what)});
  };
  const auto give = [to_controller](command_request&& what, std::shared_ptr<order_claim> claim) {
    const std::lock_guard lock(to_controller->guard);
    if (to_controller->to) caf::anon_send(to_controller->to, actors::posted(std::move(what), std::move(claim)));
  };
  link.knows_worker = [ask](std::string worker, std::function<void(bool)> answer) {
    ask([worker = std::move(worker), answer = std::move(answer)](const commit_gate& c, moment) {
      return [answer, known = c.workers().knows(worker)] { answer(known); };
    });
  };
  link.beyond_disk = [ask](std::vector<operation_id> ids, std::function<void(turns::known_ends)> answer) {
    ask([ids = std::move(ids), answer = std::move(answer)](const commit_gate& c, moment now) {
      turns::known_ends known;
      for (const auto& id : ids)
        if (auto hot = c.beyond_disk(id, now)) known.emplace(id, std::move(*hot));
      return [answer, known = std::move(known)] { answer(known); };
    });
  };
  link.execute = [give](command_request&& what) { give(std::move(what), nullptr); };
  link.execute_unless_withdrawn = give;
  link.ask_fleet = [ask](std::function<std::function<void()>(const ledger&, const fleet&, moment)> what) {
    ask([what = std::move(what)](const commit_gate& c, moment now) { return what(c.operations(), c.workers(), now); });
  };
  link.ask = [ask](std::function<std::function<void()>(const ledger&, moment)> what) {
    ask([what = std::move(what)](const commit_gate& c, moment now) { return what(c.operations(), now); });
  };
  // The store ends before the last agents do, and behind the end of the link.
  link.is_low = [to_controller, &store] {
    const std::lock_guard lock(to_controller->guard);
    return !to_controller->to || store.is_low();
  };
  link.now = clock_now;
  return link;
}

} // namespace quell::controller
