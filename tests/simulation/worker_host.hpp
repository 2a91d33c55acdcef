// A worker process in virtual time: the production session and task table, fed as worker/session_loop feeds them (one
// turn of the loop: guardian, frames, bulk, spawns, timers, sends), on a simulated machine and network.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/machine.hpp"
#include "worker/controller_session.hpp"
#include "worker/task_table.hpp"

namespace quell::simulation {

struct world;

class worker_host {
 public:
  worker_host(world& w, std::size_t number);

  // ---- from outside
  void receive(std::string bytes);
  /// Wakes the loop: a turn follows soon.
  void wake();

  // ---- the life of the process
  void start(); ///< a supervisor starts it (again)
  void crash();
  void leave(bool at_once);
  void freeze(bool is);
  void reboot(instant down_for);
  /// A supervisor restarts the process after this pause, whenever it ends.
  void restart_after(instant pause) { pause_ = pause; }

  bool is_up() const { return life_ != nullptr; }
  bool idle() const;
  /// The machine on which the tasks execute.
  const machine& host() const { return machine_; }
  machine& host() { return machine_; }
  const std::string& key() const { return key_; }
  std::uint64_t lives() const { return lives_; }
  std::uint32_t slots() const { return slots_; }
  containment level() const { return level_; }
  session_id session() const;

 private:
  struct life {
    life(worker::membership m, std::uint32_t slots, containment level)
        : session(std::move(m)), table({.slots = slots, .level = level}, session.lease()) {}
    worker::controller_session session;
    worker::task_table table;
    incarnation_id incarnation;
    std::vector<operation_id> finished; ///< output that is complete
    worker::controller_session::phase shown = worker::controller_session::phase::apart;
    int leave_requested = 0;
    std::optional<boot_time> all_ended_at, farewell_at;
    boot_time stored_at{};
    bool sweeping = false;
    // worker/leftovers.hpp
    bool left_before = false, guardian_died = false;
    std::vector<operation_id> cut_off;
  };

  void turn();
  void keep_session();
  void greet();
  void hear_guardian();
  void hear_controller();
  void apply(wire::message m);
  void perform(worker::effects& list);
  void tell_lease();
  void send();
  void session_state_changed();
  void renew_guardian(int tries);
  bool leave_done();
  void end_life();
  void process_ended();
  void arm();
  void at_turn(instant when);
  moment now() const;
  boot_time boot() const;

  world& world_;
  std::size_t number_;
  random_stream random_;
  machine machine_;
  std::string key_, state_id_;
  std::uint32_t slots_;
  containment level_;
  std::string doubt_;         ///< the boot in which it arose; on disk
  worker::membership stored_; ///< in its state directory
  std::unique_ptr<life> life_;
  std::deque<std::string> inbox_;
  std::uint64_t lives_ = 0, turn_order_ = 0, sessions_ = 0;
  std::optional<instant> turn_at_;
  instant pause_ = 500 * ms;
  bool frozen_ = false, rebooting_ = false;
};

} // namespace quell::simulation
