// The fleet's state of one enrolled worker: its row, its session if there is one, its lease, and its used slots.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/fleet/session.hpp"
#include "controller/orders.hpp"
#include "controller/records/records.hpp"
#include "protocol/lease.hpp"
#include "protocol/peer_budget.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller {

struct waiting_queue;

struct member {
  records::worker_record record;
  std::map<std::string, std::string> labels; ///< the worker's own and the enrolled ones; enrolled ones win
  std::optional<session> link;
  controller_lease lease;

  std::optional<session_id> last_session; ///< the newest one of this controller's life
  std::uint64_t life = 0;                 ///< number of the life that said the last hello; 0 = not known
  std::vector<incarnation_id> past_lives; ///< lives whose successors said hello, newest last; bounded
  std::optional<boot_time>
      last_frame_at;                     ///< time of the last valid frame; after a restart of the controller: its start
  std::optional<wall_time> silent_since; ///< set = unreachable (or lost)
  bool is_silence_reported = false;      ///< worker_unreachable was sent
  bool left = false;                     ///< it said farewell: nothing of it lives, its key can come back from anywhere
  std::optional<boot_time> lease_end;    ///< for display: the last answer + its length
  std::optional<boot_time> expiry;       ///< past dead-by: when the next task with a longer lease is due
  bool expired_all = false;              ///< past dead-by, and none of its work is left in the ledger
  std::optional<boot_time> drain_at;     ///< the drain's deadline, until it has fired
  bool touched = false;                  ///< is among those that are flushed at the end of the transaction
  bool leaving = false;                  ///< will be removed as soon as none of its work lives
  std::optional<worker_trouble> trouble; ///< as reported in its last hello
  std::optional<key_rival> rival;        ///< another process said hello with its key
  std::optional<boot_time> home_claims_it; ///< until then only the state directory that came first is accepted
  budget key_offers{{10, 1.0 / 60}};       ///< each offer costs a row, and a key that is remembered for a while
  budget hellos{{200, 20}}; ///< limits its hellos: each costs a row, an event and a comparison of its inventory

  std::uint32_t used = 0; ///< slots, as the ledger counts them
  std::uint64_t live = 0;
  std::vector<operation_id> stored; ///< results to acknowledge at the end of the transaction
  const waiting_queue* reserved_for = nullptr;

  const std::string& name() const { return record.name; }
  bool reachable() const { return link && !silent_since; }
  /// True if new work can be placed on it.
  bool takes_work() const { return reachable() && !record.drain && !leaving; }
  std::uint32_t free_slots() const { return record.slots > used ? record.slots - used : 0; }
  worker_status status() const {
    if (reachable()) return record.drain || leaving ? worker_status::draining : worker_status::ready;
    if (record.lost) return worker_status::lost;
    return record.joined_at ? worker_status::unreachable : worker_status::enrolled;
  }
  void merge_labels() {
    labels = record.enrolled_labels;
    labels.insert(record.labels.begin(), record.labels.end());
  }
};

/// Workers by name; nodes do not move.
using roster = std::map<std::string, member>;

} // namespace quell::controller
