// A session of the voice gateway over the real core: its loop, its journal and the far ends of its connections move on
// the test's command. Exchanges begin with answers that nobody asked for, so no recogniser is needed.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/voice/session.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commit_gate.hpp"
#include "integrations/voice/words.hpp"
#include "tests/actors/voice/voice_doubles.hpp"

namespace quell::controller::voice::testing {

namespace voices = integrations::voice;

/// The journal takes rows when the test says so; signals go the way that they go in quelld.
class voice_edges final : public commit_gate_edges {
 public:
  std::function<void(const operation_id&)> signalled;
  std::vector<operation_id> exchanges; ///< in the order in which they were created
  std::map<operation_id, status> ends; ///< durable
  std::uint64_t tickets = 0;

  std::uint64_t submit(std::vector<records::entry> batch) override {
    for (const auto& e : batch)
      if (const auto* made = std::get_if<records::put_operation>(&e); made && made->record->kind == kind::exchange)
        exchanges.push_back(made->record->id);
    return ++tickets;
  }
  void refusal_known(std::uint64_t) override {}
  void send(const outgoing_frame&) override {}
  void publish(const records::event_record&) override {}
  void allow_keys(std::vector<std::string>) override {}
  void output_expected(const operation_id&, const std::string&) override {}
  void output_counted(const operation_id&, const std::string&, const output_counts&) override {}
  void output_closes(const operation_id&) override {}
  void signal(const actor_signal& s) override { signalled(s.operation); }
  void tell_owner(const external_signal&) override {}
  void ended(const ended_operation& e) override { ends[e.id] = e.as; }
  bool storage_low() const override { return false; }
  void command_given(const command&) override {}
  void move_forbidden(const forbidden_move&, std::string_view) override {}
  void ticked(moment) override {}
  void fail_stop(const fault&) override {}
};

class played_link final : public voices::frame_link {
 public:
  std::vector<voices::frame> sent;
  bool is_closed = false, was_reset = false;

  void begin(hooks) override {}
  void send(const voices::frame& f) override { sent.push_back(f); }
  void close() override { is_closed = true; }
  bool is_lost() const override { return was_reset; }
  bool is_loopback() const override { return true; }
};

class played_brain final : public brain_port {
 public:
  explicit played_brain(std::vector<voices::frame>& taken) : taken_(taken) {}
  void begin(hooks h) override { to = std::move(h); }
  void exchange_begins() override { begun_behind.push_back(taken_.size()); }
  void take(const voices::frame& f) override { taken_.push_back(f); }
  void client_left() override { left_behind = taken_.size(); }
  void refuse(const fault& why) override {
    refusals.push_back(why);
    to.gone("the brain broke the rules: " + why.detail);
  }
  void retract(std::function<void()> done) override { done(); }
  void on_event(const records::event_record&) override {}
  hooks to;
  std::vector<fault> refusals;
  std::optional<std::size_t> left_behind; ///< the number of frames that were taken before its client left
  std::vector<std::size_t> begun_behind;  ///< for each exchange the number of frames that were taken before it

