// The words that leave the gateway, reach the speaker, and are passed to a model.
#include "tests/simulation/voice_truth.hpp"

#include <algorithm>
#include <charconv>

#include "integrations/voice/words.hpp"
#include "protocol/note.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::integrations::voice;

namespace {

/// An upper bound for the way of a notice from the disk to the voice gateway.
constexpr instant reaction_time = 50 * ms;

const auto* own_message(const conversation& messages) {
  const user_message* own = nullptr;
  for (const auto& m : messages)
    if (const auto* u = std::get_if<user_message>(&m); u && !is_note(u->text)) own = u;
  return own;
}

} // namespace

std::set<int> utterances_in(std::string_view text) {
  std::set<int> all;
  for (auto at = text.find("#v"); at != std::string_view::npos; at = text.find("#v", at + 2)) {
    int n = 0;
    const auto rest = text.substr(at + 2);
    const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
    if (bad == std::errc{} && end != rest.data() + rest.size() && *end == '.') all.insert(n);
  }
  return all;
}

std::string voice_mark(std::string_view text) {
  const auto all = utterances_in(text);
  return all.empty() ? std::string() : "#v" + std::to_string(*all.rbegin()) + ".";
}

std::string without_context(const std::string& prompt) {
  for (const auto& context : {cancel_context, retry_context})
    if (prompt.starts_with(context)) return prompt.substr(std::min(prompt.size(), context.size() + 2));
  return prompt;
}

void voice_truth::speaks(int connection, int utterance) {
  of(connection).spoken[utterance] = world_.events.now();
  connection_of_[utterance] = connection;
}

void voice_truth::cancels(int connection, bool by_key) {
  auto& t = of(connection);
  ++cancels_;
  const int last = t.spoken.empty() ? 0 : t.spoken.rbegin()->first;
  t.borders.push_back(last);
  if (by_key) {
    t.keyed = last;
    t.received.erase(last); // the one that was answered last is cancelled; older ones can still be replayed
    t.playing.clear();
  }
}

void voice_truth::frame_leaves(int connection, const frame& f) {
  if (f.tag == tag::speech)
    for (const int u : utterances_in(f.payload)) check_cancelled(u);
  auto& t = of(connection);
  // The answer to words without a mark (a stop that stopped nothing) can have used up the context, also one that is
  // only shown before a choice.
  const bool is_answer = (f.tag == tag::text && f.payload.starts_with(ai_prefix)) || f.tag == tag::feedback;
  if (is_answer && utterances_in(f.payload).empty()) {
    t.due_after = t.last_query = 0;
    t.had_context = false;
  }
  // Words of an exchange that begins behind a 07 leave behind the `cancelled` that answers it.
  t.has_words = t.has_words || (f.tag == tag::notice && f.payload.starts_with(hearing_prefix)) ||
                (f.tag == tag::text && f.payload.starts_with(you_prefix));
  if (f.tag != tag::notice || f.payload != cancelled_notice || t.left == t.borders.size()) return;
  const int border = t.borders[t.left++];
  check_fenced(connection, border);
  if (t.has_words) t.due_after = std::max(t.due_after, border); // there is something to discard
}

/// A cancel through any interface: what it covers is silent a moment after it is on disk.
void voice_truth::check_cancelled(int utterance) {
  const auto exchange = exchange_of(utterance);
  const auto since = exchange ? world_.truth.closed_since(*exchange) : std::nullopt;
  if (since && world_.events.now() - *since > reaction_time)
    world_.violate("cancelled speech", "utterance " + std::to_string(utterance) + " is answered aloud, and " +
                                           world_.label(*exchange) + " was cancelled");
}

/// `cancelled` leaves when the cancel is durable.
void voice_truth::check_fenced(int connection, int border) {
  if (world_.truth.writes_failed()) return;
  for (const auto& [utterance, at] : of(connection).spoken) {
    const auto exchange = utterance <= border ? exchange_of(utterance) : std::nullopt;
    const auto* row = exchange ? world_.truth.record_of(*exchange) : nullptr;
    if (!row || is_terminal(row->hot.now) || row->hot.self_status || row->hot.stop) continue;
    if (!world_.truth.closed_since(*exchange))
      world_.violate("cancelled speech",
                     "a client is told that it is cancelled, and " + world_.label(*exchange) + " is not on disk");
  }
}

