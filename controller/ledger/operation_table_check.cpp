// The invariants of the table of operations, each derived again from the nodes alone.
#include <algorithm>
#include <cstdint>
#include <map>

#include "controller/ledger/operation_table.hpp"

namespace quell::controller::live {

namespace {

using counts_of_worker = std::map<index, std::uint64_t>;

/// The same counts, whatever their order.
bool is_same_count(const worker_counts& kept, const counts_of_worker& counted) {
  return kept.size() == counted.size() && std::all_of(kept.begin(), kept.end(), [&](const auto& one) {
           const auto at = counted.find(one.first);
           return at != counted.end() && at->second == one.second;
         });
}

} // namespace

std::string operation_table::name_of_slot(index x) const { return "operation " + nodes_[x].id.text(); }

void operation_table::check(std::vector<std::string>& broken) const {
  check_index(broken);
  if (!broken.empty()) return; // the others follow the links, which can lead anywhere then
  for (index x = 0; x < nodes_.end_index(); ++x)
    if (nodes_[x].seq > 0) check_children(x, broken);
  if (!broken.empty()) return;
  check_scopes(broken);
  check_workers(broken);
  check_keys(broken);
  check_counts(broken);
}

void operation_table::check_index(std::vector<std::string>& broken) const {
  std::size_t used = 0;
  std::map<index, std::uint32_t> children;
  for (index x = 0; x < nodes_.end_index(); ++x) {
    if (nodes_[x].seq == 0) continue;
    ++used;
    if (find(nodes_[x].id) != x) broken.push_back(name_of_slot(x) + " is not found by its id");
    if (nodes_[x].parent != none) ++children[nodes_[x].parent];
  }
  if (used != nodes_.size()) broken.push_back("the number of live operations is not the number of nodes");
  for (index x = 0; x < nodes_.end_index(); ++x) {
    const auto at = children.find(x);
    if (nodes_[x].children != (at == children.end() ? 0 : at->second))
      broken.push_back(name_of_slot(x) + " miscounts its children");
  }
}

void operation_table::check_children(index x, std::vector<std::string>& broken) const {
  const operation_node& n = nodes_[x];
  std::uint64_t listed = 0, live = 1;
  index before = none;
  for (index c = n.first_child; c != none && listed <= n.children; c = nodes_[c].next_sibling) {
    ++listed;
    if (nodes_[c].parent != x || nodes_[c].previous_sibling != before)
      broken.push_back(name_of_slot(c) + " is linked wrongly among the children of " + name_of_slot(x));
    before = c;
    if (!nodes_[c].detached) live += nodes_[c].live_below;
  }
  if (listed != n.children) broken.push_back(name_of_slot(x) + " does not list its children");
  if (live != n.live_below) broken.push_back(name_of_slot(x) + " miscounts the live operations below it");
  if (n.details && n.details->stop.has_value() != n.is_stopped())
    broken.push_back(name_of_slot(x) + " is stopped, and nothing says why, or the reverse");
}

void operation_table::check_scopes(std::vector<std::string>& broken) const {
  std::map<index, std::uint64_t> live, turns, stopping, deferred;
  std::map<index, counts_of_worker> workers;
  for (index x = 0; x < nodes_.end_index(); ++x) {
    const operation_node& n = nodes_[x];
    if (n.seq == 0) continue;
    if (n.as_of < n.seq) ++deferred[n.scope];
    for (index at = n.scope; at != none; at = scopes_[at].parent) {
      ++live[at];
      if (n.kind == quell::kind::turn) ++turns[at];
      if (n.is_stopped()) ++stopping[at];
      if (n.is_held()) ++workers[at][n.worker];
    }
  }
  std::size_t listed = 0;
  const auto check_one = [&](index scope) {
    const scope_node& node = scopes_[scope];
    const std::string name = scope == scope_tree::root ? "the root scope" : "scope " + node.path.text();
    if (node.live != live[scope] || node.turns != turns[scope] || node.stopping != stopping[scope] ||
        node.deferred != deferred[scope] || !is_same_count(node.workers, workers[scope]))
      broken.push_back(name + " miscounts its operations");
    for (const bool stopped : {false, true}) {
      const operation_list& list = stopped ? node.stopped : node.plain;
      index before = none;
      for (index x = list.head; x != none && listed <= nodes_.size(); x = nodes_[x].scope_next) {
        ++listed;
        if (nodes_[x].scope != scope || nodes_[x].is_stopped() != stopped || nodes_[x].scope_previous != before)
          broken.push_back(name_of_slot(x) + " is in the wrong list of " + name);
        if (!stopped && before != none && nodes_[before].seq > nodes_[x].seq)
          broken.push_back(name_of_slot(x) + " is behind a newer one in the list of " + name);
        before = x;
      }
      if (list.tail != before) broken.push_back(name + " has a list whose end is wrong");
    }
  };
  check_one(scope_tree::root);
  for (const auto& [text, scope] : scopes_.by_text()) check_one(scope);
  if (listed != nodes_.size()) broken.push_back("the lists of the scopes do not hold each operation once");
}

void operation_table::check_workers(std::vector<std::string>& broken) const {
  std::map<index, counts_of_worker> below;
  std::unordered_map<std::string, guild_shares::share> shares;
  std::size_t held = 0, listed = 0;
  for (index x = 0; x < nodes_.end_index(); ++x) {
    if (nodes_[x].seq == 0) continue;
    if (nodes_[x].need != none && shares_.most_of(guild_of(x)) > 0) {
      guild_shares::share& share = shares[guild_of(x)];
      ++share.tasks;
      if (nodes_[x].is_held()) share.held += slots_of(x);
    }
    if (!nodes_[x].is_held()) continue;
    ++held;
    for (index at = parent_of(x); at != none; at = parent_of(at)) ++below[at][nodes_[x].worker];
  }
  for (index w = 0; w < worker_states_.size(); ++w) {
    std::uint64_t live = 0, slots = 0;
    index before = none;
    for (index x = worker_states_[w].head; x != none && listed <= held; x = nodes_[x].worker_next) {
      ++listed;
      ++live;
      slots += slots_of(x);
      if (!nodes_[x].is_held() || nodes_[x].worker != w || nodes_[x].worker_previous != before)
        broken.push_back(name_of_slot(x) + " is wrongly listed as held by a worker");
      before = x;
    }
    if (live != worker_states_[w].live || slots != worker_states_[w].slots)
      broken.push_back("worker " + std::to_string(w) + " miscounts what it holds");
  }
  if (listed != held) broken.push_back("the workers do not list each held operation once");
  if (shares.size() != shares_.all().size()) broken.push_back("the guilds with a limit of slots are miscounted");
  for (const auto& [guild, share] : shares_.all()) {
    const auto& counted = shares[guild];
    if (share.tasks != counted.tasks || share.held != counted.held)
      broken.push_back("the slots that guild " + guild + " holds are miscounted");
    if (const index x = share.first; x != none && (nodes_[x].seq == 0 || guild_of(x) != guild || counted.held == 0))
      broken.push_back("guild " + guild + " waits for a task that is not its own");
  }
  for (index x = 0; x < nodes_.end_index(); ++x) {
    const auto& more = nodes_[x].details;
    if (!is_same_count(more ? more->workers_below : worker_counts{}, below[x]))
      broken.push_back(name_of_slot(x) + " miscounts the held operations below it");
  }
}

void operation_table::check_keys(std::vector<std::string>& broken) const {
  std::size_t with_keys = 0, listed = 0;
  for (index x = 0; x < nodes_.end_index(); ++x)
    if (nodes_[x].details && !nodes_[x].details->supersede.empty()) ++with_keys;
  for (const auto& [key, holders] : superseding_) {
    listed += holders.size();
    if (holders.empty()) broken.push_back("supersede key " + key.second + " is kept for nobody");
    for (std::size_t i = 0; i < holders.size(); ++i) {
      const operation_node& n = nodes_[holders[i]];
      const bool has_it = n.scope == key.first && n.details && n.details->supersede == key.second;
      const bool is_ordered = i == 0 || nodes_[holders[i - 1]].seq < n.seq;
      if (!has_it || !is_ordered) broken.push_back(name_of_slot(holders[i]) + " is wrongly listed under its key");
    }
  }
  if (listed != with_keys) broken.push_back("the supersede keys do not list each of their operations once");
}

void operation_table::check_counts(std::vector<std::string>& broken) const {
  decltype(by_kind_) by_kind{};
  std::map<index, std::uint32_t> live_of, by_token, turns_by_token, by_reason;
  std::map<std::pair<index, index>, author_share> shares;
  std::map<std::uint64_t, index> exchanges;
  for (index x = 0; x < nodes_.end_index(); ++x) {
    const operation_node& n = nodes_[x];
    if (n.seq == 0) continue;
    if (n.kind == quell::kind::exchange) exchanges[n.seq] = x;
    const status now = n.now;
    ++by_kind[static_cast<std::size_t>(n.kind)][static_cast<std::size_t>(now)];
    ++live_of[n.owner];
    author_share& share = shares[{n.token, n.owner}];
    ++share.live;
    if (n.kind == quell::kind::turn) ++share.turns;
    ++by_token[n.token];
    if (n.kind == quell::kind::turn) ++turns_by_token[n.token];
    if (n.waiting != none) ++by_reason[n.waiting];
  }
  const auto is_listed = [](const auto& one, index x) { return one.second == x; };
  if (!std::equal(exchanges.begin(), exchanges.end(), exchanges_.begin(), exchanges_.end(), is_listed))
    broken.push_back("the exchanges are not listed once each");
  if (by_kind != by_kind_) broken.push_back("the operations of some kind and status are miscounted");
  std::map<index, std::uint32_t> listed_of;
  for (index owner = 0; owner < owner_heads_.size(); ++owner) {
    index before = none;
    each_of_owner(owner, [&](index x) {
      ++listed_of[owner];
      if (nodes_[x].seq == 0 || nodes_[x].owner != owner || nodes_[x].owner_previous != before)
        broken.push_back(name_of_slot(x) + " is wrongly listed under its owner");
      before = x;
    });
  }
  if (listed_of != live_of) broken.push_back("the owners do not list each of their operations once");
  for (const auto& [owner, live] : live_of)
    if (owners_.holders(owner) < live)
      broken.push_back("the operations of owner " + owners_[owner] + " are miscounted");
  for (const auto& [whose, share] : shares)
    if (authors_.of(whose.first, whose.second) != share)
      broken.push_back("the operations that a token started for owner " + owners_[whose.second] + " are miscounted");
  if (authors_.size() != shares.size()) broken.push_back("an author's share is kept for nobody");
  for (const auto& [token, live] : by_token)
    if (tokens_.holders(token) != live)
      broken.push_back("the operations of token " + tokens_[token] + " are miscounted");
  for (index token = 0; token < turns_of_tokens_.size(); ++token)
    if (turns_of_tokens_.of(token) != turns_by_token[token])
      broken.push_back("the turns of token " + std::to_string(token) + " are miscounted");
  if (tokens_.size() != by_token.size()) broken.push_back("a token is kept for nobody");
  for (const auto& [reason, waiting] : by_reason)
    if (reasons_.holders(reason) != waiting) broken.push_back("a reason to wait is miscounted");
  if (reasons_.size() != by_reason.size()) broken.push_back("a reason to wait is kept for nobody");
}

} // namespace quell::controller::live
