// One model call from its first attempt to its last: its model's turn, deadlines, retries, fallback models, usage.
#include "integrations/models/running_call.hpp"

#include <algorithm>
#include <utility>

#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {
namespace {

using std::chrono::milliseconds;

constexpr auto body_release_time = milliseconds(1'000); ///< wait after the answer's end for the end of the body
constexpr std::uint64_t bytes_a_token = 4;              ///< of our own estimate

/// Bounds durations, which are added to clock times: a value meant as "for ever" must not overflow.
model_settings bounded(model_settings settings) {
  constexpr milliseconds longest = std::chrono::hours(24 * 365);
  for (milliseconds* time :
       {&settings.connect_timeout, &settings.first_event_timeout, &settings.idle_timeout, &settings.whole_timeout,
        &settings.queue_timeout, &settings.first_backoff, &settings.longest_backoff})
    *time = std::clamp(*time, milliseconds(0), longest);
  return settings;
}

std::string seconds(milliseconds time) {
  if (time.count() < 1000) return std::to_string(time.count()) + " ms";
  return std::to_string((time.count() + 500) / 1000) + " s";
}

} // namespace

bool may_another_model_answer(const fault& why) {
  return has_code(why, failure_code::model_overloaded) || has_code(why, failure_code::model_unavailable) ||
         has_code(why, failure_code::model_unpaid) || has_code(why, failure_code::model_timeout) ||
         has_code(why, failure_code::model_cut);
}

milliseconds backoff(const model_settings& settings, std::uint32_t coming, double random) {
  const double doubled = static_cast<double>(settings.first_backoff.count()) *
                         static_cast<double>(std::uint64_t{1} << std::min(coming < 2 ? 0U : coming - 2, 30U));
  const double most = std::min(doubled, static_cast<double>(settings.longest_backoff.count()));
  return milliseconds(static_cast<std::int64_t>(most * (0.5 + std::clamp(random, 0.0, 1.0) / 2)));
}

running_call::running_call(std::vector<model_route> routes, time_point now, model_share whose)
    : routes_(std::move(routes)), whose_(std::move(whose)), whole_end_(now), rest_end_(now), since_(now) {
  for (model_route& one : routes_) one.settings = bounded(std::move(one.settings));
  begin_route(now);
}

void running_call::connect(std::shared_ptr<call_listener> listening, model_gate& gate, std::function<double()> random,
                           std::function<void()> touched) {
  listening_ = std::move(listening);
  gate_ = &gate;
  random_ = std::move(random);
  touched_ = std::move(touched);
}

void running_call::begin_route(time_point now) {
  phase_ = phase::resting;
  rest_end_ = since_ = now;
  whole_end_ = now + settings().whole_timeout;
  tries_ = 0;
}

void running_call::step(time_point now) {
  if (over()) return;
  if (phase_ != phase::resting && try_ && try_->wake() <= now) try_->tick(now);
  if (ended_) {
    phase_ = phase::over;
    try_.reset();
    place_.reset();
    return;
  }
  if (provider_error_) after_error(now);
  if (!over()) look_at_deadlines(now);
  // A route that fails at once leads to the next one.
  while (phase_ == phase::queued || (phase_ == phase::resting && rest_end_ <= now)) {
    if (route().unusable) {
      give_up(*route().unusable, now);
      continue;
    }
    begin_try(now);
    break;
  }
}

/// Whether it is this request's turn at its model. Tells about a wait once.
bool running_call::may_begin(time_point now) {
  if (!place_) place_ = gate_->line_up(settings(), whose_, touched_);
  if (!place_) return true;
  const bool was_queued = phase_ == phase::queued;
  if (!place_->enter(now)) {
    if (was_queued) return false;
    phase_ = phase::queued;
    since_ = now;
    listening_->tell(model_events::queued{settings().name, static_cast<std::uint32_t>(place_->ahead())});
    return false;
  }
  if (was_queued) {
    const auto waited = std::chrono::duration_cast<milliseconds>(now - since_);
    whole_end_ += now - since_;
    waited_ += waited;
    listening_->tell(model_events::admitted{settings().name, waited});
  }
  return true;
}

void running_call::begin_try(time_point now) {
  // A listener can cancel its call while it hears of a wait or of another model: then nothing is asked any more.
  if (listening_->is_cut() || !may_begin(now) || listening_->is_cut()) return;
  phase_ = phase::waiting;
  since_ = now;
  ++tries_;
  received_bytes_ = 0;
  try_ = route().make(*this, tries_);
  note_usage(); // from here on a provider can count the request, even if it never answers
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
    place_.reset();
    return;
  }
  std::string detail = route().who;
  if (phase_ == phase::queued) {
    if (queue_end() > now) return; // its turn can have come
    detail += ": waited " + seconds(waited_ + std::chrono::duration_cast<milliseconds>(now - since_)) +
              " for its turn; then queue_timeout was over, to which all waits of a call count; raise the model's "
              "concurrency or rate, or ask less at once";
    return give_up(failure_of(failure_code::model_overloaded, std::move(detail)), now);
  }
  if (whole_end_ <= now)
    detail += ": no end after " + seconds(settings().whole_timeout) + ", which is all the time a call has";
  else if (phase_ == phase::waiting)
    detail += ": nothing came for " + seconds(settings().first_event_timeout);
  else
    detail += ": the answer stopped coming for " + seconds(settings().idle_timeout);
  give_up(failure_of(has_reported_ ? failure_code::model_cut : failure_code::model_timeout, std::move(detail)), now);
}

