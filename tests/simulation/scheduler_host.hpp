// The turns of the simulated quelld: the production turn scheduler (actors/turns/turn_scheduler.hpp) with its port, its
// message router and its agents, on virtual threads. Mirrors quelld/wiring.cpp and real_edges.hpp.
#pragma once

#include <memory>

#include "actors/turns/turn_scheduler.hpp"
#include "actors/voice/voice_host.hpp"
#include "controller/commit_gate.hpp"
#include "tests/simulation/random.hpp"

namespace quell::simulation {

struct world;
struct scheduler_life;
class voice_peer;
class virtual_voice_loop;

class scheduler_host {
 public:
  explicit scheduler_host(world& w);
  ~scheduler_host();
  scheduler_host(const scheduler_host&) = delete;
  scheduler_host& operator=(const scheduler_host&) = delete;

  /// Starts with a new life of the controller, a moment after the core, as in quelld.
  void start();
  /// Dies with the controller, before the store.
  void die();
  controller::turns::turn_scheduler* it() { return scheduler_.get(); }

  /// A client, or a brain, connects to the voice gateway; false: it is not there.
  bool connect_voice(integrations::voice::direction as, const std::shared_ptr<voice_peer>& from, bool is_loopback);

  // From the core.
  void signal(const controller::actor_signal& s);
  void ended(const controller::ended_operation& e);
  void on_event(const records::event_record& e);

  /// The settings: who may decide, and which agent serves which scope.
  static const controller::turns::turn_settings& settings();

 private:
  void begin();
  void begin_voice();

  world& world_;
  std::shared_ptr<scheduler_life> life_;
  std::unique_ptr<controller::output_store> output_;
  std::unique_ptr<controller::store_reader> reader_;
  std::unique_ptr<controller::turns::turn_scheduler> scheduler_;
  std::shared_ptr<virtual_voice_loop> voice_loop_;
  std::unique_ptr<controller::voice::voice_host> voice_;
};

} // namespace quell::simulation
