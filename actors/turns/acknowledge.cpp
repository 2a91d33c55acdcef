// Tells the story of each stop, from its fence to its last acknowledgement.
#include "actors/turns/acknowledge.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/interrupted.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/stop_names.hpp"
#include "controller/commands/acknowledge_stop.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/publish_event.hpp"

namespace quell::controller::turns {

namespace {

constexpr int most_at_once = 32;
constexpr const char* reaction = "\xF0\x9F\x9B\x91"; // 🛑
/// The most stops that can get more than one acknowledgement; any further stop gets only a reaction.
constexpr std::size_t most_open = 1000;
constexpr std::chrono::milliseconds look_every{5000};
constexpr std::chrono::seconds kill_bound{15};

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
