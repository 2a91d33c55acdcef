// Lists of many callers: who has used little time lately gets a first, brief try on a thread of ordinary priority; what
// that does not finish, and everything of the others, waits for the threads of low priority. Pure; the caller passes
// the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gateway/fair_queue.hpp"
#include "gateway/recent_use.hpp"

namespace quell::controller::http {

/// How a list is read.
enum class list_try : std::uint8_t { brief, full };
/// Whether a job is worth a brief try: a read that ends where its time ends, and can be repeated.
enum class list_nature : std::uint8_t { divisible, whole };

template <class Job>
class list_queue {
 public:
  using clock = recent_use::clock;
  /// A caller whose lists have used less of a processor than this lately gets brief tries: about 14 % of a core can be
  /// read so for good.
  static constexpr std::chrono::milliseconds little_use{200};
  static constexpr std::chrono::seconds use_half_life{1};
  /// Brief tries of one caller that wait; its further lists are read in full.
  static constexpr std::size_t most_waiting_brief = 4;

  struct taken {
    std::string who;
    Job job;
    list_try how = list_try::full;
  };

  /// At most `most_running` jobs of one caller are read in full at a time, and one is tried.
  explicit list_queue(std::size_t most_running) : full_(most_running) {}

  /// Where the job waits; nullopt, and it is not kept, if `most_waiting` jobs of this caller wait to be read in full.
  /// Dead jobs as in `fair_queue`.
  template <class IsDead, class Drop>
  std::optional<list_try> put(const std::string& who, Job job, list_nature nature, std::size_t most_waiting,
                              clock::time_point now, const IsDead& is_dead, const Drop& drop) {
    if (nature == list_nature::divisible && has_used_little(who, now) &&
        brief_.put(who, job, most_waiting_brief, is_dead, drop))
      return list_try::brief;
    if (full_.put(who, std::move(job), most_waiting, is_dead, drop)) return list_try::full;
    return std::nullopt;
  }

  /// The next job for a thread of this kind; it counts as running until `done`.
  std::optional<taken> take(list_try how) {
    auto next = how == list_try::brief ? brief_.take() : full_.take();
    if (!next) return std::nullopt;
    return taken{std::move(next->first), std::move(next->second), how};
  }

  /// True if the job, taken for a brief try, must be tried: its caller may have used too much since it came.
  bool is_worth_trying(const taken& what, clock::time_point now) const { return has_used_little(what.who, now); }

  void done(const taken& what, clock::duration spent, clock::time_point now) {
    (what.how == list_try::brief ? brief_ : full_).done(what.who, static_cast<std::uint64_t>(spent.count()));
    used_.add(what.who, spent, now);
  }

  /// After `done`, for a brief try that did not finish its job.
  void read_in_full(taken what) {
    const auto nobody = [](const Job&) { return false; };
    full_.put(what.who, std::move(what.job), static_cast<std::size_t>(-1), nobody, [](Job) {});
  }

 private:
  bool has_used_little(const std::string& who, clock::time_point now) const { return used_.of(who, now) < little_use; }

  fair_queue<Job> brief_{1};
  fair_queue<Job> full_;
  recent_use used_{use_half_life};
};

} // namespace quell::controller::http
