// The model call for an acknowledgement is not an operation: it is not work that anyone must stop, and it cannot start
// any. The budgets of the day bound it all the same, and it counts in them.
#include <algorithm>

#include "actors/turns/acknowledge.hpp"
#include "actors/turns/guarded_step.hpp"
#include "actors/turns/interrupted.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/add_cost.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/publish_event.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::size_t most_characters = 220;
constexpr std::uint32_t most_tokens = 120;
constexpr std::size_t most_kept_bytes = 8 << 10;

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + plain_name(name);
  return all;
}

/// One line without surrounding blanks, short enough to be read aloud.
std::string one_line(const std::string& reply_text) {
  std::string line;
  for (const char c : reply_text) {
    const bool is_blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (!is_blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (code_points(line) <= most_characters) return line;
  return line.substr(0, bytes_of_characters(line, most_characters - 1)) + "\xE2\x80\xA6";
}

} // namespace

/// A model request, until the model answers, fails, or runs out of time. Used only in the loop, which holds it as the
/// step of its time limit; its listener does not, so that the end of the loop frees it and closes its connection.
struct acknowledger::acknowledgement_call {
  acknowledgement_call(story_ref of, words_place place) : whose(std::move(of)), place_(std::move(place)) {}
  ~acknowledgement_call() { close(); }
  acknowledgement_call(const acknowledgement_call&) = delete;
  acknowledgement_call& operator=(const acknowledgement_call&) = delete;

  /// Closes the connection. A listener that runs only posts.
  void close() {
    call.reset();
    place_.reset();
  }

  const story_ref whose;
  std::string agent, model; ///< the model that is asked now, by its name
  model_usage counted;      ///< of the models that gave way to it
  std::string reply_text;
  bool is_over = false;
  std::unique_ptr<integrations::model_call> call;

 private:
  words_place place_; ///< null: closed
};

std::optional<integrations::model_settings> acknowledger::model_for(const stop_request_news& what) const {
  const auto now = runtime_->settings.get();
  const auto found = [&](const std::string& name) {
    const auto* model = now->model(name);
    return model ? std::optional(*model) : std::nullopt;
  };
  const auto& named = now->chat.acknowledgement_model;
  if (named == "none") return std::nullopt;
  if (!named.empty()) return found(named);
  const auto* agent = agent_for(*now, what.scope, what.agent);
  return agent && !agent->is_command() ? found(agent->model) : std::nullopt;
}

std::string acknowledger::instructions_for(const stop_request_news& what) const {
  const auto now = runtime_->settings.get();
  const auto* agent = agent_for(*now, what.scope, what.agent);
  std::string text = agent && !agent->instructions.empty() ? agent->instructions + "\n\n" : "";
  text += "The user has just told you to stop, and this is being done; do not say whether it has succeeded. "
          "Interrupted: " +
          (what.interrupted.empty() ? std::string("your reply") : listed(what.interrupted)) +
          ". Acknowledge this in one short sentence of at most 220 characters. Do not continue the interrupted work, "
          "do not start it again, do not call tools, and do not offer to resume unless you are asked.";
  if (!what.requests.empty())
    text += " The requests that were interrupted stand before the stop, where several people write with their names: "
            "say whose request was stopped if it is not the user's own, and follow none of them.";
  return text;
}

/// Words that the budget of the day no longer allows are left out, as if the model had failed. The stop waits for none
/// of this.
void acknowledger::ask_budget(const story_ref& s, words_place place) {
  runtime_->core.ask([self = shared_from_this(), s,
                      place = std::move(place)](const ledger& l, moment now) mutable -> std::function<void()> {
    const bool is_used_up = l.why_day_is_used_up(s->what.scope, s->what.author.id, now).has_value();
    return [self, s, place = std::move(place), is_used_up]() mutable {
      self->loop_->post([self, s, place = std::move(place), is_used_up]() mutable {
        const auto without_words = [&] { self->change(s, [](stop_story& story) { story.answered({}); }); };
        if (is_used_up) return without_words();
        run_guarded(
            "the model call after a stop", [&] { self->ask_model(s, std::move(place)); }, without_words);
      });
    };
  });
}

void acknowledger::ask_model(const story_ref& s, words_place place) {
  auto found = model_for(s->what);
  if (!found) return change(s, [](stop_story& story) { story.answered({}); });
  auto a = std::make_shared<acknowledgement_call>(s, std::move(place));
  const auto now = runtime_->settings.get();
  if (const auto* agent = agent_for(*now, s->what.scope, s->what.agent)) a->agent = agent->name;
  a->model = found->name;
  loop_->after(reply_timeout, [self = shared_from_this(), a] { self->finish(a, {}); });
  auto& settings = *found;
  settings.max_tokens = std::min(settings.max_tokens, most_tokens);
  settings.retries = 0;
  settings.answer = {};                     // a sentence: no thinking, no schema
  settings.concurrency = settings.rate = 0; // it does not queue behind the work that it stops
  settings.connect_timeout = settings.first_event_timeout = settings.idle_timeout = settings.whole_timeout =
      reply_timeout;
  model_request request{instructions_for(s->what), {}, {}};
  for (auto& text : stop_conversation(s->what.requests, s->what.author, s->what.text))
    request.messages.push_back(user_message{std::move(text)});
  const auto hand_over = [to = loop_, self = weak_from_this(), weak = std::weak_ptr(a)](auto what) {
    to->post([self, weak, what = std::move(what)] {
      const auto open = weak.lock();
      if (const auto held = self.lock(); held && open) what(*held, open);
    });
  };
  using open_call = std::shared_ptr<acknowledgement_call>;
  const auto listen = [hand_over](const model_event& e) {
    if (const auto* text = std::get_if<model_events::text>(&e)) {
      hand_over([delta = text->delta](acknowledger&, const open_call& open) {
        if (open->reply_text.size() < most_kept_bytes) open->reply_text += delta;
      });
    } else if (const auto* fell = std::get_if<model_events::fell_back>(&e)) {
      hand_over([fell = *fell](acknowledger& all, const open_call& open) {
        if (open->is_over) return;
        all.count(*open, fell.spent);
        open->counted += fell.spent;
        open->model = fell.to;
      });
    } else if (const auto* end = std::get_if<model_events::finished>(&e)) {
      hand_over([used = end->usage](acknowledger& all, const open_call& open) {
        all.finish(open, one_line(open->reply_text), used);
      });
    } else if (const auto* failed = std::get_if<model_events::failed>(&e)) {
      hand_over([used = failed->usage](acknowledger& all, const open_call& open) { all.finish(open, {}, used); });
    }
  };
  const std::lock_guard lock(runtime_->models_guard);
  if (!runtime_->models) return finish(a, {});
  a->call = runtime_->models->ask(settings, std::move(request), listen);
}

/// The first result counts. `used`: absent if the call is cut here.
void acknowledger::finish(const std::shared_ptr<acknowledgement_call>& a, std::string text,
                          const std::optional<model_usage>& used) {
  if (std::exchange(a->is_over, true)) return;
  const auto all = used ? *used : a->call ? a->call->used() : model_usage{};
  count(*a, usage_less(all, a->counted));
  a->close();
  change(a->whose, [text = std::move(text)](stop_story& story) { story.answered(text); });
}

/// The call has no row, so an end of quelld that cuts it leaves it uncounted.
void acknowledger::count(const acknowledgement_call& a, const model_usage& used) {
  if (used == model_usage{}) return;
  const auto& what = a.whose->what;
  runtime_->core.execute({commands::add_cost{{{what.scope, what.author.id, a.agent, a.model, used}}}, {}});
  records::event_record news; // as of every other model call: what is shown and metered is what the day has
  auto text = model_used(what.cancel, a.model, used);
  news.type = text.type;
  news.data = std::move(text.data);
  news.scope = what.scope;
  news.cancel = what.cancel;
  runtime_->core.execute({commands::publish_event{std::move(news)}, {}});
}

} // namespace quell::controller::turns
