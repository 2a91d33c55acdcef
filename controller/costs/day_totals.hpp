// Today's use, as far as a budget of a day needs it. Pure.
//
// A budget keeps one sum for each day and each of those for whom it counts, so the memory is bounded by the number of
// budgets and of the authors (or scopes) that used a model today. Sums of the day before and after today are kept, too:
// a clock that goes back over midnight finds what it had counted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "controller/costs/days.hpp"
#include "controller/costs/limits.hpp"

namespace quell::controller::costs {

class day_totals {
 public:
  explicit day_totals(std::vector<day_budget> budgets);

  void add(utc_day day, const scope_path& scope, const std::string& author, const model_usage& used);

  /// The first budget that has nothing left for this author in this scope: what is used, what the limit is, and when it
  /// begins anew; nullopt: none.
  std::optional<std::string> why_exhausted(const scope_path& scope, const std::string& author, wall_time now) const;

  std::size_t size() const { return sums_.size(); }

 private:
  struct sum {
    std::uint64_t cost_nanos = 0, tokens = 0;
  };
  using key = std::tuple<utc_day, std::size_t, std::string>; ///< day, budget, for whom

  /// For whom this budget counts what happens there; nullopt: it does not count it.
  static std::optional<std::string> whose(const day_budget& budget, const scope_path& scope, const std::string& author);

  /// The numbers of the budgets at or above `scope`, in their order.
  std::vector<std::size_t> budgets_of(const scope_path& scope) const;

  std::vector<day_budget> budgets_;
  std::vector<std::size_t> everywhere_;                                   ///< numbers of those without a scope
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_scope_; ///< numbers of the others
  std::map<key, sum> sums_;
};

} // namespace quell::controller::costs
