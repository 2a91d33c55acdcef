// Retention: drops operations that ended long ago, their output, cancels and events, a little at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "controller/service.hpp"
#include "controller/store_reader.hpp"
#include "protocol/fault.hpp"
#include "storage/old_rows.hpp"

namespace quell::controller {

struct dropped_counts {
  std::uint64_t operations = 0, cancels = 0, events = 0;
};

/// One pass over the rows that were in the store before `now - keep`. Every slice is one small transaction that leaves
/// the store consistent: children go before their parents, output before its row, cancels after everything that names
/// them, and a turn that did not complete leaves its ending in its conversation. Ends early, without a fault, if `stop`
/// requests it or if the controller has had no room for a minute.
result<dropped_counts> drop_old_things(storage::old_rows& rows, store_reader& store, service& controller,
                                       output_store& output, wall_time now, milliseconds keep,
                                       const std::stop_token& stop);

/// Runs passes repeatedly on its own thread.
class retention {
 public:
  struct options {
    std::string state_directory;
    milliseconds keep{0}; ///< more than 0
  };
  /// `controller` and `output` must outlive it.
  static result<std::unique_ptr<retention>> start(options o, service& controller, output_store& output);
  /// Ends the running pass and joins the thread.
  virtual ~retention() = default;
};

} // namespace quell::controller
