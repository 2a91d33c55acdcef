// Each caller's steps are drawn by its number, so that a run without some of it resembles the run with it.
#include "tests/simulation/voice_callers.hpp"

#include <nlohmann/json.hpp>

#include "integrations/voice/client_side.hpp"
#include "tests/simulation/outer_brain.hpp"
#include "tests/simulation/voice_loop.hpp"
#include "tests/simulation/voice_tasks.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::integrations::voice;

namespace {

const std::vector<std::string> people_who_talk{"ann", "bob", "eve"};
const std::vector<std::string> talk_places{"den", "den/x", "team/a", "voice/here"};
const std::vector<std::string> spoken_stops{"stop", "please stop", "never mind", "clanky, stop"};
constexpr instant per_sample = seconds / samples_per_second;
constexpr std::uint64_t close_calls = 23; ///< a purpose that leaves the voices of seeds.txt as they were

} // namespace

/// One person with one client, and one connection after the other.
class voice_caller {
 public:
  voice_caller(world& w, voice_callers& all, std::uint64_t number)
      : world_(w), all_(all), random_(w.plan.seed, mix(8100, number)), close_(w.plan.seed, mix(8300, number)),
        person_(random_.pick(people_who_talk)), place_(random_.pick(talk_places)),
        humans_(static_cast<std::uint32_t>(random_.between(1, 2))),
        has_close_calls_(mix(w.plan.seed, close_calls) % 3 == 0) {}

  void plan() {
    std::vector<instant> bursts;
    for (auto n = random_.between(1, 4); n > 0; --n) bursts.push_back(random_.between(0, world_.plan.active));
    for (auto n = random_.long_tailed(6, 60); n > 0; --n) {
      const instant at = random_.chance(400) ? random_.between(0, world_.plan.active)
                                             : random_.pick(bursts) + random_.long_tailed(1, 5 * seconds);
      later_on(at + 400 * ms - world_.events.now(), [this] { act(); });
    }
  }

  void end_is_ordered(const std::string& place) {
    if (place == place_ && has_close_calls_ && close_.chance(250)) close_call();
  }
  bool is_answered() const { return !peer_ || !peer_->is_open() || owed_ == 0; }
  void check_answered() const {
    if (peer_ && peer_->is_open()) world_.voices.check_answered(number_);
  }
  /// At any instant, also with a 07 on its way.
  void leave() {
    if (peer_ && peer_->is_open()) peer_->close();
    peer_.reset();
    client_.reset();
  }

 private:
  void later_on(instant delay, std::function<void()> what) {
    ++all_.waiting_;
    world_.events.after(delay, [this, what = std::move(what)] {
      --all_.waiting_;
      if (!world_.failed()) what();
    });
  }

  void act() {
    if (!peer_ || !peer_->is_open()) return connect();
    if (!is_ready_) return;
    const auto what = random_.below(100);
    if (what < 40) return say();
    if (what < 62) return press('\x1b');
    if (what < 67) { // a client that sends a 07 whenever it likes
      world_.voices.cancels(number_, false);
      ++owed_;
      return peer_->send({tag::cancel, {}});
    }
    if (what < 75) return press("1234"[random_.below(4)]);
    if (what < 80) { // talks over the answer, and says nothing
      talk_over();
      client_->end_talking();
      return perform();
    }
    if (what < 83) return peer_->send({tag::summary_request, {}});
    if (what < 92) return cancel_elsewhere();
    if (what < 96) leave();
  }

  void connect() {
    client_ = std::make_unique<client_side>();
    number_ = ++all_.connections_;
    is_ready_ = false;
    owed_ = 0;
    const auto n = number_;
    auto peer = std::make_shared<voice_peer>(
        world_, direction::gateway_to_client, static_cast<std::uint64_t>(n),
        voice_peer::hooks{[this, n](const frame& f) { n == number_&& client_ ? take(f) : void(); },
                          [this, n] {
                            if (n == number_) world_.note(person_, [] { return std::string("is cut off"); });
                          },
                          [this, n](const frame& f) { world_.voices.frame_leaves(n, f); }});
    const bool is_near = random_.chance(500);
    if (!world_.turn_scheduler.connect_voice(direction::client_to_gateway, peer, is_near)) return;
    peer_ = std::move(peer);
    world_.note(person_, [&] { return "calls in " + place_ + ", connection " + std::to_string(n); });
    const nlohmann::json hello = {
        {"token", person_}, {"scope", place_}, {"humans_present", humans_}, {"author", {{"id", person_}}}};
    peer_->send({tag::hello, hello.dump()});
  }

  void take(const frame& f) {
    world_.note("client " + std::to_string(number_), [&] {
      const bool is_text = f.tag != tag::speech;
      return "gets " + std::to_string(static_cast<int>(f.tag)) + " " + (is_text ? f.payload : voice_mark(f.payload));
    });
    world_.voices.frame_comes(number_, f);
    is_ready_ = is_ready_ || f.tag == tag::ready;
    if (f.tag == tag::notice && f.payload == "cancelled" && owed_ > 0) --owed_;
    client_->on_gateway_message(f);
    perform();
  }

  void say() {
    if (client_->menu() == menu::before_speech) return;
    const auto kind = random_.below(100);
    const int utterance = ++all_.utterances_;
    std::string words = "please do #v" + std::to_string(utterance) + ".";
    if (kind < 18)
      words = random_.pick(spoken_stops);
    else if (kind < 26)
      words = "stop the music #v" + std::to_string(utterance) + ".";
    if (kind < 18) world_.voices.says_stop(person_, place_);
    world_.voices.speaks(number_, utterance);
    world_.note(person_, [&] { return "says: " + words; });
    talk_over();
    words += '\n';
    if (words.size() % 2 != 0) words += '\0';
    client_->microphone(words);
    client_->end_talking();
    perform();
    if (random_.chance(350)) later_on(random_.long_tailed(1 * us, 6 * seconds), [this] { press('\x1b'); });
    if (random_.chance(60)) later_on(random_.long_tailed(1 * us, 3 * seconds), [this] { cancel_elsewhere(); });
  }