std::string running_call::without_secrets(std::string text) const {
  text = without(std::move(text), settings().key);
  for (const auto& [name, value] : settings().headers) text = without(std::move(text), value);
  return text;
}

void running_call::after_error(time_point now) {
  provider_error what = std::move(*provider_error_);
  provider_error_.reset();
  try_.reset();
  place_.reset(); // others may ask while this call rests
  std::string& detail = what.why.detail;
  detail = without_secrets(std::move(detail));
  if (what.again && has_reported_) what.why.code = name_of(failure_code::model_cut);
  if (what.again && !has_reported_ && tries_ <= settings().retries) {
    const milliseconds wanted = what.requested_wait.value_or(milliseconds(0));
    const milliseconds wait = std::max(wanted, backoff(settings(), tries_ + 1, random_()));
    const bool patient = wanted <= limits::requested_wait;
    if (patient && now + wait < whole_end_) {
      phase_ = phase::resting;
      rest_end_ = now + wait;
      listening_->tell(model_events::retrying{tries_ + 1, wait, route().who + ": " + detail, what.why.code,
                                              settings().name, take_spent()});
      return;
    }
    detail += patient ? "; the time of this call is too short for another try"
                      : "; it asks to come back in " + seconds(wanted) + ", and we wait for " +
                            seconds(limits::requested_wait) + " at most";
  }
  if (tries_ > 1) detail += " (tried " + std::to_string(tries_) + " times)";
  detail = route().who + ": " + detail;
  give_up(std::move(what.why), now);
}

/// By attempts that are over, as far as the listener has not heard of it.
model_usage running_call::take_spent() {
  const auto spent = usage_less(usage_, reported_usage_);
  reported_usage_ = usage_;
  return spent;
}

/// Asks the next model if this one cannot answer and nothing was shown.
bool running_call::fall_back(const fault& why, time_point now) {
  if (has_reported_ || at_ + 1 >= routes_.size() || !may_another_model_answer(why)) return false;
  if (phase_ == phase::queued) waited_ += std::chrono::duration_cast<milliseconds>(now - since_);
  const std::string from = settings().name;
  const auto spent = take_spent();
  ++at_;
  begin_route(now);
  listening_->tell(model_events::fell_back{from, settings().name, why, spent});
  touched_();
  return true;
}

void running_call::give_up(fault why, time_point now) {
  if (try_) usage_ += estimated(try_->usage(), false);
  try_.reset(); // before reporting: a listener that hears of the failure can count the connections
  place_.reset();
  if (fall_back(why, now)) return;
  phase_ = phase::over;
  listening_->tell(model_events::failed{std::move(why), usage_});
}

