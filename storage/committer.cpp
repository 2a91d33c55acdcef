// Batches into durable commits. The failure that matters here: a failed transaction can leave frames in the WAL, but
// without a valid commit frame; the next transaction overwrites them and recovery ignores them. Only after an error of
// the disk itself is the state unknown: then nothing more is written, and the next start reads what is on disk.
#include "storage/committer.hpp"

#include <SQLiteCpp/Database.h>

#include <algorithm>

#include "controller/store_code.hpp"
#include "storage/faults.hpp"
#include "storage/schema.hpp"

namespace quell::storage {
namespace {

constexpr std::uint64_t nudge_every_frames = 1'000; // 4 MiB
// 64 MiB, which only a load without pauses reaches. By then the checkpointer has moved nearly everything, so the
// writer's part is short.
constexpr std::uint64_t longest_wal_frames = 16'000;
// 400 KiB, on a disk that is nearly full: the WAL must not use up the space that the database needs to take it in.
constexpr std::uint64_t longest_wal_frames_when_low = 100;
constexpr std::uint64_t prune_every_events = 64;

/// Counts a change of an operation's row.
struct change_counter {
  controller::row_changes& changes;
  void operator()(const update_operation& e) const { changes.note(e.id); }
  void operator()(const put_call_change& e) const { changes.note(e.operation); }
  void operator()(const records::put_late& e) const { changes.note(e.operation); }
  void operator()(const records::drop_operation& e) const { changes.note(e.id); }
  template <class Other>
  void operator()(const Other&) const {}
};

} // namespace

committer::committer(std::unique_ptr<SQLite::Database> database, const journal::options& options, ballast& reserve,
                     checkpoints who)
    : options_(options), reserve_(reserve), database_(std::move(database)),
      writer_(std::make_unique<writer>(*database_)) {
  if (who == checkpoints::beside_the_writer) checkpointer_.emplace(options.directory + "/" + database_file);
}

committer::~committer() = default;

void committer::commit(std::span<const pending_batch> group, const notice_function& notice) {
  const auto tell = [&](std::uint64_t ticket, std::optional<fault> failure) {
    if (notice) notice({ticket, std::move(failure)});
  };
  const auto fail_all = [&](const fault& why) {
    for (const auto& batch : group) tell(batch.ticket, why);
  };
  if (broken_) return fail_all(*broken_);
  if (std::any_of(group.begin(), group.end(), [this](const auto& batch) { return is_barred(batch); })) {
    if (group.size() > 1) {
      for (const auto& batch : group) commit({&batch, 1}, notice);
      return;
    }
    const auto why = why_refused_;
    refused(group.front(), why);
    return tell(group.front().ticket, why);
  }
  reserve_.tend();
  auto result = attempt(group);
  if (result.what != verdict::written && out_of_space_) result = attempt_again_without_ballast(group);
  count_changes(group);
  switch (result.what) {
  case verdict::written:
    tell(group.back().ticket, std::nullopt);
    break;
  case verdict::locked:
    for (const auto& batch : group) refused(batch, result.why);
    fail_all(result.why);
    break; // each further attempt would wait as long again
  case verdict::broken:
    broken_ = result.why;
    // A quota can be the cause, but it is unknown what reached the disk, and more space does not settle that.
    if (has_code(*broken_, store_code::disk_full)) broken_->code = name_of(store_code::disk_error);
    fail_all(*broken_);
    break;
  case verdict::refused:
    if (group.size() == 1) {
      refused(group.front(), result.why);
      return tell(group.front().ticket, result.why);
    }
    // One batch is at fault, or the batches are too large together: a small cancel must not fail because of its
    // neighbour.
    for (const auto& batch : group) commit({&batch, 1}, notice);
    return;
  }
  if (result.what == verdict::written) keep_wal_short();
}

committer::outcome committer::attempt(std::span<const pending_batch> group) {
  out_of_space_ = false;
  if (std::all_of(group.begin(), group.end(), [](const auto& batch) { return batch.entries.empty(); })) return {};
  try {
    writer_->begin();
    for (const auto& batch : group)
      for (const auto& what : batch.entries) writer_->apply(what);
    prune(group);
    writer_->commit();
    return {};
  } catch (const std::exception& e) {
    writer_->rollback();
    out_of_space_ = is_out_of_space(e);
    const auto why = to_fault(e, options_.directory, "write");
    if (is_locked(e)) return {verdict::locked, why};
    return {is_fatal(e) ? verdict::broken : verdict::refused, why};
  }
}

committer::outcome committer::attempt_again_without_ballast(std::span<const pending_batch> group) {
  reserve_.drop();
  // Moves the WAL's content into the database, so that its space can be reused.
  writer_->checkpoint();
  return attempt(group);
}

/// True if the batch follows a refused one and was submitted before the refusal was known: terminal rows on which it
/// depends can be missing.
bool committer::is_barred(const pending_batch& batch) const {
  const auto holds = [&](auto is_such) { return std::any_of(batch.entries.begin(), batch.entries.end(), is_such); };
  return options_.ordered_terminal_writes &&
         ((batch.known_refusal < last_refusal_ && holds(depends_on_terminal_rows)) ||
          (batch.known_refusal < last_refused_end_ && holds(says_what_lives)));
}

void committer::refused(const pending_batch& batch, const fault& why) {
  last_refusal_ = batch.ticket;
  if (std::any_of(batch.entries.begin(), batch.entries.end(), needs_what_came_before)) last_refused_end_ = batch.ticket;
  why_refused_ = why;
}

void committer::prune(std::span<const pending_batch> group) {
  for (const auto& batch : group)
    events_since_prune_ +=
        static_cast<std::uint64_t>(std::count_if(batch.entries.begin(), batch.entries.end(), [](const entry& what) {
          return std::holds_alternative<put_event>(what);
        }));
  if (events_since_prune_ < prune_every_events) return;
  // Prunes twice the number of new events: this keeps up, and catches up after keep_events was lowered, without one
  // long deletion.
  writer_->prune_events(options_.keep_events, 2 * events_since_prune_);
  events_since_prune_ = 0;
}

/// Counts a failed commit, too: it can be on the disk although the disk reported an error.
void committer::count_changes(std::span<const pending_batch> group) {
  if (!options_.changes) return;
  for (const auto& batch : group)
    for (const auto& what : batch.entries) std::visit(change_counter{*options_.changes}, what);
}

void committer::keep_wal_short() {
  const auto frames = writer_->wal_frames();
  if (frames < frames_nudged_at_) frames_nudged_at_ = 0; // the WAL was restarted
  if (frames >= frames_nudged_at_ + nudge_every_frames) {
    frames_nudged_at_ = frames;
    if (checkpointer_)
      checkpointer_->nudge();
    else
      writer_->checkpoint();
  }
  if (frames >= (reserve_.is_low() ? longest_wal_frames_when_low : longest_wal_frames)) writer_->checkpoint();
}

} // namespace quell::storage
