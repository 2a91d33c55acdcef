// The whole cluster of one scenario: controller, workers, network, store, clients, and the oracle that judges them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/simulation/chatters.hpp"
#include "tests/simulation/clients.hpp"
#include "tests/simulation/controller_host.hpp"
#include "tests/simulation/events.hpp"
#include "tests/simulation/network.hpp"
#include "tests/simulation/scenario.hpp"
#include "tests/simulation/scheduler_host.hpp"
#include "tests/simulation/store.hpp"
#include "tests/simulation/truth.hpp"
#include "tests/simulation/turn_truth.hpp"
#include "tests/simulation/voice_callers.hpp"
#include "tests/simulation/voice_truth.hpp"
#include "tests/simulation/worker_host.hpp"

namespace quell::simulation {

struct violation {
  std::string invariant;
  std::string what;
  instant at = 0;
};

struct outcome_of_run {
  std::optional<violation> broken;
  std::vector<std::string> trace;
  std::uint64_t events = 0;
  std::uint64_t operations = 0, cancels = 0, runs = 0, messages = 0, exchanges = 0, restarts = 0;
};

struct world {
  world(scenario s, bool tracing);

  /// Plays the scenario to the end, or to the first broken invariant.
  outcome_of_run play();

  std::string name(std::size_t worker) const { return "w" + std::to_string(worker + 1); }
  /// The first broken invariant ends the run.
  void violate(std::string invariant, std::string what);
  bool failed() const { return broken.has_value(); }
  /// A line of the trace; `text` is called only if the trace is printed.
  template <class Text>
  void note(const std::string& who, const Text& text) {
    if (tracing) add_note(who, text());
  }
  /// Short names for people: o12, c3.
  std::string label(const operation_id& id);
  std::string label(const cancel_id& id);

  /// The world that is running; fresh ids come from it.
  static inline world* playing = nullptr;

  scenario plan;
  bool tracing;
  random_stream ids;
  event_queue events;
  std::optional<violation> broken;
  oracle truth;
  store disk;
  network net;
  controller_host controller;
  std::vector<std::unique_ptr<worker_host>> workers;
  clients people;
  turn_truth turns;
  chatters chat;
  voice_truth voices;
  voice_callers callers;
  scheduler_host turn_scheduler; ///< its end needs all of the above

 private:
  void add_note(const std::string& who, const std::string& text);
  void perform(const scheduled& s);
  bool run_until(instant limit, const std::function<bool()>& done);
  bool quiet() const;

  std::vector<std::string> trace_;
  std::unordered_map<operation_id, std::string> operation_labels_;
  std::unordered_map<cancel_id, std::string> cancel_labels_;
};

} // namespace quell::simulation
