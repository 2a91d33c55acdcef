// A client, a gateway and a brain as pure machines, joined by bytes, with a ledger and a speaker that obey and can be
// inspected.
#pragma once

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
  std::map<speech_number, gateway_effects::speak> speeches; ///< that are being spoken
  std::set<speech_number> of_cancelled;
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
  std::string refusal;
  bool is_closed = false;
  // Automatic reactions:
  bool fences_at_once = true, judges_at_once = true, rests_at_once = true, ends_at_once = true, delivers = true;

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
    if (!speeches.empty()) {
      const auto n = speeches.begin()->first;
      speeches.erase(n);
      gateway.speech_over(n, {});
    }
    run();
  }
  void cancel_key() {
    client.cancel();
    run();
  }
  void press(char key) {
    client.choose(key);
    run();
  }
  void played() {
    speaker.clear();
    client.played();
    run();
  }
  void fence() {
    for (const auto n : std::exchange(cancelling, {})) gateway.fenced(n);
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
    gateway.on_brain_message(f);
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
      if (const auto* s = std::get_if<client_effects::play>(&e)) speaker += s->samples;
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
        pass(from_brain, s->what, [this](const frame& f) { gateway.on_brain_message(f); });
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
    pass(at_client, e.what, [this](const frame& f) { client.on_gateway_message(f); });
  }
  void perform(const gateway_effects::to_brain& e) {
    to_brain.push_back(e.what);
    overtook_an_end = overtook_an_end || (e.what.tag == tag::transcript && !undecided.empty());
    pass(at_brain, e.what, [this](const frame& f) { brain.on_gateway_message(f); });
  }
  void perform(const gateway_effects::hear&) {}
  void perform(const gateway_effects::end_of_speech&) {}
  void perform(const gateway_effects::begin& e) { exchanges[e.n] = ended::no; }
  void perform(const gateway_effects::decide_speech& e) {
    if (judges_at_once)
      gateway.on_verdict(e.n, verdict::passes);
    else
      judging.push_back(e);
  }
  void perform(const gateway_effects::cancel& e) {
    if (exchanges[e.n] == ended::no) exchanges[e.n] = ended::cancelled;
    mark(e.n);
    undecided.erase(e.n);
    if (fences_at_once)
      gateway.fenced(e.n);
    else
      cancelling.push_back(e.n);
  }
  void perform(const gateway_effects::leave& e) {
    exchanges[e.n] = ended::left;
    mark(e.n);
  }
  void perform(const gateway_effects::finish& e) {
    if (exchanges[e.n] == ended::no) exchanges[e.n] = e.failure.empty() ? ended::completed : ended::failed;
    transcripts[e.n] = e.transcript;
    if (ends_at_once) return gateway.ended(e.n);
    ending.push_back(e.n);
    undecided.insert(e.n);
  }
  void perform(const gateway_effects::speak& e) { speeches[e.speech] = e; }
  void perform(const gateway_effects::hush& e) { speeches.erase(e.speech); }
  void perform(const gateway_effects::linger&) {}
  void perform(const gateway_effects::rest&) {
    if (rests_at_once) gateway.rested();
  }
  void perform(const gateway_effects::close&) { is_closed = true; }
  void mark(exchange_number n) {
    for (const auto& [speech, what] : speeches)
      if (what.n == n) of_cancelled.insert(speech);
  }
};

} // namespace quell::integrations::voice::testing
