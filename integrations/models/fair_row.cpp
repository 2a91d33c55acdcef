// Levels of lines: the row, its groups and tenants, the groups of a tenant, the scopes of a group. Each line has a
// virtual time, which passes by one unit while each line below it has one turn; a line that is due at the lowest time
// is next.
#include "integrations/models/fair_row.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <vector>

namespace quell::integrations {
namespace {

constexpr std::uint64_t unit = 1ULL << 20; ///< of virtual time: one turn
constexpr std::size_t idle_kept = 64;      ///< lines that nobody waits in, before they are swept
constexpr char tenant_mark = '\n';         ///< begins the name of a tenant's line; no scope has it

} // namespace

struct fair_row::line {
  using due = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, line*>; ///< see `due_of`

  line* above = nullptr;
  std::string name;
  std::uint64_t at = 0;     ///< the time above it at which it is due
  std::uint64_t served = 0; ///< the number of its last turn; 0 = none
  std::uint64_t came = 0;   ///< the number of its coming
  std::size_t count = 0;    ///< entries in it and below

  std::list<entry> waiting;                                        ///< of a scope
  std::map<std::string, std::unique_ptr<line>, std::less<>> below; ///< of the row and of a group
  std::set<due> ready;                                             ///< lines below in which somebody waits
  std::uint64_t now = 0, turns = 0, comings = 0;                   ///< of the lines below

  due due_of() { return {at, served, came, this}; }

  line* find(std::string_view key) {
    auto found = below.find(key);
    if (found == below.end()) {
      found = below.emplace(std::string(key), std::make_unique<line>()).first;
      found->second->above = this;
      found->second->name = found->first;
    }
    return found->second.get();
  }

  void add(line& one) {
    if (one.count++ > 0) return;
    one.at = std::max(one.at, now);
    one.came = ++comings;
    ready.insert(one.due_of());
  }

  std::size_t lines_below() const {
    std::size_t lines = below.size();
    for (const auto& [name_of_it, one] : below) lines += one->lines_below();
    return lines;
  }

  /// The first line below has a turn.
  void advance(line& first) {
    ready.erase(first.due_of());
    now += unit / (ready.size() + 1);
    first.at += unit;
    first.served = ++turns;
    if (--first.count > 0) ready.insert(first.due_of());
    sweep();
  }

  void remove(line& one) {
    if (--one.count > 0) return;
    ready.erase(one.due_of());
    sweep();
  }

  /// Forgets lines that nobody waits in and whose last turn is long ago. Some are kept: a group that has just had a
  /// turn is not taken for a new one.
  void sweep() {
    if (below.size() <= 2 * ready.size() + idle_kept) return;
    std::erase_if(below, [&](const auto& one) { return one.second->count == 0 && one.second->at <= now; });
  }
};

fair_row::fair_row() : all_(std::make_unique<line>()) {}
fair_row::~fair_row() = default;

fair_row::seat fair_row::enter(entry who, std::string_view scope, std::string_view tenant) {
  const auto first = scope.find('/');
  const auto second = first == std::string_view::npos ? first : scope.find('/', first + 1);
  line* above = tenant.empty() ? all_.get() : all_->find(tenant_mark + std::string(tenant));
  line* own = above->find(scope.substr(0, second))->find(scope);
  for (line* at = own; at->above; at = at->above) at->above->add(*at);
  ++all_->count;
  seat made;
  made.of_ = own;
  made.at_ = own->waiting.insert(own->waiting.end(), who);
  return made;
}

fair_row::entry fair_row::front() const {
  const line* at = all_.get();
  while (!at->ready.empty()) at = std::get<line*>(*at->ready.begin());
  return at->waiting.empty() ? nullptr : at->waiting.front();
}

void fair_row::pop_front() {
  line* own = all_.get();
  while (!own->ready.empty()) own = std::get<line*>(*own->ready.begin());
  if (own == all_.get()) return;
  own->waiting.pop_front();
  for (line* above = own->above; above; own = above, above = own->above) above->advance(*own); // which can forget it
  --all_->count;
}

void fair_row::leave(const seat& from) {
  line* own = from.of_;
  own->waiting.erase(from.at_);
  for (line* above = own->above; above; own = above, above = own->above) above->remove(*own); // which can forget it
  --all_->count;
}

std::size_t fair_row::ahead_of(const seat& one) const {
  // Of each other line as many as this one has turns until then, and one more if it is due before.
  const auto before = [](std::size_t own, line& mine) {
    std::size_t others = 0;
    for (const auto& [at, served, came, other] : mine.above->ready)
      if (other != &mine) others += std::min(other->count, own + (other->due_of() < mine.due_of() ? 1 : 0));
    return own + others;
  };
  auto ahead = static_cast<std::size_t>(std::distance(one.of_->waiting.begin(), one.at_));
  for (line* at = one.of_; at->above; at = at->above) ahead = before(ahead, *at);
  return ahead;
}

std::size_t fair_row::size() const { return all_->count; }

std::size_t fair_row::remembered() const { return all_->lines_below(); }

} // namespace quell::integrations
