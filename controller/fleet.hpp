// The fleet: workers, their sessions, channels, leases and slots, and the placement of pending tasks. Pure, like the
// ledger.
//
// It turns frames into reports for the ledger, and the ledger's stops and starts into numbered frames. Frames for one
// worker leave in the order in which they were made: a cancel never overtakes a start. Lease answers are outside that
// order (`urgent`): they carry nothing uncommitted, and a slow disk must not cost a lease.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/ledger.hpp"
#include "controller/orders.hpp"
#include "controller/records/entries.hpp"
#include "protocol/channel.hpp"
#include "protocol/lease.hpp"
#include "protocol/messages.hpp"

namespace quell::controller {

struct fleet_settings {
  milliseconds heartbeat{1000};
  milliseconds lease{10000};
  milliseconds handover_lease{60000};
  std::size_t max_workers = 10'000;
};

/// One frame for one connection (ZeroMQ routing id).
struct outgoing_frame {
  std::string route;
  wire::envelope frame;
};

struct fleet_effects {
  std::vector<records::entry> journal; ///< worker rows and events
  std::vector<outgoing_frame> ordered; ///< leave after everything made before them is committed
  std::vector<outgoing_frame> urgent;  ///< leave now
  /// Set by the first take() and whenever the enrolled keys change.
  std::optional<std::vector<std::string>> allowed_keys;
  std::vector<std::string> workers_changed; ///< wakes the callers that wait on these workers
  bool empty() const;
};

class fleet {
 public:
  virtual ~fleet() = default;
  /// The ledger must outlive the fleet. `token_for` mints QUELL_TOKEN for a START (a pure function of the id and a
  /// key).
  static std::unique_ptr<fleet> make(fleet_settings s, ledger& l, std::vector<records::worker_record> recovered,
                                     cluster_id cluster, std::uint64_t epoch,
                                     std::function<std::string(const operation_id&)> token_for, moment now);

  virtual fleet_effects take() = 0;

  // ---- from the control socket -----------------------------------------------------------------------------------
  /// `arrived`: when the frame reached this process, if known and before `now`. A stop counts as applied from then on;
  /// everything else, leases above all, counts from `now`.
  virtual void frame(const std::string& route, const std::string& public_key, const wire::envelope& e, moment now,
                     std::optional<boot_time> arrived = {}) = 0;
  /// A hello of another protocol version, of which only the version is known: it gets a proper refusal.
  virtual void unsupported_version(const std::string& route, const std::string& public_key, std::uint32_t version,
                                   moment now) = 0;

  // ---- from the ledger (its effects, in order) --------------------------------------------------------------------
  virtual void enqueue(const requirement& need, const std::vector<operation_id>& ids) = 0;
  virtual void send_stop(const stop_order& order, moment now) = 0;
  virtual void slots_freed(const std::string& worker, std::uint32_t slots, moment now) = 0;
  /// This result is durable (called after the commit): results_stored goes out, batched per transaction.
  virtual void result_stored(const std::string& worker, const operation_id& id, moment now) = 0;
  /// Places pending tasks (at most ~256 STARTs per call). True while more can be placed now.
  virtual bool place(moment now) = 0;

  /// An ordered frame has left (after its commit), and from then on the worker owes its acknowledgement. Until the
  /// first call of this function the fleet counts from the creation of a frame, so a disk that hangs for a whole lease
  /// would cost leases. Ignores a repeat or an unknown route.
  virtual void frame_left(const std::string& route, std::uint64_t number, moment now) = 0;
  /// An ordered frame can never leave (its commit failed). The worker would ask for a missing numbered frame again, so
  /// the session ends, and the worker's next hello settles which frames it did not get.
  virtual void frame_withheld(const std::string& route, moment now) = 0;

  // ---- orders -----------------------------------------------------------------------------------------------------
  /// Faults: invalid_field (name), id_conflict (name or key in use).
  virtual result<worker_view> enrol(const std::string& name, const std::string& public_key,
                                    std::map<std::string, std::string> labels, moment now) = 0;
  virtual result<worker_view> drain(const std::string& name, const std::string& reason,
                                    std::optional<milliseconds> deadline, worker_tasks tasks, moment now,
                                    std::optional<records::person> by = {}) = 0;
  virtual result<worker_view> resume(const std::string& name, moment now) = 0;
  /// Fault worker_busy with live work that goes on. Cancelled work is stopped, and the worker is removed when that has
  /// settled (a lost worker: when its lease ends).
  virtual result<worker_view> remove(const std::string& name, worker_tasks tasks, moment now,
                                     std::optional<records::person> by = {}) = 0;
  virtual result<void> resize(const operation_id& id, const std::string& worker, std::uint16_t rows,
                              std::uint16_t columns, moment now) = 0;
  /// Planned stop: every session gets a handover; returns the frames through take().
  virtual void hand_over(moment now) = 0;
  /// The controller's next public key, which every worker must store before it is used; "" = there is none, or no
  /// longer one.
  virtual void next_controller_key(const std::string& next, moment now) = 0;

  // ---- time ---------------------------------------------------------------------------------------------------------
  /// Handles silence, lease ends, drain deadlines and resends. Returns the next deadline.
  virtual std::optional<boot_time> tick(moment now) = 0;

  // ---- looking ----------------------------------------------------------------------------------------------------
  /// In views `record.labels` are the merged labels: enrolled ones win over the worker's own. After a farewell or a
  /// lost session, too, `status` is `unreachable` until the lease would have ended, then `lost`.
  virtual std::optional<worker_view> worker(const std::string& name, moment now) const = 0;
  virtual std::vector<worker_view> workers(moment now) const = 0;
  virtual reachability reach(const std::string& worker) const = 0;
  virtual bool knows(const std::string& worker) const = 0;
  /// The live session of the worker with this key, for the check on the bulk socket; nullopt = none.
  virtual std::optional<session_id> session_of_key(const std::string& public_key) const = 0;
  virtual std::optional<std::string> name_of_key(const std::string& public_key) const = 0;
  /// The worker whose live session uses this route.
  virtual std::optional<std::string> name_of_route(const std::string& route) const = 0;
};

} // namespace quell::controller
