// A workspace stays where it is as long as its worker may come back or no other could hold it.
#include "actors/turns/workspace_choice.hpp"

#include <algorithm>

#include "protocol/duration.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {
namespace {

using choice_kind = workspace_choice::kind;

bool has_all(const std::map<std::string, std::string>& on, const worker_view& w) {
  return std::all_of(on.begin(), on.end(), [&](const auto& wanted) {
    const auto at = w.record.labels.find(wanted.first);
    return at != w.record.labels.end() && at->second == wanted.second;
  });
}

bool fits(const std::optional<std::string>& worker, const std::map<std::string, std::string>& on,
          const worker_view& w) {
  return w.record.joined_at && (!worker || *worker == w.record.name) && has_all(on, w);
}

bool can_hold(const worker_view& w) { return has_all({{workspaces_label, workspaces_label_value}}, w); }

std::uint32_t free_slots(const worker_view& w) {
  return w.record.slots > w.slots_used ? w.record.slots - w.slots_used : 0;
}

struct candidates {
  std::optional<std::string> best; ///< takes work now and can hold one: the one with the most free slots
  std::string unable;              ///< connected, fits, and cannot hold one
};

candidates find_candidates(const workspace_need& need, const fleet& workers, moment now) {
  candidates found;
  std::uint32_t most = 0;
  for (const auto& w : workers.workers(now)) {
    if (w.status != worker_status::ready || !fits(need.wanted_worker, need.wanted_on, w)) continue;
    if (!can_hold(w)) {
      found.unable = w.record.name;
    } else if (!w.trouble && (!found.best || free_slots(w) > most)) {
      found.best = w.record.name;
      most = free_slots(w);
    }
  }
  return found;
}

workspace_choice refused(failure_code code, std::string why) {
  workspace_choice out;
  out.what = choice_kind::refuse;
  out.why = failure_of(code, std::move(why));
  return out;
}

workspace_choice choose_new(const std::optional<workspace_row>& row, const workspace_need& need, const fleet& workers,
                            moment now, const std::string& lost) {
  const auto found = find_candidates(need, workers, now);
  workspace_choice out;
  if (found.best) {
    out.what = choice_kind::fresh;
    workspace_row none;
    out.row = fresh_after(row.value_or(none), need, *found.best, lost, now.wall);
  } else if (!found.unable.empty()) {
    return refused(failure_code::workspace_isolation,
                   "nothing was started: worker " + found.unable +
                       " cannot keep the workspaces of conversations apart, and no other worker is there. An admin can "
                       "run a worker as root with its sandbox on (`quell worker show " +
                       found.unable + "` says what is missing), or set workspace_mode = \"shared\" for this agent");
  } else {
    out.what = choice_kind::wait;
  }
  return out;
}

} // namespace

workspace_row fresh_after(const workspace_row& row, const workspace_need& need, const std::string& worker,
                          const std::string& why, wall_time now) {
  workspace_row out;
  out.key = need.key;
  out.worker = worker;
  out.name = workspace_name(need.scope, need.mark);
  out.lost = row.used ? why : row.lost; // nothing is lost with a workspace that nobody has used
  out.used_at = now;
  out.keep = need.keep;
  return out;
}

milliseconds unused_time(const workspace_row& row) { return row.keep - row.keep / 10; }

bool is_due_for_removal(const workspace_row& row, wall_time now) {
  return row.keep.count() > 0 && now - row.used_at > unused_time(row);
}

workspace_choice choose_workspace(const std::optional<workspace_row>& row, const workspace_need& need,
                                  const fleet& workers, moment now) {
  if (!row) return choose_new(row, need, workers, now, {});
  if (is_due_for_removal(*row, now.wall) && !need.is_in_use)
    return choose_new(row, need, workers, now,
                      "they were not used for " + duration_text(row->keep) + " and were removed");
  const auto holder = workers.worker(row->worker, now);
  workspace_choice stays;
  stays.row = *row;
  if (need.is_turn_start && holder && holder->record.joined_at && !fits(need.worker, need.on, *holder))
    return choose_new(row, need, workers, now,
                      "this agent is now configured for other workers than " + row->worker + ", where they are");
  if (!holder || holder->status == worker_status::lost) {
    const auto why = "worker " + row->worker + ", which held them, is lost";
    auto moved = choose_new(row, need, workers, now, why);
    if (moved.what == choice_kind::refuse && holder) moved.what = choice_kind::wait; // nobody else could hold it
    return moved;
  }
  if (need.wanted_worker && *need.wanted_worker != row->worker)
    return refused(failure_code::invalid_input,
                   "`worker`: the files of this conversation are on worker " + row->worker + "; work there");
  if (!fits(need.wanted_worker, need.wanted_on, *holder))
    return refused(failure_code::invalid_input, "`on`: the files of this conversation are on worker " + row->worker +
                                                    ", which has other labels; work there");
  if (holder->status != worker_status::ready) {
    // Not a task that waits for it: if it is lost after all, the conversation moves on.
    stays.what = choice_kind::wait;
    return stays;
  }
  if (!can_hold(*holder))
    return refused(failure_code::workspace_isolation,
                   "nothing was started: worker " + row->worker +
                       ", which has the files of this conversation, cannot keep workspaces apart any more; `quell "
                       "worker show " +
                       row->worker + "` says what is missing");
  return stays;
}

} // namespace quell::controller::turns
