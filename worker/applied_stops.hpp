// The worker's memory of stops: cutoffs of scopes and closed operations, by which a start is judged stale (DESIGN 2,
// 3.1). Pure.
//
// Bounded, and safe to prune: after the stop of a target a controller sends no start below that target, and both travel
// in order on one channel. This class is the second check, for starts that came before the stop (queued here, held, or
// repeated), and its entries are never needed for longer than such starts exist. So the oldest entries are dropped
// first, and 65,536 of each kind are far more than can be in flight.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/messages.hpp"

namespace quell::worker {

class applied_stops {
 public:
  explicit applied_stops(std::size_t limit = 65'536) : limit_(limit) {}

  void record(const wire::stop& s);
  /// The stop `seq` closes `operation` and everything below it. The first stop is kept.
  void close(const operation_id& operation, std::uint64_t seq);
  bool closed(const operation_id& operation) const { return closed_.contains(operation); }

  /// The seq of the stop that makes work with these properties stale, or nullopt if it can start.
  std::optional<std::uint64_t> covers(const operation_id& operation, const std::vector<operation_id>& ancestors,
                                      const scope_path& scope, std::uint64_t as_of) const;
  std::size_t size() const { return cutoffs_.size() + closed_.size(); }

 private:
  struct cutoff {
    std::uint64_t at = 0;
    std::uint64_t seq = 0;
  };
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };

  std::size_t limit_;
  std::unordered_map<std::string, cutoff, text_hash, std::equal_to<>> cutoffs_;
  std::deque<std::string> cutoffs_by_age_;
  std::unordered_map<operation_id, std::uint64_t> closed_;
  std::deque<operation_id> closed_by_age_;
};

} // namespace quell::worker