 private:
  std::vector<voices::frame>& taken_; ///< outlives this
};

/// A carrier that never carries anything.
struct idle_carrier final : turns::blocking_executor {
  void run_after(std::chrono::milliseconds, job) override {}
  void stop() override {}
};

struct session_world {
  moment now{wall_time{std::chrono::milliseconds{1'800'000'000'000}}, boot_time{1'000'000'000}};
  voice_edges edges;
  std::unique_ptr<commit_gate> core;
  played_scheduler scheduler;
  std::shared_ptr<manual_loop> loop = std::make_shared<manual_loop>();
  std::shared_ptr<turns::agent_runtime> work = std::make_shared<turns::agent_runtime>();
  std::shared_ptr<played_link> link = std::make_shared<played_link>();
  std::vector<voices::frame> to_brain;
  std::shared_ptr<played_brain> brain = std::make_shared<played_brain>(to_brain);
  voice_context_ref house;
  std::shared_ptr<session> talk;
  int sessions_over = 0;

  session_world() {
    edges.signalled = [this](const operation_id& id) {
      loop->post([this, id] {
        if (house) house->exchanges->signalled(id);
      });
    };
    records::recovered_state empty;
    empty.cluster = cluster_id::fresh();
    empty.epoch = 1;
    commit_gate_settings s;
    s.token_for = [](const operation_id&) { return std::string("qt_test"); };
    core = std::make_unique<commit_gate>(s, std::move(empty), edges, now);
    work->core.execute = [this](command_request&& what) { core->execute(std::move(what), now); };
    work->core.now = [this] { return now; };
    work->speech_work = std::make_unique<idle_carrier>();
    voice_settings voice;
    voice.hear = {"ear"};
    voice.speak = {"mouth"};
    house = std::make_shared<voice_context>(voice_context{voice, {}, scheduler, work, loop, nullptr});
    house->exchanges = std::make_shared<exchange_table>(house);
    speaker who;
    who.by = admin();
    who.scope = *scope_path::parse("talk/room");
    who.author = {"ada", "ada"};
    talk = std::make_shared<session>(house, "s1", who, link, brain,
                                     [this](const std::shared_ptr<session>&) { ++sessions_over; });
    talk->begin();
    commit();
  }

  static caller admin() {
    caller by;
    by.role = role::admin;
    by.owner = {"ada", "ada"};
    by.token_id = "token-of-ada";
    return by;
  }

  /// The journal writes everything. Its messages to the gateway wait on the gateway's loop.
  void write() {
    core->end_burst(now);
    for (std::uint64_t done = 0; done != edges.tickets;) {
      done = edges.tickets;
      core->committed({done, {}}, now);
      core->end_burst(now);
    }
  }
  /// Everything is written and told.
  void commit() {
    write();
    loop->run();
    write();
    loop->run();
  }

  void client(voices::tag t, std::string payload = {}) { talk->on_client_message({t, std::move(payload)}); }
  /// So much time goes by, and the time of every timer comes.
  void pass(std::chrono::milliseconds d) {
    now.boot = now.boot + d;
    loop->run_timers();
  }
  /// Says something, and pauses.
  void speak() {
    client(voices::tag::audio, std::string(320, 'u'));
    client(voices::tag::pause);
  }
  void cancel_key() { client(voices::tag::cancel); }
  void brain_says(const std::string& text) { brain->to.on_frame({voices::tag::answer, text}); }
  /// The answer is spoken, and talked over: the end of its exchange is on its way.
  void speak_and_end() {
    brain_says("Once upon a time.");
    commit();
    client(voices::tag::interrupt_speech);
    client(voices::tag::resume);
  }
  /// Over HTTP, or by a word in a chat. Accepted, and not on disk yet.
  void stop_elsewhere() {
    cancel_order o;
    o.by_token = admin();
    o.target = records::target_scope{*scope_path::parse("talk")};
    o.received = now.boot;
    core->execute({commands::order_cancel{std::move(o), cancel_id::fresh()}, {}}, now);
  }

  /// Other rows are on their way to the disk until the next `write`, so a stop does not come alone.
  void begin_elsewhere() {
    create_order o;
    o.by = admin();
    o.kind = kind::external;
    o.scope = *scope_path::parse("elsewhere");
    core->execute({commands::create_operation{std::move(o), operation_id::fresh()}, {}}, now);
    core->end_burst(now);
  }

  std::size_t notices(std::string_view notice) const {
    return count(link->sent, [&](const auto& f) { return f.tag == voices::tag::notice && f.payload == notice; });
  }
  std::size_t ends_of_speech() const {
    return count(link->sent, [](const auto& f) { return f.tag == voices::tag::speech_end; });
  }
  std::size_t cancels_at_brain() const {
    return count(to_brain, [](const auto& f) { return f.tag == voices::tag::brain_cancel; });
  }
  /// nullopt: it lives.
  std::optional<status> end_of(std::size_t exchange) const {
    const auto at = edges.ends.find(edges.exchanges.at(exchange - 1));
    return at == edges.ends.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  template <class Fits>
  static std::size_t count(const std::vector<voices::frame>& of, Fits fits) {
    return static_cast<std::size_t>(std::count_if(of.begin(), of.end(), fits));
  }
};

} // namespace quell::controller::voice::testing
