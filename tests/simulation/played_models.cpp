// One answer per request, drawn when the request arrives and sent piece by piece.
#include "tests/simulation/played_models.hpp"

#include <vector>

#include "protocol/note.hpp"

namespace quell::simulation {

using namespace quell::integrations;

namespace {

struct played_stream {
  std::function<void(model_event)> listener;
  bool is_cut = false;
};

class played_call final : public model_call {
 public:
  played_call(std::shared_ptr<scheduler_life> life, std::shared_ptr<played_stream> stream)
      : life_(std::move(life)), stream_(std::move(stream)) {}
  ~played_call() override { stream_->is_cut = true; }
  played_call(const played_call&) = delete;
  void cancel(std::function<void()> closed) override {
    stream_->is_cut = true;
    later(life_, life_->random.long_tailed(20 * us, 30 * ms), std::move(closed));
  }
  model_usage used() const override { return {}; }

 private:
  std::shared_ptr<scheduler_life> life_;
  std::shared_ptr<played_stream> stream_;
};

tool_call call_drawn(random_stream& r, const std::string& number) {
  const auto kind = r.below(100);
  tool_call c{"call-" + number, "exec", R"({"command":"build )" + number + R"("})"};
  if (kind < 38) return c;
  if (kind < 58) return c.input = R"({"command":"rm -r old/)" + number + R"("})", c; // a human must approve it
  c.name = "spawn_agent";
  if (kind < 74) return c.input = R"({"task":"look at )" + number + R"(","agent":"helper"})", c;
  c.name = "read";
  if (kind < 80) return c.input = R"({"path":"notes/)" + number + R"("})", c;
  c.name = "write";
  if (kind < 86) return c.input = R"({"path":"notes/same","text":"x"})", c;
  c.name = "session_status";
  if (kind < 94) return c.input = "{}", c;
  c.name = kind < 97 ? "no_such_tool" : "exec";
  c.input = kind < 97 ? "{}" : "{\"command\":";
  return c;
}

class virtual_models final : public model_client {
 public:
  explicit virtual_models(std::shared_ptr<scheduler_life> life) : life_(std::move(life)) {}

  std::unique_ptr<model_call> ask(const model_settings&, model_request request,
                                  std::function<void(model_event)> listener) override {
    auto stream = std::make_shared<played_stream>(played_stream{std::move(listener), false});
    const auto n = ++life_->model_calls;
    random_stream r(life_->random.next(), n);
    const std::string number = std::to_string(life_->at.controller.lives()) + "-" + std::to_string(n);
    if (request.tools.empty())
      acknowledge(r, stream);
    else if (check_request(request); !life_->at.failed())
      answer(r, number, mark_in(request), answers_in(request), stream);
    return std::make_unique<played_call>(life_, std::move(stream));
  }

 private:
  void check_request(const model_request& request) {
    life_->at.turns.requested_model(request);
    if (life_->at.plan.voice && !life_->at.failed()) life_->at.voices.requested_model(request);
  }
  /// Words that came by voice are named in the answer.
  static std::string mark_in(const model_request& request) {
    std::string mark;
    for (const auto& entry : request.messages)
      if (const auto* u = std::get_if<user_message>(&entry); u && !is_note(u->text)) mark = voice_mark(u->text);
    return mark;
  }
  /// The number of its answers in this turn so far.
  static std::size_t answers_in(const model_request& request) {
    std::size_t count = 0;
    for (const auto& entry : request.messages)
      if (std::holds_alternative<assistant_message>(entry))
        ++count;
      else if (std::holds_alternative<user_message>(entry))
        count = 0;
    return count;
  }
  void tell(instant at, const std::shared_ptr<played_stream>& stream, model_event what) {
    later(life_, at, [stream, what = std::move(what)] {
      if (!stream->is_cut) stream->listener(what);
    });
  }
  void acknowledge(random_stream& r, const std::shared_ptr<played_stream>& stream) {
    const instant at = r.long_tailed(1 * ms, 4 * seconds);
    if (r.chance(150)) return tell(at, stream, model_events::failed{{"model_error", "overloaded", {}}, {}});
    tell(at, stream, model_events::text{"Okay, I have stopped that."});
    tell(at + r.between(0, 5) * ms, stream, model_events::finished{});
  }
  void answer(random_stream& r, const std::string& number, const std::string& mark, std::size_t before,
              const std::shared_ptr<played_stream>& stream) {
    instant at = r.chance(800) ? r.long_tailed(1 * ms, 300 * ms) : r.long_tailed(20 * ms, 6 * seconds);
    if (r.chance(30)) at = 120 * seconds; // in effect never: the client gives up first
    const bool fails = at >= 120 * seconds || r.chance(50);
    const auto pieces = r.below(4);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      tell(at, stream, model_events::text{"piece " + std::to_string(i) + " of " + number + ". " + mark + " "});
      at += r.long_tailed(100 * us, 700 * ms);
    }
    if (fails) return tell(at, stream, model_events::failed{{"model_error", "it is overloaded", {}}, {}});
    model_events::finished end{model_events::stop::end, {10, 5, 0}};
    if (before < 4 && r.chance(before == 0 ? 650 : 350)) {
      end.why = model_events::stop::calls;
      for (auto n = r.between(1, 4); n > 0; --n)
        tell(at, stream, model_events::call{call_drawn(r, number + "-" + std::to_string(n))});
    }
    tell(at, stream, end);
  }

  std::shared_ptr<scheduler_life> life_;
};

} // namespace

std::unique_ptr<model_client> played_models(const std::shared_ptr<scheduler_life>& life) {
  return std::make_unique<virtual_models>(life);
}

} // namespace quell::simulation
