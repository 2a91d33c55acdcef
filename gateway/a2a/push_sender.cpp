// One thread for all configs: it writes their files, looks at their tasks and posts.
#include "gateway/a2a/push_sender.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "integrations/a2a/card.hpp"
#include "integrations/ca_file.hpp"
#include "integrations/host/private_file.hpp"
#include "protocol/clock_now.hpp"

namespace quell::controller::http::a2a {

namespace {

using integrations::chat::web_end;
using integrations::chat::web_loop;

constexpr milliseconds push_timeout{15'000}, push_connect_timeout{5'000};
constexpr std::size_t most_push_answer = 64 << 10, most_push_file = 64 << 10, most_at_once = 32,
                      most_at_once_of_token = 8;

std::string bounded_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(most_push_file, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

integrations::chat::web_request push_request(const push_config& config, const std::string& body, bool is_allowed) {
  integrations::chat::web_request request;
  request.url = config.url;
  request.headers = {"Content-Type: application/a2a+json", "A2A-Version: 1.0"};
  if (!config.scheme.empty()) request.headers.push_back("Authorization: " + config.scheme + " " + config.credentials);
  if (!config.token.empty()) request.headers.push_back("X-A2A-Notification-Token: " + config.token);
  request.body = body;
  request.timeout = push_timeout;
  request.connect_timeout = push_connect_timeout;
  request.most_body = most_push_answer;
  request.ca_file = integrations::named_ca_file();
  request.public_only = !is_allowed;
  return request;
}

} // namespace

push_sender::entry_key push_sender::key_of(const operation_id& task, const std::string& by, const std::string& id) {
  return task.text() + "\n" + by + "\n" + id;
}

result<web_loop*> push_sender::loop() {
  const std::lock_guard lock(guard_);
  if (is_over_) return failure(error_code::storage_unavailable, "quelld is ending");
  if (!loop_) {
    auto made = web_loop::start([this](boot_time) { return turn(); });
    if (!made) return tl::unexpected(made.error());
    loop_ = std::move(*made);
  }
  return loop_.get();
}

void push_sender::resume() {
  std::error_code error;
  if (edges_.state_directory.empty() || !std::filesystem::is_directory(folder(), error)) return;
  std::vector<std::pair<push_config, std::string>> found;
  for (const auto& file : std::filesystem::directory_iterator(folder(), error)) {
    if (file.path().extension() != ".json" || found.size() >= most_push_configs) continue;
    if (auto config = read_push_file(bounded_file(file.path().string())))
      found.emplace_back(std::move(*config), file.path().string());
    else
      spdlog::warn("{} holds no push notification config and is left alone", file.path().string());
  }
  if (found.empty()) return;
  const auto to = loop();
  if (!to) return spdlog::error("no push notifications are sent: {}", to.error().detail);
  (*to)->run([this, found = std::move(found)] {
    for (const auto& [config, path] : found) add(config, path);
  });
}

void push_sender::add(const push_config& config, std::string path) {
  const auto key = key_of(config.task, config.by, config.id);
  if (const auto old = entries_.find(key); old != entries_.end() && old->second.due)
    queue_.erase({*old->second.due, key});
  auto& made = entries_.insert_or_assign(key, entry{config, push_delivery(config.last), std::move(path), ++numbers_})
                   .first->second;
  schedule(key, made, {});
  const std::lock_guard lock(guard_);
  shown_.insert_or_assign(key, config);
  index_.put(key, {config.task});
  is_empty_ = false;
}

void push_sender::put(push_config config, stored done) {
  const auto to = loop();
  if (!to) return done(tl::unexpected(to.error()));
  (*to)->run([this, config = std::move(config), done = std::move(done)] { keep(config, done); });
}

void push_sender::keep(push_config config, const stored& done) {
  const auto found = entries_.find(key_of(config.task, config.by, config.id));
  if (found == entries_.end()) {
    std::size_t of_task = 0;
    for (const auto& [key, one] : entries_) of_task += one.config.task == config.task ? 1 : 0;
    if (of_task >= most_configs_of_task)
      return done(failure("too_many", "a task has at most 10 push notification configs; delete one"));
    if (auto room = room_for(config.by); !room) return done(std::move(room));
  }
  if (edges_.state_directory.empty())
    return done(failure(error_code::storage_unavailable,
                        "this quelld keeps no push notification configs: it has no directory"));
  std::error_code error;
  std::filesystem::create_directories(folder(), error);
  std::filesystem::permissions(folder(), std::filesystem::perms::owner_all, error);
  const auto path =
      found != entries_.end() ? found->second.path : folder() + "/" + operation_id::fresh().text() + ".json";
  if (auto written = write_private_file(path, push_file_text(config)); !written) return done(std::move(written));
  add(config, path);
  done({});
}

result<void> push_sender::room_for(const std::string& by) const {
  const std::lock_guard lock(guard_);
  const auto own = std::count_if(shown_.begin(), shown_.end(), [&](const auto& one) { return one.second.by == by; });
  if (static_cast<std::size_t>(own) >= most_configs_of_token)
    return failure("too_many",
                   "a token has at most 250 push notification configs; delete one, or wait until tasks end");
  if (shown_.size() >= most_push_configs)
    return failure("too_many", "too many tasks have push notification configs now; try again later");
  return {};
}

void push_sender::remove(const operation_id& task, const std::string& id, const std::string& by, stored done) {
  const auto to = loop();
  if (!to) return done(tl::unexpected(to.error()));
  (*to)->run([this, key = key_of(task, by, id), done = std::move(done)] {
    std::error_code error;
    if (const auto found = entries_.find(key); found != entries_.end())
      std::filesystem::remove(found->second.path, error);
    if (error)
      return done(failure(error_code::storage_unavailable, "the config cannot be removed: " + error.message()));
    drop(key);
    done({});
  });
}

/// A file that cannot be removed is read by the next life, which removes it when its task is over.
void push_sender::drop(const entry_key& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  std::error_code error;
  std::filesystem::remove(found->second.path, error);
  if (found->second.due) queue_.erase({*found->second.due, key});
  entries_.erase(found);
  const std::lock_guard lock(guard_);
  shown_.erase(key);
  index_.remove(key);
  is_empty_ = shown_.empty();
}

std::vector<push_config> push_sender::configs_of(const operation_id& task, const std::string& by) const {
  std::vector<push_config> all;
  const std::lock_guard lock(guard_);
  for (const auto& [key, config] : shown_)
    if (config.task == task && config.by == by) all.push_back(config);
  std::sort(all.begin(), all.end(), [](const push_config& a, const push_config& b) { return a.id < b.id; });
  return all;
}

void push_sender::on_event(const records::event_record& event) {
  if (is_empty_ || is_over_ || event.type == event_type::text_delta || event.type == event_type::thinking_delta) return;
  web_loop* to = nullptr;
  std::vector<entry_key> about;
  {
    const std::lock_guard lock(guard_);
    to = loop_.get();
    about = index_.about(event);
  }
  if (!to || about.empty()) return;
  to->run([this, about = std::move(about)] {
    for (const auto& key : about)
      if (const auto found = entries_.find(key); found != entries_.end()) {
        found->second.work.nudge();
        schedule(key, found->second, {});
      }
  });
}

void push_sender::schedule(const entry_key& key, entry& one, boot_time at) {
  if (one.due) queue_.erase({*one.due, key});
  one.due = at;
  queue_.emplace(at, key);
}

/// Only what is due is looked after, so that a turn does not cost more because others wait.
std::optional<boot_time> push_sender::turn() {
  const auto now = clock_now().boot;
  std::vector<entry_key> due;
  for (const auto& [at, key] : queue_) {
    if (at > now) break;
    due.push_back(key);
  }
  for (const auto& key : due) {
    auto& one = entries_.at(key);
    queue_.erase({*one.due, key});
    one.due.reset();
    look_after(key, one, now);
  }
  return queue_.empty() ? std::nullopt : std::optional(queue_.begin()->first);
}

void push_sender::look_after(const entry_key& key, entry& one, boot_time now) {
  if (one.work.is_done()) return drop(key);
  if (one.work.wants_to_look(now)) look(key, one);
  if (const auto* body = one.work.to_send(now)) {
    if (has_place(one.config)) return post(key, one, *body);
    if (!std::exchange(one.waits_for_place, true)) blocked_.push_back(key);
    return;
  }
  if (const auto at = one.work.next_at()) schedule(key, one, *at);
}

/// The receivers of one token, however slow, leave places to those of others.
bool push_sender::has_place(const push_config& config) const {
  const auto own = sending_of_.find(config.by);
  return sending_ < most_at_once && (own == sending_of_.end() || own->second < most_at_once_of_token);
}

push_sender::entry* push_sender::entry_of(const entry_key& key, std::uint64_t number) {
  const auto found = entries_.find(key);
  return found != entries_.end() && found->second.number == number ? &found->second : nullptr;
}

void push_sender::look(const entry_key& key, entry& one) {
  one.work.looks();
  edges_.look(
      one.config, [weak = weak_from_this(), key, number = one.number](const result<std::optional<push_look>>& look) {
        const auto self = weak.lock();
        const auto to = self ? self->loop() : result<web_loop*>(failure(error_code::internal, "quelld is ending"));
        if (!to) return;
        (*to)->run([all = self.get(), key, number, look] {
          auto* const about = all->entry_of(key, number);
          if (!about) return;
          if (look)
            all->take_look(key, *about, *look);
          else
            about->work.not_looked(clock_now().boot);
          all->schedule(key, *about, {});
        });
      });
}

/// An event that came before its places were known was not seen: then it is looked at once more.
void push_sender::take_look(const entry_key& key, entry& one, const std::optional<push_look>& look) {
  one.work.took(look, clock_now());
  if (!look) return;
  const std::lock_guard lock(guard_);
  if (index_.put(key, {one.config.task, look->root, look->cancel})) one.work.nudge();
}

/// The state is written after its delivery: a crash in between delivers it again.
void push_sender::post(const entry_key& key, entry& one, const std::string& body) {
  const auto origin = integrations::a2a::origin_of(one.config.url);
  const bool is_allowed =
      std::find(edges_.origins.begin(), edges_.origins.end(), origin) != edges_.origins.end() && !origin.empty();
  one.work.sends();
  ++sending_;
  ++sending_of_[one.config.by];
  const auto answered = [this, key, number = one.number,
                         by = one.config.by](const integrations::chat::web_response& r) {
    --sending_;
    if (--sending_of_[by] == 0) sending_of_.erase(by);
    for (const auto& waiting : std::exchange(blocked_, {}))
      if (const auto found = entries_.find(waiting); found != entries_.end()) {
        found->second.waits_for_place = false;
        schedule(waiting, found->second, {});
      }
    auto* const sent = entry_of(key, number);
    if (!sent) return;
    schedule(key, *sent, {});
    auto& work = sent->work;
    const auto before = work.last();
    const auto sentence =
        work.answered(r.what == web_end::answered ? r.status : 0, r.error, r.retry_after(), clock_now());
    if (!sentence.empty())
      spdlog::warn("the push notification receiver of task {} {}", sent->config.task.text(), sentence);
    if (work.last() == before || work.is_done()) return;
    sent->config.last = work.last();
    if (auto written = write_private_file(sent->path, push_file_text(sent->config)); !written)
      spdlog::warn("a push notification will be repeated after a restart: {}", written.error().detail);
  };
  loop_->fetch(push_request(one.config, body, is_allowed), answered);
}

void push_sender::stop() {
  is_over_ = true;
  web_loop* to = nullptr;
  {
    const std::lock_guard lock(guard_);
    to = loop_.get();
  }
  if (to) to->stop();
}

} // namespace quell::controller::http::a2a
