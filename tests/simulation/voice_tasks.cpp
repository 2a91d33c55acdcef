// Words are bytes between zeros, up to a newline; a voice says its text again and again, about three seconds long at
// most.
#include "tests/simulation/voice_tasks.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "tests/simulation/scheduler_life.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller;

namespace {

struct played_task {
  std::string name; ///< of the operation
  random_stream random{0};
  std::string written, words;
  std::uint64_t taken = 0, words_from = 0;
  instant last_line = 0;
  bool has_from = false, is_whole = false;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::function<void()>>> watchers; ///< by ticket: bytes seen
};

class played_output_store final : public output_store {
 public:
  explicit played_output_store(std::shared_ptr<scheduler_life> life) : life_(std::move(life)) {}

  result<slice> read(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit) override {
    slice s;
    auto* t = find(id);
    s.end = !t || t->is_whole;
    if (!t || which != stream::out) return s;
    s.offset = offset;
    s.bytes = t->written.substr(std::min<std::size_t>(offset, t->written.size()), limit);
    s.size = t->written.size();
    s.end = t->is_whole && offset + s.bytes.size() == t->written.size();
    return s;
  }
  result<located> locate(const operation_id& id, stream which, std::uint64_t offset, std::size_t limit) override {
    return located{*read(id, which, offset, limit), std::nullopt};
  }
  output_counts counts(const operation_id&) override { return {}; }
  std::vector<piece> order(const operation_id&, std::uint64_t, std::size_t) override { return {}; }
  std::uint64_t watch(const operation_id& id, std::uint64_t seen, std::uint64_t, std::function<void()> wake) override {
    auto* t = find(id);
    if (!t) return 0;
    t->watchers[++tickets_] = {seen, std::move(wake)};
    if (t->written.size() > seen || t->is_whole) wake_all(*t);
    return tickets_;
  }
  input_progress input_reached(const operation_id&, std::uint64_t taken) override { return {taken, true, false}; }
  void drop(const operation_id&) override {}
  void forget(std::uint64_t ticket) override {
    for (auto& [id, t] : tasks_) t.watchers.erase(ticket);
  }
  result<std::uint64_t> input(const operation_id& id, const std::string&, std::uint64_t offset, std::string bytes,
                              controller::stdin_then then) override {
    auto* t = find(id);
    const auto taken = offset + bytes.size();
    if (!t || t->taken != offset) return taken;
    t->taken = taken;
    if (t->name == played_ear)
      hear(id, *t, offset, bytes);
    else if (t->words += bytes; then == controller::stdin_then::closed)
      speak(id, *t);
    return taken;
  }

 private:
  played_task* find(const operation_id& id) {
    if (const auto at = tasks_.find(id); at != tasks_.end()) return &at->second;
    const auto* row = life_->at.truth.record_of(id);
    if (!row || (row->name != played_ear && row->name != played_mouth)) return nullptr;
    auto& t = tasks_[id];
    t.name = row->name;
    t.random = random_stream(life_->at.plan.seed, mix(8300, std::hash<operation_id>{}(id)));
    t.has_from = true; // without it a cancel cannot tell the words before it from those behind it
    return &t;
  }
  void wake_all(played_task& t) {
    for (auto& [ticket, w] : std::exchange(t.watchers, {})) later(life_, life_->random.between(5, 90) * us, w.second);
  }
  void write(const operation_id& id, instant after, std::string bytes, bool is_last = false) {
    auto& t = tasks_.at(id);
    const auto now = life_->at.events.now();
    t.last_line = std::max(t.last_line, now + after);
    later(life_, t.last_line - now, [this, id, bytes = std::move(bytes), is_last] {
      auto& to = tasks_.at(id);
      to.written += bytes;
      to.is_whole = to.is_whole || is_last;
      wake_all(to);
    });
  }

  void hear(const operation_id& id, played_task& t, std::uint64_t offset, const std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] == '\0') continue;
      if (t.words.empty()) t.words_from = (offset + i) / 2;
      if (bytes[i] != '\n') {
        t.words += bytes[i];
        continue;
      }
      nlohmann::json line = {{"text", t.words.substr(0, 4)}, {"final", false}};
      if (t.has_from) line["from"] = t.words_from;
      if (t.random.chance(400)) write(id, t.random.long_tailed(1 * ms, 200 * ms), line.dump() + "\n");
      line["text"] = t.random.chance(60) ? "" : t.words;
      line["final"] = true;
      if (t.random.chance(300)) line["confidence"] = t.random.chance(150) ? 0.1 : 0.9;
      write(id, t.random.long_tailed(2 * ms, 900 * ms), line.dump() + "\n");
      t.words.clear();
    }
  }

  void speak(const operation_id& id, played_task& t) {
    std::string sound = t.words + (t.words.size() % 2 == 0 ? "" : " ");
    while (sound.size() < 3200) sound += sound;
    const auto pieces = t.random.between(0, 12);
    for (auto n = pieces; n > 0; --n) write(id, t.random.long_tailed(200 * us, 400 * ms), sound);
    write(id, 1 * us, {}, true);
  }

  std::shared_ptr<scheduler_life> life_;
  std::map<operation_id, played_task> tasks_;
  std::uint64_t tickets_ = 0;
};

} // namespace

std::unique_ptr<output_store> played_output(const std::shared_ptr<scheduler_life>& life) {
  return std::make_unique<played_output_store>(life);
}

} // namespace quell::simulation
