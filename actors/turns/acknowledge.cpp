// The model call for an acknowledgement is no operation: it is not work that anyone must stop, and it cannot start any.
// The budgets of the day bound it all the same, and it counts in them.
#include "actors/turns/acknowledge.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/guarded_step.hpp"
#include "actors/turns/interrupted.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/stop_names.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/acknowledge_stop.hpp"
#include "controller/commands/add_cost.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/publish_event.hpp"
#include "controller/day_budgets.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::milliseconds reply_timeout{2500};
constexpr std::size_t most_characters = 220;
constexpr std::uint32_t most_tokens = 120;
constexpr int most_at_once = 32;
constexpr std::size_t most_kept_bytes = 8 << 10;
constexpr const char* reaction = "\xF0\x9F\x9B\x91"; // 🛑
/// The most stops that can get more than one acknowledgement; any further stop gets only a reaction.
constexpr std::size_t most_open = 1000;
constexpr std::chrono::milliseconds look_every{5000};
constexpr std::chrono::seconds kill_bound{15};

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + plain_name(name);
  return all;
}

std::vector<std::string> plain_names(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const auto& name : names) all.push_back(plain_name(name));
  return all;
}

audience audience_of(modality how) { return how == modality::voice ? audience::listeners : audience::readers; }

/// quell's own text that the stop is under way, or over.
std::string words_about(const stop_request_news& stop, stop_telling what) {
  const auto to = audience_of(stop.modality);
  if (what == stop_telling::stopped && to == audience::listeners) return stopped_aloud(plain_names(stop.interrupted));
  return own_words(what, {}, 0, to);
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

commands::acknowledge_stop::acknowledgement acknowledgement_of(const stop_request_news& stop, stop_telling what,
                                                               const std::string& text) {
  commands::acknowledge_stop::acknowledgement made;
  const bool in_words = !text.empty();
  if (what == stop_telling::words) {
    auto& m = made.words.emplace();
    m.id = message_id::fresh();
    m.scope = stop.scope;
    m.role = records::message_role::assistant;
    m.text = text;
  }
  auto& e = made.event;
  e.type = event_type::acknowledgement;
  e.scope = stop.scope;
  e.cancel = stop.cancel;
  nlohmann::ordered_json data = {{"message", stop.message.text()},
                                 {"cancel", stop.cancel.text()},
                                 {"text", in_words ? nlohmann::ordered_json(text) : nlohmann::ordered_json()},
                                 {"reaction", in_words ? nlohmann::ordered_json() : nlohmann::ordered_json(reaction)}};
  if (const std::string state = name_of(what); !state.empty()) data["state"] = state;
  e.data = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return made;
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

/// Taken before the loop hears of the stop, so that no burst of stops gets more places than there are.
acknowledger::words_place acknowledger::place_for(const stop_request_news& what) const {
  if (!what.is_first || !model_for(what)) return nullptr;
  const words_place place(places_taken_.get(), [all = places_taken_](void*) { --*all; });
  return ++*places_taken_ > most_at_once ? nullptr : place;
}

void acknowledger::acknowledge(stop_request_news what, words_place place) {
  using voice = stop_story::voice;
  const auto to = audience_of(what.modality);
  stop_story story(place ? voice::model : voice::none, to);
  begin(std::make_shared<open_story>(open_story{std::move(what), std::move(story)}), std::move(place));
}

void acknowledger::begin(const story_ref& s, words_place place) {
  loop_->post([self = shared_from_this(), s, place = std::move(place)]() mutable {
    s->began = self->runtime_->core.now().boot;
    if (self->open_count_ >= most_open)
      return self->runtime_->core.execute(
          {commands::acknowledge_stop{s->what.message, {acknowledgement_of(s->what, stop_telling::reaction, {})}, true},
           {}});
    ++self->open_count_;
    self->open_[s->what.cancel].push_back(s);
    // First what tells the story to its end, even if the model's words or this look fail.
    self->loop_->after(reply_timeout, [self, s] { self->change(s, [](stop_story& story) { story.wait_ends(); }); });
    self->look_again(s);
    self->look(s);
    if (!place) return;
    self->ask_budget(s, std::move(place));
  });
}

/// Words that the budget of the day no longer allows are left out, as if the model had failed. The stop waits for none
/// of this.
void acknowledger::ask_budget(const story_ref& s, words_place place) {
  runtime_->core.ask([self = shared_from_this(), s,
                      place = std::move(place)](const ledger& l, moment now) mutable -> std::function<void()> {
    const bool is_used_up = why_day_is_used_up(l, s->what.scope, s->what.author.id, now).has_value();
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
  runtime_->core.execute({commands::add_cost{{what.scope, what.author.id, a.agent, a.model, used}}, {}});
  records::event_record news; // as of every other model call: what is shown and metered is what the day has
  auto said = model_used(what.cancel, a.model, used);
  news.type = said.type;
  news.data = std::move(said.data);
  news.scope = what.scope;
  news.cancel = what.cancel;
  runtime_->core.execute({commands::publish_event{std::move(news)}, {}});
}

void acknowledger::change(const story_ref& s, std::function<void(stop_story&)> how) {
  how(s->story);
  look(s);
}

/// A story that begins meanwhile looks for itself.
void acknowledger::settled(const cancel_id& cancel) {
  if (open_count_.load() == 0) return;
  loop_->post([self = shared_from_this(), cancel] {
    const auto found = self->open_.find(cancel);
    if (found == self->open_.end()) return;
    for (const auto& s : found->second) self->look(s);
  });
}

/// Asks the ledger how the cancel stands.
void acknowledger::look(const story_ref& s) {
  if (s->story.is_over()) return;
  runtime_->core.ask([self = shared_from_this(), s](const ledger& l, moment now) -> std::function<void()> {
    auto seen = std::make_shared<const std::optional<cancel_view>>(l.view_cancel(s->what.cancel, now));
    return [self, s, seen, now] {
      if (*seen) return self->loop_->post([self, s, seen, now] { self->advance(s, **seen, now); });
      self->runtime_->priority_reads->run([self, s](store_reader& store) { self->look_up(s, store); });
    };
  });
}

/// It settled long ago or in an earlier life: the store has the result.
void acknowledger::look_up(const story_ref& s, store_reader& store) {
  const auto row = store.cancel(s->what.cancel);
  cancel_view view;
  if (row && *row) view.record = **row;
  view.record.status = cancel_status::settled;
  const auto count = [&](receipt r) { return view.record.report.receipts[static_cast<std::size_t>(r)]; };
  view.proven = row && *row && count(receipt::unconfirmed) + count(receipt::declared) == 0;
  loop_->post(
      [self = shared_from_this(), s, view = std::move(view)] { self->advance(s, view, self->runtime_->core.now()); });
}

/// Checks again later, since nothing notifies us that an expected event does not happen.
void acknowledger::look_again(const story_ref& s) {
  loop_->after(look_every, [self = shared_from_this(), s] {
    if (s->story.is_over()) return;
    self->look(s);
    self->look_again(s);
  });
}

void acknowledger::advance(const story_ref& s, const cancel_view& view, moment now) {
  if (s->story.is_over()) return;
  if (view.record.status == cancel_status::settled) s->story.settled(view.proven);
  const auto stuck = stuck_in(view, now.boot - s->began > kill_bound,
                              s->is_from_before ? workers_are::coming_back : workers_are::known);
  if (!stuck.empty()) s->story.stuck();
  commands::acknowledge_stop news{s->what.message, {}, false};
  bool is_acknowledged_later_on = false;
  while (const auto next = s->story.next()) {
    switch (*next) {
    case stop_telling::unproven:
      if (speaks(*s)) tell_own(s, *next, stuck, view.unproven_total);
      break;
    case stop_telling::unconfirmed: {
      const auto count = [&](receipt r) { return view.record.report.receipts[static_cast<std::size_t>(r)]; };
      is_acknowledged_later_on = speaks(*s);
      if (is_acknowledged_later_on) tell_own(s, *next, {}, count(receipt::unconfirmed) + count(receipt::declared));
      break;
    }
    case stop_telling::words:
      news.all.push_back(acknowledgement_of(s->what, *next, s->story.words()));
      break;
    case stop_telling::reaction:
      news.all.push_back(acknowledgement_of(s->what, *next, {}));
      break;
    case stop_telling::stopping:
    case stop_telling::stopped:
      news.all.push_back(acknowledgement_of(s->what, *next, words_about(s->what, *next)));
      break;
    }
  }
  news.is_last = s->story.is_over() && !is_acknowledged_later_on;
  if (news.is_last) close(s);
  if (news.is_last || !news.all.empty()) runtime_->core.execute({std::move(news), {}});
}

/// If several stops in one place joined each other, the first one reports the unknown outcomes.
bool acknowledger::speaks(const open_story& s) const {
  const auto found = open_.find(s.what.cancel);
  if (found == open_.end()) return true;
  const auto first = std::find_if(found->second.begin(), found->second.end(),
                                  [&](const story_ref& one) { return one->what.scope.text() == s.what.scope.text(); });
  return first == found->second.end() || first->get() == &s;
}

/// Reads the names from the store first.
void acknowledger::tell_own(const story_ref& s, stop_telling what, std::vector<stuck_operation> stuck,
                            std::uint64_t total) {
  runtime_->priority_reads->run(
      [self = shared_from_this(), s, what, stuck = std::move(stuck), total](store_reader& store) {
        auto text =
            own_words(what, what == stop_telling::unproven ? named(stuck, store) : not_known_of(s->what.cancel, store),
                      total, audience_of(s->what.modality));
        self->loop_->post([self, s, what, text = std::move(text)] {
          const bool is_last = what == stop_telling::unconfirmed;
          if (!is_last && s->story.is_over()) return; // it settled meanwhile
          if (is_last) self->close(s);
          self->runtime_->core.execute(
              {commands::acknowledge_stop{s->what.message, {acknowledgement_of(s->what, what, text)}, is_last}, {}});
        });
      });
}

void acknowledger::close(const story_ref& s) {
  const auto found = open_.find(s->what.cancel);
  if (found == open_.end()) return;
  open_count_ -= std::erase(found->second, s);
  if (found->second.empty()) open_.erase(found);
}

/// The stop's event is made after its decision, because only the store has the names in it: the process can have died
/// in between.
void acknowledger::announce(const records::message_record& stop, const kept_decision& kept, store_reader& store) {
  if (was_announced(stop, store)) return;
  message_order order;
  order.scope = stop.scope;
  order.client_id = stop.client_id;
  auto a = answer_of(kept, stop.id, std::nullopt);
  a.seq = stop.seq;
  a.interrupted = names_of(kept, store);
  runtime_->core.execute({commands::publish_event{decision_event(order, a)}, {}});
}

void acknowledger::make_up_for(const std::vector<records::message_record>& left, store_reader& store) {
  const auto earlier = acknowledged_before(left, store);
  for (const auto& m : left) {
    const auto kept = read_kept(m.decision);
    if (!kept.cancel) continue;
    auto s =
        std::make_shared<open_story>(open_story{{}, stop_story(stop_story::voice::none, audience_of(kept.modality))});
    s->what.message = m.id;
    s->what.cancel = *kept.cancel;
    s->what.scope = m.scope;
    s->what.modality = kept.modality;
    s->what.interrupted = names_of(kept, store);
    s->is_from_before = true;
    if (const auto last = earlier.find(m.id); last != earlier.end()) s->story.was_acknowledged(last->second);
    announce(m, kept, store);
    begin(s, nullptr);
  }
}

} // namespace quell::controller::turns
