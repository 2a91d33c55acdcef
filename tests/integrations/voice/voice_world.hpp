// A client, a gateway and a brain as pure machines, joined by bytes, with a ledger and a speaker that obey and can be
// inspected.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "integrations/voice/brain_side.hpp"
#include "integrations/voice/client_side.hpp"
#include "integrations/voice/gateway_side.hpp"

namespace quell::integrations::voice::testing {

/// The state of an exchange in the ledger.
enum class ended : std::uint8_t { no, completed, failed, cancelled, left };

struct world {
  explicit world(brain_side::manner how = brain_side::manner::at_once) : brain(how) {}

  client_side client;
  gateway_side gateway;
  brain_side brain;
  frame_reader at_gateway{direction::client_to_gateway}, at_client{direction::gateway_to_client},
      at_brain{direction::gateway_to_brain}, from_brain{direction::brain_to_gateway};

  std::vector<frame> sent, received, to_brain, of_brain; ///< by the client, to it, and the same of the brain
  std::map<exchange_number, ended> exchanges;
  std::map<exchange_number, std::string> transcripts;
  std::map<exchange_number, bool> spoken;                   ///< of those that finished by themselves
  std::map<speech_number, gateway_effects::speak> speeches; ///< that are being spoken
  std::map<speech_number, exchange_number> exchange_of;     ///< of every speech so far
  std::vector<speech_number> hearing;                       ///< given whole, and still heard
  std::vector<exchange_number> retracted, retracting;       ///< marked as unheard; on the way to the disk
  std::vector<gateway_effects::decide_speech> judging;
  std::vector<exchange_number> cancelling;    ///< not fenced yet
  std::vector<exchange_number> ending;        ///< their ends are on their way to the ledger
  std::set<exchange_number> undecided;        ///< of these, the ones without a 07
  bool overtook_an_end = false;               ///< words went to the brain while an end was undecided
  std::vector<brain_effects::ask> brain_asks; ///< open and past
  std::optional<query_number> open_query;
  std::vector<std::string> shown;
  std::string speaker; ///< samples that wait to be played, and were not thrown away
  std::vector<menu> menus;
  std::vector<std::string> brain_refusals; ///< codes
  std::string refusal;
  bool is_closed = false, awaits_answers = false;
  std::deque<frame> on_the_way;                    ///< to the client
  unsigned resting = 0;                            ///< of the gateway's waits for the brain
  std::size_t accepted = 0;                        ///< answers, each of which gets one 84
  bool is_brain_late = false;                      ///< what it sends answers a cancelled exchange
  std::function<void(const frame&)> leaves;        ///< a frame leaves the gateway for the client
  std::function<void(const std::string&)> sounded; ///< samples reach the speaker, and are not a replay
  // Automatic reactions:
  bool fences_at_once = true, judges_at_once = true, rests_at_once = true, ends_at_once = true, delivers = true,
       hears_at_once = true, arrives_at_once = true;

  void run() {
    for (bool moved = true; moved;) {
      moved = take_client();
      moved = take_gateway() || moved;
      moved = take_brain() || moved;
    }
  }

