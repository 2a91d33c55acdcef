// The loop of a connector for a service with an HTTP API.
#include "integrations/chat/web_connector.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "integrations/chat/stored_state.hpp"
#include "integrations/chat/web_files.hpp"
#include "protocol/utf8.hpp"

namespace quell::integrations::chat {

namespace {

constexpr std::size_t most_shown_refusal = 500; ///< bytes

outbox_rules reporting(outbox_rules rules, const std::function<void(const std::string&)>& log) {
  if (!rules.report) rules.report = log;
  return rules;
}

} // namespace

web_connector::web_connector(std::string service, outbox_rules rules, host& at,
                             std::function<void(const std::string&)> log, memory remembers, change_rules changes)
    : box(reporting(std::move(rules), log)),
      after_words({
          at,
          [this] { return runner(); },
          [this](const operation_id& turn) { box.drop(turn, web_loop::now()); },
          [this](const std::string& sentence) { this->log(sentence); },
          [this](incoming_message message, std::string answers) { say_again(std::move(message), std::move(answers)); },
          changes,
      }),
      at_(at), log_(std::move(log)),
      missed_(
          {at, std::move(service), [this] { return runner(); }, [this](const event& e) { apply(e); },
           [this](std::uint64_t newest, bool is_whole) { box.caught_up(newest, is_whole); },
           [this](const operation_id& which, std::optional<status> how) { box.looked(which, how, web_loop::now()); },
           [this](const std::string& sentence) { this->log(sentence); }}),
      notes_(std::move(remembers)) {}

web_connector::~web_connector() { stop(); }

result<void> web_connector::start() {
  // The loop is a member and ends before this object.
  auto started = web_loop::start([this](boot_time now) { return turn(now); });
  if (!started) return tl::unexpected(started.error());
  loop = std::move(*started);
  // Until this job runs nobody else has this object, and `turn` does not need the loop while the outbox is empty.
  loop->run([this] {
    recall();
    begin();
  });
  return {};
}

std::function<void(std::function<void()>)> web_connector::runner() {
  return [weak = weak_from_this()](std::function<void()> job) {
    if (const auto self = weak.lock()) self->loop->run(std::move(job));
  };
}

template <class T>
std::function<void(T)> web_connector::back(std::function<void(T)> then) {
  return [weak = weak_from_this(), then = std::move(then)](T value) {
    const auto self = weak.lock();
    if (!self) return;
    self->loop->run([then, kept = std::make_shared<T>(std::move(value))] { then(std::move(*kept)); });
  };
}

void web_connector::stop() {
  if (!loop || is_stopped_.exchange(true)) return;
  finish_sending();
  loop->stop();
  notes_.close(version(), web_loop::now(), [this] { return to_keep(); });
}

/// Begins nothing more, and waits a moment for what is under way: the next process then knows its outcome.
void web_connector::finish_sending() {
  constexpr milliseconds farewell{1000};
  const auto idle = std::make_shared<std::promise<void>>();
  loop->run([this, idle] { idle_ = idle; });
  idle->get_future().wait_for(farewell);
}

void web_connector::recall() {
  const auto known = read_stored_state(notes_.recall());
  if (!known.more.empty()) recall_more(known.more);
  auto unfinished = box.recover(known.shown, web_loop::now());
  missed_.fetch(box.last_event(), std::move(unfinished));
  after(missed_events::longest_wait, [this] { missed_.give_up(); });
}

std::string web_connector::to_keep() const { return text_of(stored_state{box.kept(), more_to_keep()}); }

std::string web_connector::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void web_connector::set_state(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == text) return;
    state_ = text;
  }
  log(text);
}

void web_connector::log(const std::string& sentence) {
  if (log_) log_(sentence);
}

void web_connector::tell_refused(const scope_path& where, const std::string& answers, const fault& why) {
  box.note(where, "⚠️ " + std::string(utf8_prefix(why.detail, most_shown_refusal)), answers, web_loop::now());
}

fault web_connector::not_now() {
  return coded_fault{error_code::not_ready, "this could not be taken for the moment: send it again"};
}

void web_connector::turned_away(const std::string& sentence) {
  const auto now = web_loop::now();
  if (turned_away_at_ != boot_time{} && now < turned_away_at_ + std::chrono::seconds(60)) return;
  turned_away_at_ = now;
  log(sentence);
}

void web_connector::on_event(const event& e) {
  loop->run([this, e] { missed_.hear(e); });
}

void web_connector::apply(const event& e) {
  hear(e);
  begun_.hear(e);
  box.on_event(e, web_loop::now());
}

void web_connector::called(web_call call, std::function<void(web_answer)> done) {
  loop->run(
      [this, call = std::move(call), done = std::move(done)]() mutable { take(std::move(call), std::move(done)); });
}

