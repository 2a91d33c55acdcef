// An editor that does not read what it is sent: nothing more is kept for it here. The controller has all events, so the
// missed ones are read there when the editor reads on. Its cancel waits for none of this.
#include "cli/acp/prompt.hpp"

#include <chrono>
#include <utility>

#include "cli/fields.hpp"

namespace quell::cli::acp {
namespace {

constexpr const char* missed_at_once = "16"; ///< an event can have a whole piece of text, or a result
constexpr milliseconds missed_timeout{30'000};

} // namespace

void prompt::take(const json& event) {
  if (is_over_) return;
  is_behind_ = is_behind_ || !tell_.has_room();
  const auto id = text_of(event, "id");
  auto& last = is_behind_ ? missed_ : shown_;
  if (is_later_event(id, last)) last = id;
  if (!is_behind_) show(event);
}

void prompt::catch_up() {
  if (is_behind_ && !is_over_ && !is_cancelled_) read_missed();
}

void prompt::read_missed() {
  if (std::exchange(is_reading_missed_, true)) return;
  const auto path = "/v1/operations/" + stream_->turn() + "/events?limit=" + missed_at_once +
                    "&after=" + (shown_.empty() ? std::string("0") : shown_);
  keep(api_.call("GET", path, nullptr, missed_timeout, [this](answer<json> a) {
    is_reading_missed_ = false;
    if (is_over_ || is_cancelled_) return;
    if (a) {
      missed_contact_.contact();
      return take_missed(*a);
    }
    const auto pause = may_pass(a.error()) ? missed_contact_.lost(std::chrono::steady_clock::now()) : std::nullopt;
    if (!pause) return caught_up(); // they are kept no more: the end brings the text
    later(*pause, [this] { catch_up(); });
  }));
}

void prompt::take_missed(const json& page) {
  const auto& events = member(page, "events");
  for (const auto& event : events) {
    if (!tell_.has_room()) return; // the next time that the editor has read
    const auto id = text_of(event, "id");
    if (!is_later_event(id, shown_)) continue;
    if (is_later_event(id, missed_)) return caught_up(); // the stream brings it, and all that follow
    shown_ = id;
    show(event);
    if (is_over_ || is_cancelled_) return;
  }
  const auto next = text_of(page, "next_cursor");
  if (!is_later_event(missed_, shown_) || (events.empty() && next.empty())) return caught_up();
  if (is_later_event(next, shown_)) shown_ = next; // nothing up to it is ours
  read_missed();
}

void prompt::caught_up() {
  is_behind_ = false;
  missed_.clear();
  if (std::exchange(has_end_, false)) ended(std::exchange(end_, json()));
}

} // namespace quell::cli::acp
