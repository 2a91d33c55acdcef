// The ledger's steps around its table of operations: what else an operation is part of, and the capacity that it frees.
#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

index live_ledger::add_operation(const records::operation_record& r) {
  const index x = operations_.add(r);
  if (r.kind == quell::kind::external) leases_.enter(x, read_external_block(r.kind_data), r);
  return x;
}

void live_ledger::remove_operation(index x) {
  if (operations_[x].external) leases_.leave(x);
  operations_.remove(x);
}

void live_ledger::release(index x) {
  if (const auto freed = operations_.release(x)) effects_.freed.emplace_back(workers_[freed->worker], freed->slots);
}

index live_ledger::worker_index(const std::string& name) {
  const index known = workers_.find(name);
  return known != none ? known : workers_.hold(name);
}

index live_ledger::known_worker(const std::string& name) const { return workers_.find(name); }

void live_ledger::offer(index x) {
  const operation_node& n = operations_[x];
  if (n.kind != quell::kind::task || n.phase != phase::ready) return;
  const requirement& need = operations_.need_of(x);
  if (effects_.placeable.empty() || effects_.placeable.back().need != need) effects_.placeable.push_back({need, {}});
  effects_.placeable.back().ids.push_back(n.id);
}

} // namespace quell::controller::live