/// As it was reported, with its price.
model_usage running_call::priced(model_usage usage) const {
  for (auto* count :
       {&usage.input_tokens, &usage.output_tokens, &usage.cached_input_tokens, &usage.cache_written_tokens})
    *count = std::min(*count, limits::tokens_of_call);
  usage.cost_nanos = cost_of(settings().prices, usage);
  return usage;
}

/// With its price, and with an estimate of what was not reported: by an attempt without its end, or by a provider that
/// reports nothing at all.
model_usage running_call::estimated(model_usage usage, bool is_whole) const {
  const bool is_silent = usage.input_tokens == 0 && usage.output_tokens == 0;
  const auto raise = [&usage](std::uint64_t& count, std::uint64_t estimate) {
    if (count >= estimate) return;
    count = estimate;
    usage.estimated = true;
  };
  if (!is_whole || is_silent) {
    raise(usage.output_tokens, (received_bytes_ + bytes_a_token - 1) / bytes_a_token);
    if (usage.input_tokens == 0) raise(usage.input_tokens, route().request_bytes / bytes_a_token);
  }
  return priced(usage);
}

running_call::time_point running_call::deadline() const {
  switch (phase_) {
  case phase::resting:
    return rest_end_;
  case phase::queued:
    return std::min(place_->when(), queue_end());
  case phase::waiting:
    return std::min(whole_end_, since_ + settings().first_event_timeout);
  case phase::streaming:
    return std::min(whole_end_, since_ + settings().idle_timeout);
  case phase::settled:
    return std::min(whole_end_, since_ + limits::ending);
  case phase::ending:
    return since_ + body_release_time;
  case phase::over:
    break;
  }
  return time_point::max();
}

/// The call gives up its place in the row then.
running_call::time_point running_call::queue_end() const {
  return since_ + std::max(settings().queue_timeout - waited_, milliseconds(0));
}

running_call::time_point running_call::next() const { return try_ ? std::min(deadline(), try_->wake()) : deadline(); }

void running_call::on_events(std::vector<model_event> events) {
  for (model_event& event : events) {
    if (auto* end = std::get_if<model_events::finished>(&event)) {
      phase_ = phase::ending;
      since_ = model_clock::now();
      end->usage = estimated(end->usage, true);
      end->usage += usage_;
      place_.reset();
      touched_();
    } else if (auto* text = std::get_if<model_events::text>(&event)) {
      received_bytes_ += text->delta.size();
      has_reported_ = true;
    } else if (auto* call = std::get_if<model_events::call>(&event)) {
      received_bytes_ += call->what.input.size();
      has_reported_ = true;
    } else if (auto* thinking = std::get_if<model_events::thinking>(&event)) {
      received_bytes_ += thinking->delta.size();
    } else if (auto* thought = std::get_if<model_events::thought>(&event)) {
      thought->what.model = settings().model;
    }
    note_usage(); // before the listener hears of it: it can cancel the call
    listening_->tell(std::move(event));
  }
}

/// For a call that is cut: nobody asks this thread then.
void running_call::note_usage() {
  model_usage now = try_ ? estimated(try_->usage(), false) : model_usage{};
  now += usage_;
  listening_->note_usage(now);
}

void running_call::alive(sign_of_life what) {
  if (phase_ == phase::waiting && what == sign_of_life::event) {
    phase_ = phase::streaming;
    note_usage(); // the first event can tell the input's tokens
    touched_();
  }
  // Comments of the stream are signs of life, too.
  if (phase_ == phase::waiting || phase_ == phase::streaming) since_ = model_clock::now();
}

void running_call::settled() {
  if (phase_ != phase::waiting && phase_ != phase::streaming) return;
  phase_ = phase::settled;
  since_ = model_clock::now();
  touched_();
}

/// A request that nobody took, or that the provider refused, costs what was reported: nothing, as a rule. If an answer
/// broke off, its input was read, even if no word of it came.
void running_call::failed(provider_error what, model_usage usage) {
  const bool was_answered = received_bytes_ > 0 || has_code(what.why, failure_code::model_cut);
  usage_ += was_answered ? estimated(usage, false) : priced(usage);
  listening_->note_usage(usage_);
  provider_error_ = std::move(what);
  touched_();
}

void running_call::ended() {
  ended_ = true;
  touched_();
}

} // namespace quell::integrations
