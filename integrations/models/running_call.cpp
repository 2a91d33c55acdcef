// One model call from its first attempt to its last: deadlines, retries, usage.
#include "integrations/models/running_call.hpp"

#include <algorithm>

#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"

namespace quell::integrations {
namespace {

using std::chrono::milliseconds;

constexpr auto body_release_time = milliseconds(1'000); ///< wait after the answer's end for the end of the body

model_usage sum(const model_usage& a, const model_usage& b) {
  return {a.input_tokens + b.input_tokens, a.output_tokens + b.output_tokens,
          a.cached_input_tokens + b.cached_input_tokens};
}

/// Bounds durations, which are added to clock times: a value meant as "for ever" must not overflow.
model_settings bounded(model_settings settings) {
  constexpr milliseconds longest = std::chrono::hours(24 * 365);
  for (milliseconds* time : {&settings.connect_timeout, &settings.first_event_timeout, &settings.idle_timeout,
                             &settings.whole_timeout, &settings.first_backoff, &settings.longest_backoff})
    *time = std::clamp(*time, milliseconds(0), longest);
  return settings;
}

std::string seconds(milliseconds time) {
  if (time.count() < 1000) return std::to_string(time.count()) + " ms";
  return std::to_string((time.count() + 500) / 1000) + " s";
}

} // namespace

milliseconds backoff(const model_settings& settings, std::uint32_t coming, double random) {
  const double doubled = static_cast<double>(settings.first_backoff.count()) *
                         static_cast<double>(std::uint64_t{1} << std::min(coming < 2 ? 0U : coming - 2, 30U));
  const double most = std::min(doubled, static_cast<double>(settings.longest_backoff.count()));
  return milliseconds(static_cast<std::int64_t>(most * (0.5 + std::clamp(random, 0.0, 1.0) / 2)));
}

running_call::running_call(model_settings settings, std::string who, attempt_maker make, time_point now)
    : settings_(bounded(std::move(settings))), who_(std::move(who)), make_(std::move(make)),
      whole_end_(now + settings_.whole_timeout), rest_end_(now), since_(now) {}

running_call::running_call(fault why, time_point now)
    : whole_end_(now), rest_end_(now), since_(now), early_fault_(std::move(why)) {}

void running_call::connect(std::shared_ptr<call_line> line, std::function<double()> random,
                           std::function<void()> touched) {
  line_ = std::move(line);
  random_ = std::move(random);
  touched_ = std::move(touched);
}

void running_call::step(time_point now) {
  if (over()) return;
  if (early_fault_) return give_up(std::move(*early_fault_));
  if (phase_ != phase::resting && try_ && try_->wake() <= now) try_->tick(now);
  if (ended_) {
    phase_ = phase::over;
    try_.reset();
    return;
  }
  if (mishap_) after_mishap(now);
  if (!over()) look_at_deadlines(now);
  if (phase_ == phase::resting && rest_end_ <= now) begin_try(now);
}

void running_call::begin_try(time_point now) {
  phase_ = phase::waiting;
  since_ = now;
  ++tries_;
  try_ = make_(*this, tries_);
  if (try_->wake() <= now) touched_();
}

void running_call::look_at_deadlines(time_point now) {
  if (phase_ == phase::resting || deadline() > now) return;
  if (phase_ == phase::settled) {
    try_->conclude();
    return;
  }
  if (phase_ == phase::ending) {
    phase_ = phase::over;
    try_.reset();
    return;
  }
  std::string detail = who_;
  if (whole_end_ <= now)
    detail += ": no end after " + seconds(settings_.whole_timeout) + ", which is all the time a call has";
  else if (phase_ == phase::waiting)
    detail += ": nothing came for " + seconds(settings_.first_event_timeout);
  else
    detail += ": the answer stopped coming for " + seconds(settings_.idle_timeout);
  give_up({"model_timeout", std::move(detail), {}});
}

void running_call::after_mishap(time_point now) {
  provider_error what = std::move(*mishap_);
  mishap_.reset();
  try_.reset();
  std::string& detail = what.why.detail;
  detail = without(std::move(detail), settings_.key);
  if (what.again && !told_any_ && tries_ <= settings_.retries) {
    const milliseconds asked = what.asked_wait.value_or(milliseconds(0));
    const milliseconds wait = std::max(asked, backoff(settings_, tries_ + 1, random_()));
    const bool patient = asked <= limits::asked_wait;
    if (patient && now + wait < whole_end_) {
      phase_ = phase::resting;
      rest_end_ = now + wait;
      line_->tell(model_events::retrying{tries_ + 1, wait, who_ + ": " + detail});
      return;
    }
    detail += patient ? "; the time of this call is too short for another try"
                      : "; it asks to come back in " + seconds(asked) + ", and we wait for " +
                            seconds(limits::asked_wait) + " at most";
  }
  if (tries_ > 1) detail += " (tried " + std::to_string(tries_) + " times)";
  detail = who_ + ": " + detail;
  give_up(std::move(what.why));
}

void running_call::give_up(fault why) {
  if (try_) usage_ = sum(usage_, try_->usage());
  phase_ = phase::over;
  try_.reset(); // before reporting: a listener that hears of the failure can count the connections
  line_->tell(model_events::failed{std::move(why), usage_});
}

running_call::time_point running_call::deadline() const {
  switch (phase_) {
  case phase::resting:
    return rest_end_;
  case phase::waiting:
    return std::min(whole_end_, since_ + settings_.first_event_timeout);
  case phase::streaming:
    return std::min(whole_end_, since_ + settings_.idle_timeout);
  case phase::settled:
    return std::min(whole_end_, since_ + limits::ending);
  case phase::ending:
    return since_ + body_release_time;
  case phase::over:
    break;
  }
  return time_point::max();
}

running_call::time_point running_call::next() const { return try_ ? std::min(deadline(), try_->wake()) : deadline(); }

void running_call::told(std::vector<model_event> events) {
  for (model_event& event : events) {
    if (auto* end = std::get_if<model_events::finished>(&event)) {
      phase_ = phase::ending;
      since_ = model_clock::now();
      end->usage = sum(usage_, end->usage);
      touched_();
    } else {
      told_any_ = true;
    }
    line_->tell(std::move(event));
  }
}

void running_call::alive(bool event) {
  if (phase_ == phase::waiting && event) {
    phase_ = phase::streaming;
    touched_();
  }
  if (phase_ == phase::streaming) since_ = model_clock::now();
}

void running_call::settled() {
  if (phase_ != phase::waiting && phase_ != phase::streaming) return;
  phase_ = phase::settled;
  since_ = model_clock::now();
  touched_();
}

void running_call::failed(provider_error what, model_usage usage) {
  usage_ = sum(usage_, usage);
  mishap_ = std::move(what);
  touched_();
}

void running_call::ended() {
  ended_ = true;
  touched_();
}

} // namespace quell::integrations
