// Reads what was missed, page by page, while live events wait.
#include "integrations/chat/missed_events.hpp"

#include <algorithm>

namespace quell::integrations::chat {

void missed_events::fetch(std::uint64_t after, std::vector<operation_id> unfinished) {
  after_ = applied_ = after;
  unfinished_ = std::move(unfinished);
  ask();
}

void missed_events::ask() {
  tools_.at.events_after(tools_.service, after_, [this, run = tools_.runner()](result<event_page> page) {
    run([this, page = std::move(page)]() mutable { take(std::move(page)); });
  });
}

void missed_events::take(result<event_page> page) {
  if (is_over_) return;
  if (!page) {
    tools_.log("what happened while quelld was away cannot be read: " + page.error().detail);
    return finish(applied_, false);
  }
  // Without a stored state, or with one of a store that was replaced since, there is nothing to go on from.
  if (applied_ == 0 || page->newest < after_) {
    is_whole_ = false;
    applied_ = page->newest;
    for (const auto& e : waiting_) // these are live, even if they are stored already
      if (e.id != 0) applied_ = std::min(applied_, e.id - 1);
    return finish(applied_, false);
  }
  if (page->oldest > after_) is_whole_ = false;
  for (const auto& e : page->events) apply(e);
  if (page->next) after_ = *page->next;
  if (page->next || std::exchange(has_left_out_, false)) return ask();
  finish(page->newest, is_whole_);
}

void missed_events::give_up() {
  if (is_over_) return;
  tools_.log("what happened while quelld was away could not be read in time");
  finish(applied_, false);
}

void missed_events::hear(const event& e) {
  if (is_over_) return apply(e);
  if (waiting_.size() < most_waiting) return waiting_.push_back(e);
  has_left_out_ = true;
  waiting_.clear();
}

void missed_events::apply(const event& e) {
  if (e.id != 0 && e.id <= applied_) return;
  applied_ = std::max(applied_, e.id);
  tools_.apply(e);
}

void missed_events::finish(std::uint64_t newest, bool is_whole) {
  tools_.caught_up(newest, is_whole);
  for (const auto& e : std::exchange(waiting_, {})) apply(e);
  is_over_ = true;
  if (unfinished_.empty()) return;
  tools_.at.look(unfinished_, [this, run = tools_.runner()](const std::vector<std::optional<status>>& how) {
    run([this, how] {
      for (std::size_t i = 0; i < std::min(unfinished_.size(), how.size()); ++i) tools_.looked(unfinished_[i], how[i]);
    });
  });
}

} // namespace quell::integrations::chat
