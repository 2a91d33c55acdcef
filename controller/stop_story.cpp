// The order of the acknowledgements, and quell's own texts.
#include "controller/stop_story.hpp"

#include <algorithm>
#include <utility>

#include "protocol/printable.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::size_t most_name_bytes = 60, most_named_here = 3;

/// A name is what somebody called foreign work: no line of it may look like ours.
std::string listed(const std::vector<not_known>& some, std::uint64_t total) {
  std::string all;
  std::uint64_t named = 0;
  for (const auto& one : some) {
    if (named == most_named_here) break;
    ++named;
    all += (all.empty() ? "" : ", ") + std::string(utf8_prefix(printable(one.name), most_name_bytes)) + " (" + one.why +
           ")";
  }
  if (total > named) all += (all.empty() ? "" : " and ") + std::to_string(total - named) + (named > 0 ? " more" : "");
  return all;
}

std::string words_aloud(stop_telling what, const std::vector<not_known>& some, std::uint64_t total) {
  switch (what) {
  case stop_telling::stopping:
    return "Okay, stopping.";
  case stop_telling::stopped:
    return stopped_aloud({});
  case stop_telling::unproven:
    return "Still stopping, not proven: " + listed(some, total) + ".";
  case stop_telling::unconfirmed:
    if (total == 0) return "It is not known whether everything has ended.";
    return "Not known to have ended: " + listed(some, total) + ". Everything else has ended.";
  case stop_telling::reaction:
  case stop_telling::words:
    return {};
  }
  return {};
}

} // namespace

const char* name_of(stop_telling t) {
  switch (t) {
  case stop_telling::stopping:
    return "stopping";
  case stop_telling::unproven:
    return "unproven";
  case stop_telling::stopped:
    return "stopped";
  case stop_telling::unconfirmed:
    return "unconfirmed";
  case stop_telling::reaction:
  case stop_telling::words:
    return "";
  }
  return "";
}

bool more_follows(std::string_view state) {
  return state == name_of(stop_telling::stopping) || state == name_of(stop_telling::unproven);
}

void stop_story::answered(std::string words) {
  if (!std::exchange(is_asking_, false)) return;
  words_ = std::move(words);
}

std::optional<stop_telling> stop_story::tell(stop_telling what, bool is_last) {
  last_ = what;
  is_over_ = is_last;
  return what;
}

std::optional<stop_telling> stop_story::next() {
  if (is_over_) return std::nullopt;
  if (proven_ == false) return tell(stop_telling::unconfirmed, true);
  if (is_stuck_ && !proven_ && last_ != stop_telling::unproven) return tell(stop_telling::unproven, false);
  if (is_asking_) return std::nullopt;
  if (!proven_) {
    if (last_) return std::nullopt;
    if (words_.empty()) return tell(has_listeners_ ? stop_telling::stopping : stop_telling::reaction, false);
    if (!is_patient_) return tell(stop_telling::stopping, false);
    return std::nullopt;
  }
  if (!words_.empty()) return tell(stop_telling::words, true);
  if (!last_ && !has_listeners_) return tell(stop_telling::reaction, true);
  if (last_ != stop_telling::reaction) return tell(stop_telling::stopped, true);
  is_over_ = true;
  return std::nullopt;
}

std::vector<stuck_operation> stuck_in(const cancel_view& view, bool is_late, workers_are workers) {
  std::vector<stuck_operation> found;
  if (view.record.status == cancel_status::settled) return found;
  for (const auto& u : view.unproven) {
    switch (u.why) {
    case unproven_why::worker_unreachable:
      if (workers == workers_are::coming_back && !is_late) break;
      found.push_back({u.operation, "worker " + u.worker.value_or("?") + " is unreachable"});
      break;
    case unproven_why::stuck_in_kernel:
      found.push_back({u.operation, "a process is stuck in the kernel"});
      break;
    case unproven_why::no_permission:
      found.push_back({u.operation, "its worker may not signal it"});
      break;
    case unproven_why::kill_in_flight:
    case unproven_why::signal_in_flight:
      if (is_late) found.push_back({u.operation, "its worker has not confirmed the kill"});
      break;
    case unproven_why::in_grace:
    case unproven_why::awaiting_owner:
      break; // its time is not over
    }
  }
  return found;
}

std::string why_not_known(receipt how) {
  if (how == receipt::unconfirmed) return "unconfirmed: it was told to stop and did not say that it has";
  if (how == receipt::declared) return "declared dead by an admin, not seen to end";
  return {};
}

std::string stopped_aloud(const std::vector<std::string>& interrupted) {
  std::string all;
  std::size_t named = 0;
  for (; named < std::min(interrupted.size(), most_named_here); ++named)
    all += (all.empty() ? ": " : ", ") + std::string(utf8_prefix(interrupted[named], most_name_bytes));
  if (interrupted.size() > named) all += " and " + std::to_string(interrupted.size() - named) + " more";
  return "Stopped" + all + ".";
}

std::string own_words(stop_telling what, const std::vector<not_known>& some, std::uint64_t total, audience to) {
  if (to == audience::listeners) return words_aloud(what, some, total);
  switch (what) {
  case stop_telling::stopping:
    return "🛑 stopping…";
  case stop_telling::stopped:
    return "🛑 stopped";
  case stop_telling::unproven:
    return "⚠️ still stopping, not proven: " + listed(some, total);
  case stop_telling::unconfirmed:
    if (total == 0) return "⚠️ it is not known any more whether everything has ended";
    return "⚠️ not known to have ended: " + listed(some, total) + "; everything else has ended";
  case stop_telling::reaction:
  case stop_telling::words:
    return {};
  }
  return {};
}

} // namespace quell::controller::turns
