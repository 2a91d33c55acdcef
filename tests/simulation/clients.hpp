// Everyone who gives orders: people, tools and tasks. They choose ids or let the controller choose, repeat unanswered
// requests, and keep the answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controller/commit_gate.hpp"
#include "tests/simulation/events.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/scenario.hpp"

namespace quell::simulation {

struct world;

class clients {
 public:
  explicit clients(world& w);

  void start(const scheduled& s);
  void start_nested(const operation_id& parent, std::uint64_t salt, std::size_t worker);
  /// A nested start on behalf of any requested operation, live or not.
  void start_below_something(const scheduled& s);
  void cancel(const scheduled& s);
  void cancel_by_hand(controller::cancel_order o, std::uint64_t salt) { send_cancel(std::move(o), salt); }
  /// It was sent a while ago, and the controller takes it now.
  void cancel_that_arrives(const controller::cancel_order& o, std::uint64_t salt);
  /// The end of the scenario: cancels everything.
  void cancel_everything();
  void drain(const scheduled& s);
  void resume(std::size_t worker);
  void remove(const scheduled& s);
  void enrol(std::size_t worker);
  void declare(const scheduled& s);
  void limit_slots(const scheduled& s);

  unsigned depth_of(const operation_id& id) const;
  std::uint64_t request_count() const { return requested_.size(); }
  /// Orders that wait for an answer or a repeat.
  std::uint64_t waiting() const { return waiting_; }
  std::uint64_t cancels() const { return cancels_; }

 private:
  struct request {
    controller::create_order order;
    operation_id fresh;
    int tries = 0;
  };
  void fill(controller::create_order& o, random_stream& r);
  void choose_parent(controller::create_order& o, random_stream& r);
  void send(request q);
  void own(const operation_id& id, std::uint64_t salt, int words = 0);
  void send(controller::cancel_order o, cancel_id fresh, int tries);
  void arrive(controller::cancel_order o, cancel_id fresh, controller::commit_gate& c, moment now);
  void send_cancel(controller::cancel_order o, std::uint64_t salt, int tries = 3);
  operation_id some_operation(random_stream& r) const;
  /// Tries until the controller is up (at most `tries` times), a little later each time.
  void order(std::function<void(controller::commit_gate&, moment)> what, int tries = 1);
  scope_path scope_at(random_stream& r) const;

  world& world_;
  random_stream random_;
  std::vector<operation_id> requested_;
  std::unordered_set<operation_id> named_; ///< by a client
  std::unordered_map<operation_id, scope_path> scopes_;
  std::unordered_map<operation_id, unsigned> depths_;
  std::uint64_t waiting_ = 0, cancels_ = 0;
  std::vector<controller::cancel_order> sent_cancels_;
};

} // namespace quell::simulation
