// One client of the voice gateway: its connection, recogniser, voice and brain, joined by the pure `gateway_side`. On
// the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/voice/brain_port.hpp"
#include "actors/voice/ears.hpp"
#include "actors/voice/exchange_table.hpp"
#include "actors/voice/mouth.hpp"
#include "integrations/voice/gateway_side.hpp"

namespace quell::controller::voice {

/// Must be held by a shared_ptr.
class session : public std::enable_shared_from_this<session> {
 public:
  session(voice_context_ref house, std::string id, speaker who, std::shared_ptr<integrations::voice::frame_link> link,
          std::shared_ptr<brain_port> brain, std::function<void(const std::shared_ptr<session>&)> over);

  void begin();
  void on_client_message(const integrations::voice::frame& f);
  void client_broke(const fault& why);
  void client_gone();
  /// quelld ends: the client is told, and what runs is left to quelld's next life.
  void shut_down(const fault& why);
  /// A committed event.
  void on_event(const records::event_record& e);
  const scope_path& scope() const { return who_.scope; }
  const std::string& token_id() const { return who_.by.token_id; }

 private:
  using frame = integrations::voice::frame;
  void perform();
  void release();
  void end();
  void acknowledge(const records::event_record& e);
  void hear(const std::string& samples);
  /// A call of the gateway's side that can be put off, or taken back.
  struct late_call {
    std::optional<boot_time> due;
    bool has_timer = false;
  };
  void call_in(std::chrono::milliseconds wait, late_call session::*which,
               void (integrations::voice::gateway_side::*what)());
  void wait_for(std::chrono::milliseconds wait, late_call session::*which,
                void (integrations::voice::gateway_side::*what)());
  void cancel_unanswered(const operation_id& exchange);
  // session_words.cpp
  static constexpr std::size_t most_stops = 64;
  void on_decision(const integrations::voice::gateway_effects::decide_speech& e,
                   const outcome<turns::message_answer>& a);
  /// Whether an agent seems to ask this speaker something.
  bool has_question() const;
  void answer_agent(const integrations::voice::gateway_effects::decide_speech& e, const operation_id& exchange);
  turns::message_order words_for_decision(const integrations::voice::gateway_effects::decide_speech& e,
                                          const operation_id& exchange) const;
  std::optional<operation_id> operation_of(std::optional<integrations::voice::exchange_number> n) const;

  void perform(const integrations::voice::gateway_effects::to_client& e) { link_->send(e.what); }
  void perform(const integrations::voice::gateway_effects::to_brain& e) {
    if (brain_) brain_->take(e.what);
  }
  void perform(const integrations::voice::gateway_effects::hear& e);
  void perform(const integrations::voice::gateway_effects::end_of_speech& e);
  void perform(const integrations::voice::gateway_effects::begin& e);
  void perform(const integrations::voice::gateway_effects::decide_speech& e);
  void perform(const integrations::voice::gateway_effects::cancel& e);
  void perform(const integrations::voice::gateway_effects::leave& e);
  void perform(const integrations::voice::gateway_effects::finish& e);
  void perform(const integrations::voice::gateway_effects::speak& e);
  void perform(const integrations::voice::gateway_effects::hush& e);
  void perform(const integrations::voice::gateway_effects::delay& e);
  void perform(const integrations::voice::gateway_effects::retract& e);
  void perform(const integrations::voice::gateway_effects::linger& e);
  void perform(const integrations::voice::gateway_effects::await_remainder& e);
  void perform(const integrations::voice::gateway_effects::rest& e);
  void perform(const integrations::voice::gateway_effects::await_answers& e);
  void perform(const integrations::voice::gateway_effects::refuse_brain& e) {
    if (brain_) brain_->refuse(e.why);
  }
  void perform(const integrations::voice::gateway_effects::close& e);
  /// Does it after `wait`, unless this session is over by then, and what the gateway's side wants done after it.
  void after(std::chrono::milliseconds wait, std::function<void(session&)> what);
  /// Runs later on the loop's thread, if this session still exists.
  template <class Work>
  auto later(Work what) {
    return [loop = context_->loop, weak = weak_from_this(), what = std::move(what)](const auto&... values) {
      loop->post([weak, what, values...] {
        const auto self = weak.lock();
        if (!self || self->is_over_) return;
        what(*self, values...);
        self->perform();
      });
    };
  }

  const voice_context_ref context_;
  const std::string id_;
  const speaker who_;
  const std::shared_ptr<integrations::voice::frame_link> link_;
  std::shared_ptr<brain_port> brain_;
  std::function<void(const std::shared_ptr<session>&)> over_;
  integrations::voice::gateway_side gateway_;
  std::shared_ptr<ears> ears_;
  std::optional<presence::place> present_; ///< while it is heard
  /// One speaks; what was handed over by the ones before it is still heard.
  std::map<integrations::voice::speech_number, std::shared_ptr<mouth>> mouths_;
  std::map<integrations::voice::exchange_number, operation_id> operations_;
  std::map<integrations::voice::exchange_number, operation_id> finishing_; ///< their ends are on their way
  /// Stops from this session whose end was not said yet, with the state that was said last.
  std::map<cancel_id, std::string> stops_;
  late_call words_;        ///< overdue, of what was said before the last pause; not due: a transcript came
  late_call remainder_;    ///< of an answer that was talked over
  bool is_behind_ = false; ///< the recogniser, and the client was told so since its last transcript
  bool is_over_ = false, is_released_ = false, is_performing_ = false, has_parted_ = false;
};

} // namespace quell::controller::voice
