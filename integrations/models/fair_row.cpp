// Three levels of lines: the row, its groups, their scopes. Each line has a virtual time, which passes by one unit
// while each line below it has one turn; a line that is due at the lowest time is next.
#include "integrations/models/fair_row.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <vector>

namespace quell::integrations {
namespace {

constexpr std::uint64_t unit = 1ULL << 20; ///< of virtual time: one turn
constexpr std::size_t idle_kept = 64;      ///< lines that nobody waits in, before they are swept

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

fair_row::seat fair_row::enter(entry who, std::string_view scope) {
  const auto first = scope.find('/');
  const auto second = first == std::string_view::npos ? first : scope.find('/', first + 1);
  line* group = all_->find(scope.substr(0, second));
  line* own = group->find(scope);
  group->add(*own);
  all_->add(*group);
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
  if (all_->ready.empty()) return;
  line& group = *std::get<line*>(*all_->ready.begin());
  line& own = *std::get<line*>(*group.ready.begin());
  own.waiting.pop_front();
  // The line can be forgotten by this.
  group.advance(own);
  all_->advance(group);
  --all_->count;
}

void fair_row::leave(const seat& from) {
  line& own = *from.of_;
  line& group = *own.above;
  own.waiting.erase(from.at_);
  group.remove(own);
  all_->remove(group);
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
  line& own = *one.of_;
  const auto in_line = static_cast<std::size_t>(std::distance(own.waiting.begin(), one.at_));
  return before(before(in_line, own), *own.above);
}

std::size_t fair_row::size() const { return all_->count; }

std::size_t fair_row::remembered() const {
  std::size_t lines = all_->below.size();
  for (const auto& [name, group] : all_->below) lines += group->below.size();
  return lines;
}

} // namespace quell::integrations
