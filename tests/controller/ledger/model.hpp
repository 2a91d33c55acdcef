// A naive ledger: every rule of DESIGN 3 stated once, eagerly, over plain lists. It does not predict when leaves are
// rolled out; it judges the real ledger's results: each end must have been allowed, with exactly this status, receipt
// and proof.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/records/records.hpp"
#include "protocol/scope.hpp"

namespace quell::controller::testing {

struct model_stop {
  stop_cause cause = stop_cause::cancel;
  std::optional<cancel_id> cancel;
};

struct model_end {
  status as = status::completed;
  std::optional<receipt> how;
  proof evidence = proof::exit_status;
};

struct model_operation {
  operation_id id;
  std::uint64_t seq = 0, as_of = 0;
  int parent = -1;
  bool detached = false;
  on_parent_end edge = on_parent_end::cancel;
  scope_path scope;
  std::string owner, key;
  std::optional<std::string> worker; ///< held there
  bool was_held = false, started = false, over = false;
  std::optional<boot_time> deadline;
  milliseconds timeout{0};
  std::optional<model_stop> stop;
  std::optional<model_end> self_status;
};

struct model_cancel {
  cancel_id id;
  std::uint64_t seq = 0, cutoff = 0;
  records::cancel_target target;
  std::set<int> covered;
  std::map<receipt, std::uint64_t> receipts;
  std::map<proof, std::uint64_t> proofs;
  bool settled = false;
};

struct model {
  std::vector<model_operation> operations;
  std::vector<model_cancel> cancels;
  std::map<std::string, std::uint64_t> cutoffs;
  std::set<operation_id> tombstones;

  int find(const operation_id& id) const;
  std::vector<int> children(int x) const;         ///< live, not detached
  bool is_or_hangs_on(int x, int ancestor) const; ///< along edges that are not detached
  /// The code with which a create is refused; "" = accepted.
  std::string refusal(int parent, bool detached, const scope_path& scope, std::optional<std::uint64_t> as_of,
                      const std::string& key) const;
  void create(model_operation o);
  std::vector<int> older_with_key(int x) const;
  bool may_be_placed(int x) const;

  std::set<int> covered(const records::cancel_target& target, std::uint64_t cutoff, std::uint64_t seq) const;
  std::uint64_t left(const model_cancel& c) const;
  /// The open cancel that a cancel with this target and cutoff joins, or nullptr.
  const model_cancel* joined(const records::cancel_target& target, std::uint64_t cutoff,
                             const std::set<int>& covers) const;
  void accept(model_cancel c);

  void stop(int x, stop_cause cause, std::optional<cancel_id> cancel = {});
  void finish_local(int x, model_end e);
  void lose(int x, receipt how, proof evidence);
  void time_passed(boot_time now);
  /// The real ledger reports that x is terminal with this row. Returns a sentence if that is wrong, else "".
  std::string ended(const operation_id& id, const records::operation_hot& row);
  /// Nothing is left to roll out: an operation that should have ended and has not; "" = none.
  std::string overdue() const;
};

} // namespace quell::controller::testing
