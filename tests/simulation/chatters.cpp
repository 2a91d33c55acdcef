// Messages are drawn by number, so that a run without some entries of the schedule draws the same ones.
#include "tests/simulation/chatters.hpp"

#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

const std::vector<std::string> people_in_chats{"ann", "bob", "eve"};
const std::vector<std::string> chat_places{"den", "den", "den/x", "den/x", "team/a", "team"};
const std::vector<std::string> stop_texts{"stop",
                                          "Stop!",
                                          "STOP it now",
                                          "please stop",
                                          "ok, cancel that",
                                          "never mind",
                                          "nevermind",
                                          "oh, actually forget it."};
const std::vector<std::string> named_stops{"clanky, stop", "@clanky cancel", "hey clanky: stop please"};
const std::vector<std::string> near_stops{"stop the music ", "please don't stop ",       "it will not stop ",
                                          "stop. Now do ",   "can you cancel my order ", "clanky, start "};

} // namespace

chat_message chatters::draw(int number, random_stream& r) const {
  chat_message m;
  m.number = number;
  auto& o = m.order;
  o.author.id = o.author.name = r.pick(people_in_chats);
  o.by.role = role::chat;
  o.by.owner = o.author;
  o.by.token_name = o.by.token_id = "bridge";
  o.via_channel = "chat";
  o.scope = *scope_path::parse(r.pick(chat_places));
  if (r.chance(850)) o.client_id = "m-" + std::to_string(number);
  if (r.chance(400)) o.modality = modality::voice;
  const std::string unique = "#" + std::to_string(number) + ".";
  const auto kind = r.below(100);
  if (kind < 18) {
    m.is_stop = true;
    o.text = r.pick(stop_texts);
  } else if (kind < 24) {
    m.is_stop = m.names_bot = true;
    o.text = r.pick(named_stops);
  } else if (kind < 34) {
    o.text = r.pick(near_stops) + unique;
  } else {
    o.text = "please do " + unique;
  }
  if (r.chance(250)) o.addressed = r.chance(600);
  if (o.modality == modality::voice && r.chance(600)) o.humans_present = static_cast<std::uint32_t>(r.between(1, 3));
  if (o.modality == modality::voice && r.chance(80)) o.is_final = false;
  return m;
}

void chatters::plan() {
  if (!world_.plan.chats) return;
  random_stream r(world_.plan.seed, 7000);
  const auto count = static_cast<int>(r.long_tailed(5, 48));
  is_answered_.resize(static_cast<std::size_t>(count) + 1);
  std::vector<instant> bursts;
  for (auto n = r.between(1, 4); n > 0; --n) bursts.push_back(r.between(0, world_.plan.active));
  for (int n = 1; n <= count; ++n) {
    random_stream own(world_.plan.seed, mix(7001, static_cast<std::uint64_t>(n)));
    const instant at =
        own.chance(400) ? own.between(0, world_.plan.active) : own.pick(bursts) + own.long_tailed(1, 900 * ms);
    auto m = draw(n, own);
    const bool is_repeated = !m.order.client_id.empty() && own.chance(300);
    // At the same instant, a little later, or long after, when quelld may have died meanwhile.
    const auto when = own.below(3);
    const instant again = when == 0   ? own.long_tailed(1 * us, 2 * ms)
                          : when == 1 ? own.long_tailed(1 * ms, 4 * seconds)
                                      : own.long_tailed(1 * seconds, 25 * seconds);
    ++waiting_;
    world_.events.at(at + 300 * ms, [this, m, is_repeated, again] {
      --waiting_;
      say(m, 6);
      if (is_repeated) come_again(m, 1, again); // its service delivers it twice
    });
  }
}

void chatters::come_again(chat_message m, int tries, instant delay) {
  ++waiting_;
  world_.events.after(delay, [this, m = std::move(m), tries] {
    --waiting_;
    if (tries == 1 || !is_answered_[static_cast<std::size_t>(m.number)]) say(m, tries);
  });
}

void chatters::say(chat_message m, int tries) {
  // A message with an id is repeated until it is answered.
  const bool repeats = !m.order.client_id.empty() && tries > 1;
  auto* turn_scheduler = world_.turn_scheduler.it();
  if (!turn_scheduler || !world_.controller.is_up()) {
    if (repeats) come_again(std::move(m), tries - 1, 700 * ms);
    return;
  }
  if (!m.first_at) m.first_at = world_.events.now();
  ++message_count_;
  world_.note(m.order.author.id, [&] {
    return std::string(m.order.modality == modality::voice ? "says" : "writes") + " in " + m.order.scope.text() + ": " +
           m.order.text + (m.order.client_id.empty() ? "" : " (" + m.order.client_id + ")");
  });
  turn_scheduler->take(m.order, [this, m, sent = world_.turns.look_at(m)](const outcome<message_answer>& answer) {
    is_answered_[static_cast<std::size_t>(m.number)] = true;
    world_.turns.answered(m, sent, answer);
    if (answer && answer->turn && answer->decision == message_answer::decided::turn)
      maybe_hang_up(*answer->turn, static_cast<std::uint64_t>(m.number));
  });
  if (repeats) come_again(std::move(m), tries - 1, 2 * seconds);
}

/// The client that owned a turn disconnects.
void chatters::maybe_hang_up(const operation_id& turn, std::uint64_t salt) {
  random_stream r(world_.plan.seed, mix(7100, salt));
  if (!r.chance(40)) return;
  ++waiting_;
  world_.events.after(r.long_tailed(1 * ms, 3 * seconds), [this, turn] {
    --waiting_;
    if (auto* turn_scheduler = world_.turn_scheduler.it()) turn_scheduler->disconnected(turn);
  });
}

void chatters::on_approval_required(const operation_id& call) {
  random_stream r(world_.plan.seed, mix(7200, std::hash<operation_id>{}(call)));
  for (auto n = r.below(4); n > 0; --n) {
    const random_stream own(r.next());
    ++waiting_;
    world_.events.after(r.long_tailed(1 * ms, 6 * seconds), [this, call, own] {
      --waiting_;
      decide(call, own);
    });
  }
}

void chatters::decide(const operation_id& call, random_stream r) {
  auto* turn_scheduler = world_.turn_scheduler.it();
  const auto* row = world_.truth.record_of(call);
  if (!turn_scheduler || !row) return;
  decision d;
  d.outcome = approved_or_denied(r.chance(650));
  d.by.id = d.by.name = r.pick(people_in_chats);
  chat_decision made{call, d.is_approved(), d.by.id, true};
  const bool is_operator = r.chance(350); // through the API
  const auto place = *scope_path::parse(r.pick(chat_places));
  const std::string account = r.chance(150) ? "" : r.chance(800) ? d.by.id : r.pick(people_in_chats);
  const bool is_den = place.text().starts_with("den");
  made.may = is_operator || (oracle::below(row->scope, place) && !account.empty() && (is_den || account == "ann") &&
                             row->owner.id != d.by.id && row->owner.id != account);
  world_.turns.decides(made);
  const auto done = [this, made](const outcome<operation_id>& answer) {
    world_.turns.decided(made, answer.has_value());
  };
  if (is_operator) return turn_scheduler->decide(call, d, done);
  turn_scheduler->decide_in_chat(call, d, {place, d.by.id, account}, done);
}

} // namespace quell::simulation
