// Handling of keys and frames.
#include "integrations/voice/client_side.hpp"

#include "integrations/voice/words.hpp"

namespace quell::integrations::voice {

void client_side::open(voice::menu which) {
  if (menu_ == which) return;
  menu_ = which;
  effect(client_effects::show_menu{which});
}

/// Drops everything that belongs to the exchange.
void client_side::forget() {
  if (is_playing_ || is_replaying_) effect(client_effects::silence{});
  has_spoken_ = is_requested_ = is_playing_ = is_replaying_ = is_whole_ = has_answered_ = drops_speech_ = false;
  open(menu::none);
}

/// Nothing was said since the last answer was played.
bool client_side::is_answer_last() const {
  return has_answered_ && !has_spoken_ && !is_requested_ && menu_ != menu::before_speech;
}

void client_side::begin_talking() {
  if (is_talking_ || menu_ == menu::before_speech) return;
  is_talking_ = true;
  if (is_playing_) { // speaking over the answer ends it, and changes nothing else
    send(tag::interrupt_speech);
    effect(client_effects::silence{});
    is_playing_ = false;
    drops_speech_ = !is_whole_;
  }
  if (is_replaying_) effect(client_effects::silence{});
  is_replaying_ = false;
  open(menu::none);
  send(tag::resume);
}

void client_side::open_microphone() {
  if (std::exchange(is_open_, true)) return;
  if (!std::exchange(is_talking_, true)) send(tag::resume);
}

void client_side::microphone(std::string_view samples) {
  if (!is_talking_) return;
  has_spoken_ = has_spoken_ || !is_open_;
  for (; samples.size() > most_audio_bytes; samples.remove_prefix(most_audio_bytes))
    send(tag::audio, std::string(samples.substr(0, most_audio_bytes)));
  if (!samples.empty()) send(tag::audio, std::string(samples));
}

void client_side::end_talking() {
  if (!is_talking_ || is_open_) return;
  is_talking_ = false;
  send(tag::pause);
}

void client_side::cancel() {
  const bool was_speech = is_playing_;
  const bool was_answer = is_answer_last();
  const bool is_anything = has_spoken_ || is_answering() || has_answered_;
  const bool was_talking = is_talking_ && !is_open_;
  is_talking_ = is_open_;
  forget();
  if (!is_anything) return;
  if (was_speech || was_answer) answer_.clear(); // nor can it be replayed
  if (was_talking) send(tag::pause);
  if (was_speech) send(tag::interrupt_speech);
  send(tag::cancel);
  ++owed_;
  effect(client_effects::show{"Cancelled. Listening again."});
}

void client_side::choose(char key) {
  if (menu_ == menu::none) return;
  if (key == '4') return cancel();
  if (key == '3' && !answer_.empty()) {
    if (is_replaying_) effect(client_effects::silence{});
    is_replaying_ = true;
    return effect(client_effects::play{answer_});
  }
  if (menu_ != menu::before_speech || (key != '1' && key != '2')) return;
  if (std::exchange(is_replaying_, false)) effect(client_effects::silence{});
  is_requested_ = key == '1';
  send(tag::choice, payload_of(is_requested_ ? user_choice::go_on : user_choice::drop));
  open(menu::none);
}

void client_side::on_text(const std::string& text) {
  const bool is_own = text.starts_with(you_prefix);
  if (owed_ > 0 && !is_own) return;
  if (is_own && owed_ == 0) {
    is_requested_ = true;
    has_spoken_ = false;
  }
  effect(client_effects::show{text});
}

void client_side::noticed(const std::string& text) {
  if (text == cancelled_notice) {
    if (owed_ > 0) --owed_;
    return;
  }
  if (text == stopped_notice && owed_ == 0) {
    if (is_playing_ || is_answer_last()) answer_.clear();
    forget();
  }
  if (text.starts_with(hearing_prefix) && owed_ == 0 && is_open_) has_spoken_ = true;
  if (text.starts_with(nothing_recognised_notice) && owed_ == 0) has_spoken_ = is_requested_ = false;
  effect(client_effects::show{text});
}

void client_side::on_gateway_message(const frame& f) {
  switch (f.tag) {
  case tag::text:
    return on_text(f.payload);
  case tag::speech:
    if (owed_ > 0 || drops_speech_) return;
    if (!is_playing_ || is_whole_) answer_.clear();
    is_playing_ = true;
    is_requested_ = is_whole_ = false;
    answer_ += f.payload;
    return effect(client_effects::play{f.payload});
  case tag::speech_end:
    if (owed_ > 0 || std::exchange(drops_speech_, false)) return;
    is_requested_ = false;
    is_whole_ = true;
    return;
  case tag::feedback:
    if (owed_ > 0) return;
    is_requested_ = false;
    effect(client_effects::show{f.payload});
    return open(menu::before_speech);
  case tag::summary:
    return effect(client_effects::show{f.payload});
  case tag::notice:
    return noticed(f.payload);
  case tag::error:
    return effect(client_effects::refused{f.payload});
  default:
    return;
  }
}

void client_side::played() {
  if (std::exchange(is_replaying_, false)) return;
  if (!is_playing_ || !is_whole_) return;
  is_playing_ = false;
  has_answered_ = true;
  open(menu::after_speech);
}

} // namespace quell::integrations::voice