  // ---- actions of people and machines
  void speak(const std::string& words) {
    client.begin_talking();
    client.microphone(std::string(320, 'u'));
    client.end_talking();
    run();
    recognise(words, true);
  }
  void recognise(const std::string& words, bool is_final) {
    gateway.on_recognised({words, is_final});
    run();
  }
  void answer(const std::string& text) {
    if (open_query) brain.answered(*open_query, text);
    open_query.reset();
    run();
  }
  void fail() {
    if (open_query) brain.failed(*open_query, "That did not work.");
    open_query.reset();
    run();
  }
  void chunk(const std::string& samples = "AAAA") {
    if (!speeches.empty()) gateway.chunk(speeches.begin()->first, samples);
    run();
  }
  void end_speech() {
    if (!speeches.empty()) over(speeches.begin()->first, {});
    run();
  }
  /// The voice has given what there is of this speech.
  void over(speech_number n, const std::string& failure) {
    speeches.erase(n);
    gateway.speech_over(n, failure);
    listen(n);
  }
  /// The speech that is given longest has been heard to its end.
  void hear() {
    if (!hearing.empty()) {
      const auto n = hearing.front();
      hearing.erase(hearing.begin());
      gateway.speech_played(n);
    }
    run();
  }
  void rested() {
    if (resting > 0) --resting, gateway.rested();
    run();
  }
  /// The oldest frame on its way reaches the client.
  void arrive() {
    if (!on_the_way.empty()) {
      const auto f = on_the_way.front();
      on_the_way.pop_front();
      pass(at_client, f, [this](const frame& got) { client.on_gateway_message(got); });
    }
    run();
  }
  void cancel_key() {
    client.cancel();
    run();
  }
  void press(char key) {
    client.choose(key);
    is_replay_ = key == '3';
    take_client();
    is_replay_ = false;
    run();
  }
  void played() {
    speaker.clear();
    client.played();
    run();
  }
  void fence() {
    for (const auto n : std::exchange(cancelling, {})) gateway.fenced(n);
    mark();
  }
  /// The marks of unheard answers are durable.
  void mark() {
    for (const auto n : std::exchange(retracting, {})) gateway.retracted(n);
    run();
  }
  /// A stop by HTTP, the command line or a chat.
  void stop_elsewhere(exchange_number n) {
    if (exchanges.contains(n) && exchanges[n] == ended::no) {
      exchanges[n] = ended::cancelled;
      gateway.stopped(n);
    }
    run();
  }
  /// The ledger says how an exchange whose end was on its way has ended.
  void settle_end(exchange_number n, bool stop_came_first = false) {
    std::erase(ending, n);
    undecided.erase(n);
    if (stop_came_first) exchanges[n] = ended::cancelled;
    stop_came_first ? gateway.stopped(n) : gateway.ended(n);
    run();
  }
  void answer_frame(const frame& f) {
    of_the_brain(f);
    run();
  }
  void say(const std::string& text) {
    if (!gateway.is_over()) ++accepted;
    gateway.say(text);
    run();
  }

  std::size_t count(const std::vector<frame>& of, tag t) const {
    std::size_t n = 0;
    for (const auto& f : of) n += f.tag == t ? 1 : 0;
    return n;
  }
  std::vector<tag> tags(const std::vector<frame>& of) const {
    std::vector<tag> all;
    for (const auto& f : of) all.push_back(f.tag);
    return all;
  }

 private:
  bool is_replay_ = false;