void voice_truth::frame_comes(int connection, const frame& f) {
  auto& t = of(connection);
  const bool is_answer = f.tag == tag::text && f.payload.starts_with(ai_prefix);
  if (f.tag == tag::notice && f.payload == cancelled_notice) {
    if (t.answered == t.borders.size())
      return world_.violate("one answer to a 07", "a client has more answers than cancels");
    t.silent = std::max(t.silent, t.borders[t.answered++]);
  }
  if (is_answer && std::exchange(t.is_speaking, true))
    world_.violate("one end of speech", "an answer begins before the end of the last one");
  if (f.tag == tag::speech && !t.is_speaking) world_.violate("one end of speech", "there is speech and no answer");
  if (f.tag == tag::speech_end) t.is_speaking = false;
  if (is_answer || f.tag == tag::speech || f.tag == tag::feedback)
    for (const int u : utterances_in(f.payload))
      if (u <= t.silent && t.spoken.contains(u))
        world_.violate("cancelled speech", "an answer to utterance " + std::to_string(u) +
                                               " comes after the answer to the 07 that cancelled it");
}

void voice_truth::plays(int connection, const std::string& samples) {
  auto& t = of(connection);
  for (const int u : utterances_in(samples)) {
    t.playing.insert(u);
    if (u <= t.keyed && t.spoken.contains(u) && !t.received.contains(u))
      world_.violate("cancelled speech",
                     "utterance " + std::to_string(u) + " was cancelled by key, and its answer is played");
  }
}

void voice_truth::stops_playing(int connection) {
  auto& t = of(connection);
  t.received.merge(std::exchange(t.playing, {}));
}

void voice_truth::check_answered(int connection) {
  const auto& t = of(connection);
  if (t.answered != t.borders.size())
    world_.violate("one answer to a 07", "a client sent " + std::to_string(t.borders.size()) + " cancels and got " +
                                             std::to_string(t.answered) + " answers");
}

std::optional<operation_id> voice_truth::exchange_of(int utterance) const {
  const auto turn = turn_of_.find(utterance);
  const auto* row = turn == turn_of_.end() ? nullptr : world_.truth.record_of(turn->second);
  return row ? row->parent : std::nullopt;
}

void voice_truth::requested_model(const model_request& request) {
  const auto* own = own_message(request.messages);
  if (!own) return;
  for (const auto& m : request.messages) {
    const auto* u = std::get_if<user_message>(&m);
    if (!u) continue;
    const auto at = u->text.find(cancel_context);
    if (at == std::string::npos) continue;
    if (u != own || at != 0 || u->text.find(cancel_context, 1) != std::string::npos)
      return world_.violate("cancel context", "it stands in a prompt elsewhere than once at its beginning");
  }
  check_unheard(request, *own);
  if (const auto mine = utterances_in(own->text); mine.size() == 1 && !world_.failed())
    check_context(own->text, *mine.begin());
}

/// The answer of an exchange whose cancel was on disk before this turn began.
void voice_truth::check_unheard(const model_request& request, const user_message& own) {
  const auto turn = world_.turns.turn_of(without_context(own.text));
  const auto began = turn ? turn_began_.find(*turn) : turn_began_.end();
  if (began == turn_began_.end()) return;
  for (const auto& m : request.messages) {
    const auto* a = std::get_if<assistant_message>(&m);
    if (!a || !a->calls.empty() || a->interrupted) continue;
    for (const int u : utterances_in(a->text)) {
      const auto exchange = exchange_of(u);
      const auto at = exchange ? cancelled_.find(*exchange) : cancelled_.end();
      if (at != cancelled_.end() && at->second < began->second)
        world_.violate("cancelled answer", "a model is told the answer to utterance " + std::to_string(u) + ", and " +
                                               world_.label(*exchange) + " was cancelled");
    }
  }
}

