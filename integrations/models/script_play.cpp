// One attempt of a scripted model: plays the steps of an answer on the client's thread, by its clock.
#include "integrations/models/script_play.hpp"

#include "integrations/models/json.hpp"
#include "integrations/models/limits.hpp"
#include "integrations/models/text.hpp"
#include "protocol/failure_code.hpp"

namespace quell::integrations {
namespace {

constexpr int pieces_a_tick = 32; ///< per tick, so that other calls get their turn
constexpr std::chrono::milliseconds endless_delay{1};

/// The length in bytes of the first `characters` characters; 0 means all.
std::size_t prefix(std::string_view text, std::size_t characters) {
  if (characters == 0) return text.size();
  std::size_t bytes = 0;
  for (; characters > 0 && bytes < text.size(); --characters)
    bytes += std::max<std::size_t>(1, character_length(text.substr(bytes)));
  return std::min(bytes, text.size());
}

/// Fills templates inside the input's strings, so that the inserted text needs no quoting.
void fill(json& value, const script_scene& scene) {
  if (value.is_string()) value = filled(value.get<std::string>(), scene);
  if (value.is_structured())
    for (json& inner : value) fill(inner, scene);
}

std::string filled_input(const std::string& input, const script_scene& scene) {
  auto value = parse_json(input);
  if (!value) return filled(input, scene);
  fill(*value, scene);
  return dump_json(*value);
}

} // namespace

script_play::script_play(attempt_host& host, std::shared_ptr<const script> all,
                         std::shared_ptr<const script_scene> scene, std::uint32_t number)
    : host_(host), all_(std::move(all)), scene_(std::move(scene)), answer_(answer_of(*all_, *scene_, number)),
      ids_(scene_->used) {}

void script_play::tick(model_clock::time_point now) {
  if (!answer_) {
    stand_still();
    host_.failed({failure_of(failure_code::model_refused,
                             "no answer of the script fits: user \"" + excerpt(scene_->text, 80) + "\", ask " +
                                 std::to_string(scene_->ask) + ", round " + std::to_string(scene_->round) +
                                 "; add one without conditions to its end"),
                  false,
                  {}},
                 {});
    return;
  }
  for (int pieces = 0; pieces < pieces_a_tick; ++pieces) {
    if (step_ == answer_->steps.size()) return finish();
    if (!std::visit([&](const auto& step) { return play(step, now); }, answer_->steps[step_])) return;
  }
  wake_ = now;
}

bool script_play::play(const script_steps::say& step, model_clock::time_point now) {
  const auto delay = step.endless ? std::max(step.delay, endless_delay) : step.delay;
  if (delay.count() > 0 && !waited_) {
    waited_ = true;
    wake_ = now + delay;
    return false;
  }
  waited_ = false;
  if (text_.empty()) text_ = filled(step.text, *scene_);
  const std::string_view rest = std::string_view(text_).substr(sent_);
  std::string piece(rest.substr(0, prefix(rest, step.chunk)));
  sent_ += piece.size();
  if (sent_ == text_.size()) {
    text_.clear();
    sent_ = 0;
    if (!step.endless) ++step_;
  }
  if ((sent_bytes_ += piece.size()) > limits::text_bytes) {
    stand_still();
    host_.failed(broken("the answer's text is longer than " + std::to_string(limits::text_bytes >> 20) + " MiB"),
                 usage());
    return false;
  }
  if (!piece.empty()) tell(model_events::text{std::move(piece)});
  return true;
}

bool script_play::play(const script_steps::call& step, model_clock::time_point) {
  ++step_;
  any_call_ = true;
  tool_call what{ids_.unique(step.id), step.name, filled_input(step.input, *scene_)};
  sent_bytes_ += what.input.size();
  tell(model_events::call_begun{what.call, what.name});
  tell(model_events::call{std::move(what)});
  return true;
}

bool script_play::play(const script_steps::pause& step, model_clock::time_point now) {
  if (!waited_) {
    waited_ = true;
    wake_ = now + step.time;
    return false;
  }
  waited_ = false;
  ++step_;
  return true;
}

bool script_play::play(const script_steps::hang&, model_clock::time_point) {
  stand_still();
  return false;
}

bool script_play::play(const script_steps::fail& step, model_clock::time_point) {
  stand_still();
  host_.failed({{step.why.code, filled(step.why.detail, *scene_), {}}, step.again, step.requested_wait}, usage());
  return false;
}

void script_play::tell(model_event event) {
  host_.alive(attempt_host::sign_of_life::event);
  std::vector<model_event> one;
  one.push_back(std::move(event));
  host_.on_events(std::move(one));
}

void script_play::finish() {
  stand_still();
  const auto stop = any_call_ ? model_events::stop::calls : model_events::stop::end;
  tell(model_events::finished{answer_->stop.value_or(stop), usage()});
  host_.ended();
}

model_usage script_play::usage() const {
  if (answer_ && answer_->usage) return *answer_->usage;
  return {scene_->bytes / 4, (sent_bytes_ + 3) / 4, 0};
}

} // namespace quell::integrations