  void of_the_brain(const frame& f) {
    if (f.tag == tag::answer && !gateway.is_over() && !is_brain_late) ++accepted;
    gateway.on_brain_message(f);
  }
  void listen(speech_number n) {
    if (hears_at_once)
      gateway.speech_played(n);
    else
      hearing.push_back(n);
  }
  bool pass(frame_reader& to, const frame& f, const std::function<void(const frame&)>& then) {
    const auto bytes = encode(f);
    to.put(std::string_view(bytes).substr(0, 3));
    (void)to.next();
    to.put(std::string_view(bytes).substr(3));
    for (auto got = to.next(); got && *got; got = to.next()) then(**got);
    return true;
  }
  bool take_client() {
    const auto all = client.take();
    for (const auto& e : all) {
      if (const auto* s = std::get_if<client_effects::send>(&e)) {
        sent.push_back(s->what);
        if (delivers) pass(at_gateway, s->what, [this](const frame& f) { gateway.on_client_message(f); });
      }
      if (const auto* s = std::get_if<client_effects::play>(&e)) {
        speaker += s->samples;
        if (sounded && !is_replay_) sounded(s->samples);
      }
      if (std::holds_alternative<client_effects::silence>(e)) speaker.clear();
      if (const auto* s = std::get_if<client_effects::show>(&e)) shown.push_back(s->text);
      if (const auto* s = std::get_if<client_effects::show_menu>(&e)) menus.push_back(s->which);
      if (const auto* s = std::get_if<client_effects::refused>(&e)) refusal = s->json;
    }
    return !all.empty();
  }
  bool take_gateway() {
    const auto all = gateway.take();
    for (const auto& e : all) std::visit([this](const auto& one) { perform(one); }, e);
    return !all.empty();
  }
  bool take_brain() {
    const auto all = brain.take();
    for (const auto& e : all) {
      if (const auto* s = std::get_if<brain_effects::to_gateway>(&e)) {
        of_brain.push_back(s->what);
        pass(from_brain, s->what, [this](const frame& f) { of_the_brain(f); });
      }
      if (const auto* s = std::get_if<brain_effects::ask>(&e)) {
        brain_asks.push_back(*s);
        open_query = s->n;
      }
      if (const auto* s = std::get_if<brain_effects::drop>(&e); s && open_query == s->n) open_query.reset();
    }
    return !all.empty();
  }
  void perform(const gateway_effects::to_client& e) {
    received.push_back(e.what);
    if (leaves) leaves(e.what);
    if (!arrives_at_once) return on_the_way.push_back(e.what);
    pass(at_client, e.what, [this](const frame& f) { client.on_gateway_message(f); });
  }
  void perform(const gateway_effects::to_brain& e) {
    to_brain.push_back(e.what);
    overtook_an_end = overtook_an_end || (e.what.tag == tag::transcript && !undecided.empty());
    const bool is_retry = e.what.tag == tag::brain_choice && e.what.payload == std::string(1, '\0');
    if (e.what.tag == tag::brain_cancel || is_retry) is_brain_late = true;
    if (e.what.tag == tag::transcript) is_brain_late = false;
    pass(at_brain, e.what, [this](const frame& f) { brain.on_gateway_message(f); });
  }
  void perform(const gateway_effects::hear&) {}
  void perform(const gateway_effects::end_of_speech&) {}
  void perform(const gateway_effects::begin& e) {
    exchanges[e.n] = ended::no;
    brain.exchange_begins();
  }
  void perform(const gateway_effects::decide_speech& e) {
    if (judges_at_once)
      gateway.on_verdict(e.n, verdict::passes);
    else
      judging.push_back(e);
  }
  void perform(const gateway_effects::cancel& e) {
    if (exchanges[e.n] == ended::no) exchanges[e.n] = ended::cancelled;
    undecided.erase(e.n);
    if (fences_at_once)
      gateway.fenced(e.n);
    else
      cancelling.push_back(e.n);
  }
  void perform(const gateway_effects::leave& e) { exchanges[e.n] = ended::left; }
  void perform(const gateway_effects::finish& e) {
    if (exchanges[e.n] == ended::no) exchanges[e.n] = e.failure.empty() ? ended::completed : ended::failed;
    transcripts[e.n] = e.transcript;
    spoken[e.n] = e.spoken;
    if (ends_at_once) return gateway.ended(e.n);
    ending.push_back(e.n);
    undecided.insert(e.n);
  }
  void perform(const gateway_effects::speak& e) {
    speeches[e.speech] = e;
    exchange_of[e.speech] = e.n;
  }
  void perform(const gateway_effects::hush& e) {
    speeches.erase(e.speech);
    std::erase(hearing, e.speech);
  }
  void perform(const gateway_effects::delay& e) {
    if (!speeches.contains(e.speech)) listen(e.speech);
  }
  void perform(const gateway_effects::retract& e) {
    retracted.push_back(e.n);
    if (fences_at_once)
      gateway.retracted(e.n);
    else
      retracting.push_back(e.n);
  }
  void perform(const gateway_effects::linger&) {}
  void perform(const gateway_effects::await_remainder&) {}
  void perform(const gateway_effects::rest&) {
    if (rests_at_once)
      gateway.rested();
    else
      ++resting;
  }
  void perform(const gateway_effects::await_answers&) { awaits_answers = true; }
  void perform(const gateway_effects::refuse_brain& e) {
    brain_refusals.push_back(e.why.code);
    if (accepted > 0) --accepted; // it was dropped
    gateway.brain_gone(e.why.detail);
  }
  void perform(const gateway_effects::close&) { is_closed = true; }
};

} // namespace quell::integrations::voice::testing