std::optional<boot_time> web_connector::turn(boot_time now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto job = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    job();
  }
  const bool may_send = missed_.is_over() && !idle_;
  auto actions = may_send ? box.due(now) : std::vector<action>{};
  // Stored before they are performed: after a crash the next process knows what was in flight.
  notes_.keep(version(), now, [this] { return to_keep(); });
  for (auto& a : actions) perform(std::move(a));
  if (idle_ && box.in_flight() == 0 && !std::exchange(was_idle_, true)) idle_->set_value();
  auto next = may_send ? box.next_at(now) : std::nullopt;
  if (const auto at = notes_.keep(version(), now, [this] { return to_keep(); }); at && (!next || *at < *next))
    next = at;
  tell_kept();
  if (!timers_.empty() && (!next || timers_.begin()->first < *next)) next = timers_.begin()->first;
  return next;
}

void web_connector::tell_kept() {
  if (waits_for_notes_.empty() || !notes_.has(version())) return;
  const bool is_stored = notes_.is_stored();
  for (const auto& then : std::exchange(waits_for_notes_, {})) then(is_stored);
}

void web_connector::perform(action a) {
  auto request = request_of(a);
  if (request.url.empty()) return box.done(a.number, {outcome::refused}, web_loop::now());
  loop->fetch(std::move(request), [this, a = std::move(a)](const web_response& r) {
    box.done(a.number, outcome_of(a, r), web_loop::now());
  });
}

std::shared_ptr<file_source>
web_connector::files_of(const scope_path& scope, const std::string& answers,
                        std::function<result<web_request>(const offered_file&)> request_of,
                        std::function<result<web_request>(const web_response&)> second_of) {
  file_tools tools;
  tools.run = [weak = weak_from_this()](std::function<void(web_loop&)> job) {
    if (const auto self = weak.lock()) self->loop->run([loop = self->loop.get(), job = std::move(job)] { job(*loop); });
  };
  tools.request_of = std::move(request_of);
  tools.second_of = std::move(second_of);
  tools.tell = [this, scope, answers](const std::string& sentence) {
    box.note(scope, "⚠️ " + sentence, answers, web_loop::now());
  };
  return make_web_files(std::move(tools));
}

void web_connector::after(milliseconds wait, std::function<void()> job) {
  timers_.emplace(web_loop::now() + wait, std::move(job));
}

std::function<void(web_answer)> web_connector::in_time(std::function<void(web_answer)> done, milliseconds limit,
                                                       web_answer late) {
  auto once = std::make_shared<std::function<void(web_answer)>>(std::move(done));
  const auto answer = [once](web_answer a) {
    if (const auto first = std::exchange(*once, nullptr)) first(std::move(a));
  };
  after(limit, [answer, late = std::move(late)] { answer(late); });
  return answer;
}

void web_connector::say(incoming_message message, std::function<void(result<decision>)> done) {
  at_.say(std::move(message), back<result<decision>>(std::move(done)));
}

void web_connector::stop_work(stop_order order, std::function<void(result<stop_answer>)> done) {
  at_.stop(std::move(order), back<result<stop_answer>>(std::move(done)));
}

void web_connector::stop_turn(const scope_path& place, const operation_id& turn, const person& by,
                              std::function<void(result<stop_answer>)> done) {
  if (begun_.is_at(place, turn)) box.drop(turn, web_loop::now());
  stop_work({place, turn, by, "Stop button"}, std::move(done));
}

void web_connector::stop_signed(signed_stop once, std::function<void(result<stop_answer>)> done) {
  at_.stop_once(std::move(once), back<result<stop_answer>>(std::move(done)));
}

void web_connector::approve(approval_order order, std::function<void(result<void>)> done) {
  at_.approve(std::move(order), back<result<void>>(std::move(done)));
}

namespace {

class wrapped_connector final : public connector {
 public:
  wrapped_connector(std::string name, std::shared_ptr<web_connector> inner)
      : name_(std::move(name)), inner_(std::move(inner)) {}
  ~wrapped_connector() override { inner_->stop(); }

  std::string_view name() const override { return name_; }
  void on_event(const event& e) override { inner_->on_event(e); }
  void called(web_call call, std::function<void(web_answer)> done) override {
    inner_->called(std::move(call), std::move(done));
  }
  std::string state() const override { return inner_->state(); }
  void stop() override { inner_->stop(); }

 private:
  std::string name_;
  std::shared_ptr<web_connector> inner_;
};

} // namespace

std::unique_ptr<connector> wrapped(std::string name, std::shared_ptr<web_connector> inner) {
  return std::make_unique<wrapped_connector>(std::move(name), std::move(inner));
}

} // namespace quell::integrations::chat
