// The ledger, its store, simulated workers and the naive model, driven together by a script of numbers; crashes at any
// committed batch.
#pragma once

#include <deque>
#include <variant>

#include "tests/controller/ledger/model.hpp"
#include "tests/controller/ledger/world.hpp"

namespace quell::controller::testing {

/// A worker as the wire contract describes it: applies frames in order, stops what a stop covers, knows no trees
/// elsewhere.
struct simulated_worker {
  struct task {
    wire::start start;
    bool runs = false;
    std::uint64_t stop_seq = 0;
  };
  std::deque<std::variant<wire::start, wire::stop>> inbox;
  std::map<operation_id, task> tasks;
  std::map<operation_id, wire::task_ended> results; ///< until they are stored

  static bool covers(const wire::stop& s, const wire::start& t);
};

inline const std::vector<std::string> some_workers{"w1", "w2"};

class model_run {
 public:
  explicit model_run(std::vector<std::uint32_t> script) : script_(std::move(script)) {}
  /// Plays the script, checking after each move. A sentence about the first violation, else "".
  std::string play();

 private:
  struct state {
    remembered_store store;
    model truth;
    std::map<std::string, simulated_worker> workers;
    std::map<std::string, std::uint64_t> held; ///< freed must come once for each
  };
  std::uint32_t draw(std::uint32_t below);
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[draw(static_cast<std::uint32_t>(from.size()))];
  }
  int pick_operation();
  bool fail(const std::string& sentence);
  void commit(); ///< takes the effects: batch to the store, frames to inboxes, ends to the model
  void compare();
  void compare_operation(int x);

  void create();
  void cancel();
  void assign();
  void deliver();
  void task_ends();
  void report_results();
  void pass_time();
  void worker_restarts();
  void worker_reconnects(const std::string& name);
  void lease_ends();
  void declare();
  void crash();
  void roll_out();

  std::vector<std::uint32_t> script_;
  std::size_t at_ = 0;
  state s_;
  std::vector<state> past_;
  std::unique_ptr<ledger> ledger_;
  ledger_settings settings_;
  moment now_;
  std::uint64_t made_ = 0;
  std::string wrong_;
};

} // namespace quell::controller::testing
