// The gateway's counters for /metrics. Belongs to the requests' thread, except `received`.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "controller/records/records.hpp"
#include "gateway/histogram.hpp"

namespace quell::controller::http {

class metric_counts {
 public:
  /// Settled cancels beyond this number between two scrapes are not timed, since each costs the read of a row.
  static constexpr std::size_t most_untimed = 10'000;

  /// Counts a committed event. Any thread, in commit order.
  void on_event(const records::event_record& event);
  /// Returns the settled cancels whose times have not been taken yet, and forgets them.
  std::vector<cancel_id> take_settled();
  /// Adds the times of a settled cancel.
  void settled(const records::report_counts& report);
  /// Counts an answered request of this route (its pattern).
  void answered(std::string_view method, std::string_view route, double seconds);

  std::map<std::string_view, std::uint64_t> events_by_type() const;
  std::map<std::string, std::uint64_t> turns_by_end() const;
  /// Of the model calls that have ended, by the model's configured name.
  struct model_use {
    std::uint64_t input = 0, output = 0, cached = 0;
    double cost = 0;
  };
  std::map<std::string, model_use> use_by_model() const;

  struct route_name {
    std::string method, route;
  };
  struct by_route {
    using is_transparent = void;
    template <class Left, class Right>
    bool operator()(const Left& left, const Right& right) const {
      const auto methods = std::string_view(left.method).compare(right.method);
      return methods != 0 ? methods < 0 : std::string_view(left.route) < std::string_view(right.route);
    }
  };
  std::map<route_name, histogram, by_route> requests;
  std::map<unsigned, std::uint64_t> answers_by_status;
  histogram fenced, signalled, settled_seconds;
  std::uint64_t refused_for_rate = 0, cancels_untimed = 0;

 private:
  mutable std::mutex mutex_;
  std::map<event_type, std::uint64_t> events_; // under mutex_, like the next three
  std::map<std::string, std::uint64_t> turns_;
  std::map<std::string, model_use> models_;
  std::vector<cancel_id> unread_;
  std::atomic<std::uint64_t> missed_{0};
};

} // namespace quell::controller::http
