// Sends prompts to the turn scheduler and takes answers from its events.
#include "actors/voice/own_brain.hpp"

#include <deque>
#include <nlohmann/json.hpp>

#include "actors/turns/endings.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/rewrite_history.hpp"
#include "integrations/voice/brain_side.hpp"
#include "integrations/voice/words.hpp"

namespace quell::controller::voice {
namespace {

namespace author_of = integrations::voice;

std::string text_of_event(const records::event_record& e, const char* key) {
  const auto data = nlohmann::json::parse(e.data, nullptr, false);
  if (!data.is_object()) return {};
  const auto found = data.find(key);
  return found != data.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A question to the speaker, to be spoken; "" = the event is another one, for example a call that needs approval.
std::string question_of(const records::event_record& e) {
  const auto data = nlohmann::json::parse(e.data, nullptr, false);
  const nlohmann::json::json_pointer who("/question/asked_by"), message("/question/message"),
      choices("/question/form/properties/answer/enum");
  if (!data.is_object() || !data.contains(who) || data.at(who) != "agent") return {};
  if (!data.contains(message) || !data.at(message).is_string()) return {};
  auto words = data.at(message).get<std::string>();
  std::string list;
  if (data.contains(choices) && data.at(choices).is_array())
    for (const auto& one : data.at(choices))
      if (one.is_string()) list += (list.empty() ? "" : ", or ") + one.get<std::string>();
  return author_of::without_signs(list.empty() ? words : words + " " + list + "?");
}

/// The reasons of a turn's end that mean that it was stopped, and not that it failed.
bool is_stop(std::string_view reason) {
  return reason == "user" || reason == "superseded" || reason == "disconnect" || reason == "parent";
}

class agent_brain final : public brain_port, public std::enable_shared_from_this<agent_brain> {
 public:
  agent_brain(voice_context_ref house, speaker who)
      : context_(std::move(house)), who_(std::move(who)),
        brain_(context_->settings.feedback ? author_of::brain_side::manner::asks
                                           : author_of::brain_side::manner::at_once) {}

  void begin(hooks h) override {
    hooks_ = std::move(h);
    if (context_->parted.take(who_.scope, who_.author.id, context_->work->core.now().boot)) brain_.begin_cancelled();
  }

  void client_left() override {
    if (brain_.owes_cancel()) context_->parted.keep(who_.scope, who_.author.id, context_->work->core.now().boot);
  }

  void exchange_begins() override { brain_.exchange_begins(); }

  void take(const author_of::frame& f) override {
    // An answer that the gateway has not seen yet would be taken for one to the next words.
    if (f.tag == author_of::tag::brain_cancel)
      std::erase_if(outgoing_, [](const author_of::frame& waits) {
        return waits.tag == author_of::tag::answer || waits.tag == author_of::tag::question;
      });
    brain_.on_gateway_message(f);
    perform();
  }

  void refuse(const fault&) override {} // its answers come one by one, each to a question

  void on_event(const records::event_record& e) override {
    if (!open_) return;
    if (e.type == event_type::approval_required && e.root && e.root == open_->exchange && hooks_.speak_question) {
      if (const auto words = question_of(e); !words.empty()) hooks_.speak_question(words);
    }
    if (!open_->turn || e.operation != open_->turn) return;
    if (e.type == event_type::turn_complete) {
      const auto n = open_->n;
      answered_ = open_->turn;
      open_.reset();
      auto text = text_of_event(e, "text");
      brain_.answered(n, text.empty() ? "There is nothing to say." : std::move(text));
    } else if (e.type == event_type::turn_abort) {
      const auto reason = text_of_event(e, "reason");
      is_stop(reason) ? stopped() : fail("That did not work: " + reason + ".");
    }
    perform();
  }

  void retract(std::function<void()> done) override {
    const auto turn = std::exchange(answered_, std::nullopt);
    if (!turn) return done();
    commands::rewrite_history mark;
    mark.retracted.push_back({*turn, turns::ending_text({turns::turn_ending::how::cancelled, "unheard"})});
    context_->work->core.execute({std::move(mark), [loop = context_->loop, done = std::move(done)](
                                                       const commands::history_rewritten&) { loop->post(done); }});
  }

 private:
  struct query {
    author_of::query_number n = 0;
    std::optional<operation_id> turn{};
    std::optional<operation_id> exchange{};
  };

  /// The turn alone: the exchange follows it. Its cancel then comes like every other.
  void stopped() {
    const auto q = std::exchange(open_, std::nullopt);
    if (q && q->exchange && hooks_.answer_cancelled) hooks_.answer_cancelled(*q->exchange);
  }

  void fail(const std::string& why) {
    const auto q = std::exchange(open_, std::nullopt);
    if (q) brain_.failed(q->n, why);
  }

  void perform() {
    for (auto& e : brain_.take()) {
      if (const auto* f = std::get_if<author_of::brain_effects::to_gateway>(&e)) send_soon(f->what);
      if (const auto* q = std::get_if<author_of::brain_effects::ask>(&e)) ask(*q);
      if (const auto* q = std::get_if<author_of::brain_effects::drop>(&e); q && open_ && open_->n == q->n)
        open_.reset();
    }
  }

  void send_soon(author_of::frame f) {
    outgoing_.push_back(std::move(f));
    context_->loop->post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->outgoing_.empty()) return;
      const auto what = std::move(self->outgoing_.front());
      self->outgoing_.pop_front();
      if (self->hooks_.on_frame) self->hooks_.on_frame(what);
    });
  }

  void ask(const author_of::brain_effects::ask& q) {
    open_ = query{q.n, {}, hooks_.exchange ? hooks_.exchange() : std::nullopt};
    answered_.reset();
    auto order = spoken_order(who_, open_->exchange, q.text);
    if (!context_->settings.agent.empty()) order.agent = context_->settings.agent;
    order.context = q.context;
    order.wants = turns::message_order::scope_of_decision::only_turn;
    context_->turn_scheduler.take(std::move(order), [loop = context_->loop, weak = weak_from_this(),
                                                     n = q.n](const outcome<turns::message_answer>& a) {
      loop->post([weak, n, turn = a ? a->turn : std::nullopt, why = a ? std::string() : a.error().error.detail] {
        const auto self = weak.lock();
        if (!self || !self->open_ || self->open_->n != n) return;
        self->open_->turn = turn;
        if (!turn) self->fail("That did not work: " + why);
        self->perform();
      });
    });
  }

  const voice_context_ref context_;
  const speaker who_;
  hooks hooks_;
  author_of::brain_side brain_;
  std::optional<query> open_;
  std::optional<operation_id> answered_{}; ///< the turn of the last query, if it was answered
  std::deque<author_of::frame> outgoing_;  ///< posted, one call each
};

} // namespace

result<std::shared_ptr<brain_port>> own_brain(voice_context_ref house, speaker who) {
  const auto& named = house->settings.agent;
  if (!turns::agent_for(*house->work->settings.get(), who.scope, named.empty() ? std::nullopt : std::optional(named)))
    return failure("no_brain", "no agent serves scope " + who.scope.text() +
                                   "; configure one ([[agents]] scopes), or name one ([voice] agent)");
  return std::static_pointer_cast<brain_port>(std::make_shared<agent_brain>(std::move(house), std::move(who)));
}

} // namespace quell::controller::voice