  void talk_over() {
    if (client_->is_playing() && client_->menu() != menu::before_speech) world_.voices.stops_playing(number_);
    client_->begin_talking();
  }

  void press(char key) {
    if (!client_ || !peer_ || !peer_->is_open()) return;
    world_.note(person_, [&] { return key == '\x1b' ? std::string("presses Esc") : std::string("presses ") + key; });
    if (key == '\x1b')
      client_->cancel();
    else
      client_->choose(key);
    perform();
  }

  /// The end of an exchange is on its way to the ledger, and a cancel arrives just before or behind it.
  void close_call() {
    later_on(close_.between(0, 60) * us, [this] {
      controller::cancel_order o = order_elsewhere();
      o.target = records::target_scope{*scope_path::parse(place_)};
      world_.people.cancel_that_arrives(o, mix(world_.plan.seed, close_.next()));
    });
  }

  controller::cancel_order order_elsewhere() const {
    controller::cancel_order o;
    o.by_token.role = role::operator_;
    o.by_token.owner = {person_, person_};
    o.by_token.token_name = o.by_token.token_id = "token-of-" + person_;
    o.reason = "elsewhere";
    return o;
  }

  /// Over HTTP: one exchange of this place, or all of it.
  void cancel_elsewhere() {
    auto o = order_elsewhere();
    const auto scope = *scope_path::parse(place_);
    std::vector<operation_id> exchanges;
    world_.truth.each_live_in(scope, [&](const records::operation_record& r) {
      if (r.kind == kind::exchange) exchanges.push_back(r.id);
    });
    o.target = records::target_scope{scope};
    if (!exchanges.empty() && random_.chance(700)) o.target = records::target_operation{random_.pick(exchanges)};
    if (exchanges.empty() && random_.chance(800)) return;
    world_.people.cancel_by_hand(std::move(o), mix(world_.plan.seed, random_.next()));
  }

  void perform() {
    for (const auto& e : client_->take()) {
      if (const auto* s = std::get_if<client_effects::send>(&e)) {
        if (s->what.tag == tag::cancel) ++owed_, world_.voices.cancels(number_, true);
        peer_->send(s->what);
      } else if (const auto* p = std::get_if<client_effects::play>(&e)) {
        world_.voices.plays(number_, p->samples);
        play(static_cast<instant>(p->samples.size() / 2) * per_sample);
      } else if (std::holds_alternative<client_effects::silence>(e)) {
        ++playing_;
        plays_until_ = 0;
      } else if (const auto* m = std::get_if<client_effects::show_menu>(&e); m && m->which == menu::before_speech) {
        later_on(random_.long_tailed(1 * ms, 3 * seconds), [this] {
          if (client_ && client_->menu() == menu::before_speech) press("11123"[random_.below(5)]);
        });
      }
    }
    if (plays_until_ == 0 && client_->is_playing()) play(0);
  }

  void play(instant lasts) {
    plays_until_ = std::max(plays_until_, world_.events.now()) + lasts;
    world_.events.at(plays_until_, [this, now = ++playing_] {
      if (now != playing_ || !client_ || world_.failed()) return;
      if (client_->is_playing()) world_.voices.stops_playing(number_);
      client_->played();
      perform();
    });
  }

  world& world_;
  voice_callers& all_;
  random_stream random_, close_;
  const std::string person_, place_;
  const std::uint32_t humans_;
  const bool has_close_calls_;
  std::unique_ptr<client_side> client_;
  std::shared_ptr<voice_peer> peer_;
  int number_ = 0, owed_ = 0;
  std::uint64_t playing_ = 0;
  instant plays_until_ = 0;
  bool is_ready_ = false;
};

voice_callers::voice_callers(world& w) : world_(w) {}
voice_callers::~voice_callers() = default;

controller::voice::voice_settings voice_callers::settings() const {
  controller::voice::voice_settings s;
  const auto seed = world_.plan.seed;
  s.listen = "127.0.0.1:0";
  s.scope = *scope_path::parse("voice");
  s.feedback = mix(seed, 16) % 3 == 0;
  if (mix(seed, 17) % 4 == 0) s.brain = "unix:brain";
  s.hear = {played_ear};
  s.speak = {played_mouth};
  return s;
}

void voice_callers::plan() {
  if (!world_.plan.voice) return;
  random_stream r(world_.plan.seed, 8000);
  for (auto n = r.between(1, 3); n > 0; --n) {
    all_.push_back(std::make_unique<voice_caller>(world_, *this, static_cast<std::uint64_t>(n)));
    all_.back()->plan();
  }
  if (settings().brain != "builtin") brain_ = std::make_unique<outer_brain>(world_);
}

void voice_callers::opened() {
  if (brain_) brain_->connect();
}

void voice_callers::end_is_ordered(const operation_id& id) {
  const auto* row = world_.truth.record_of(id);
  if (!row || row->kind != kind::exchange) return;
  for (const auto& one : all_) one->end_is_ordered(row->scope.text());
}

bool voice_callers::are_answered() const {
  for (const auto& one : all_)
    if (!one->is_answered()) return false;
  return true;
}

void voice_callers::leave() {
  for (const auto& one : all_) {
    one->check_answered();
    one->leave();
  }
}

} // namespace quell::simulation