/// After a cancel the next prompt begins with the context, without one it does not.
void voice_truth::check_context(const std::string& prompt, int utterance) {
  const auto whose = connection_of_.find(utterance);
  if (whose == connection_of_.end()) return;
  auto& t = of(whose->second);
  const auto spoken = t.spoken.at(utterance);
  const bool has_it = prompt.starts_with(cancel_context);
  if (t.last_query == utterance) return;
  const int before = std::exchange(t.last_query, utterance);
  const auto exchange = before > 0 ? exchange_of(before) : std::nullopt;
  const auto* row = exchange ? world_.truth.record_of(*exchange) : nullptr;
  const auto since = exchange ? world_.truth.closed_since(*exchange) : std::nullopt;
  const bool was_stopped = row && since && spoken - *since > 200 * ms && row->hot.now == status::cancelled &&
                           row->hot.stop && row->hot.stop->cause == stop_cause::cancel;
  const bool is_due =
      t.due_after > 0 && before <= t.due_after && utterance > t.due_after && t.answered == t.borders.size();
  if ((is_due || was_stopped) && !has_it)
    world_.violate("cancel context", "utterance " + std::to_string(utterance) + " is asked without it, and " +
                                         (is_due ? "a 07 came before it" : world_.label(*exchange) + " was cancelled"));
  const bool had_it = std::exchange(t.had_context, has_it);
  const auto cancels = t.borders.size() + stops_;
  const bool is_new = std::exchange(t.cancels_then, cancels) != cancels;
  const auto* turn = before > 0 && turn_of_.contains(before) ? world_.truth.record_of(turn_of_.at(before)) : nullptr;
  const bool was_answered = turn && turn->hot.self_status.value_or(turn->hot.now) == status::completed;
  if (has_it && had_it && was_answered && !is_new && !world_.truth.writes_failed())
    world_.violate("cancel context", "utterance " + std::to_string(utterance) + " is asked with it once more");
  if (has_it && cancels_ == 0 && stops_ == 0) // an earlier connection of this person can have cancelled
    world_.violate("cancel context",
                   "utterance " + std::to_string(utterance) + " is asked with it, and nothing was cancelled");
}

void voice_truth::committed(const std::vector<records::entry>& rows) {
  for (const auto& e : rows) {
    if (world_.failed()) return;
    if (const auto* o = std::get_if<records::put_operation>(&e); o && o->record->kind == kind::exchange) {
      ++exchanges_;
      if (!is_terminal(o->record->hot.now)) live_.insert(o->record->id);
      if (o->record->hot.stop) ++stops_;
    } else if (const auto* u = std::get_if<records::update_operation>(&e)) {
      check_row(*u);
    } else if (const auto* m = std::get_if<records::put_message>(&e)) {
      if (m->record.role != records::message_role::user || !m->record.turn || m->record.aside) continue;
      for (const int n : utterances_in(m->record.text)) turn_of_.emplace(n, *m->record.turn);
    } else if (const auto* c = std::get_if<records::put_cancel>(&e)) {
      check_spoken_stop(c->record);
    } else if (const auto* event = std::get_if<records::put_event>(&e)) {
      if (event->record.type == event_type::turn_start && event->record.operation)
        turn_began_.emplace(*event->record.operation, world_.events.now());
    }
  }
}

void voice_truth::check_row(const records::update_operation& u) {
  if (!live_.contains(u.id)) return;
  if (u.hot.stop) ++stops_;
  const bool was_spoken = u.hot.result.find("\"spoken\":true") != std::string::npos;
  if (was_spoken) spoken_since_.try_emplace(u.id, world_.events.now());
  if (!is_terminal(u.hot.now)) return;
  live_.erase(u.id);
  const auto spoken = spoken_since_.extract(u.id);
  if (u.hot.now != status::cancelled) return;
  if (u.hot.stop && u.hot.stop->cause == stop_cause::cancel) cancelled_.emplace(u.id, world_.events.now());
  // It can end before a cancel is on disk, and its record is written behind that, by a slow disk seconds later: both
  // are true then. How long the work below it takes to end does not matter.
  const auto since = world_.truth.closed_since(u.id);
  if (since && was_spoken && spoken.mapped() - *since > 3 * seconds)
    world_.violate("cancelled speech", world_.label(u.id) + " is cancelled, and its record says that it was spoken");
}

/// The scope of a spoken stop is one where its author has said it.
void voice_truth::check_spoken_stop(const records::cancel_record& c) {
  const auto* target = std::get_if<records::target_scope>(&c.target);
  if (!target || c.via_channel != "voice") return;
  if (!stop_sayers_.contains({c.by.id, target->scope.text()}))
    world_.violate("words that stop", world_.label(c.id) + " stops " + target->scope.text() + " by voice, and " +
                                          c.by.id + " did not say so there");
}

std::string voice_truth::forgotten() const {
  for (const auto& id : live_)
    if (const auto* row = world_.truth.record_of(id); row && !is_terminal(row->hot.now)) return world_.label(id);
  return {};
}

} // namespace quell::simulation
