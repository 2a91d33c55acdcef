// The ledger knows which operations are being stopped, the store where they run; both are checked again until these
// operations are gone.
#include "actors/turns/predecessor.hpp"

#include <algorithm>

#include "controller/local_reading.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::milliseconds look_again{20}, bound_beyond_grace{10'000};
constexpr std::size_t most_followed = 200, most_reported = 5;

struct waiting : std::enable_shared_from_this<waiting> {
  std::shared_ptr<agent_runtime> runtime;
  task_spec mine;
  operation_id call;
  std::function<void(std::optional<std::string>)> then;
  std::vector<outlined> left;
  std::map<operation_id, std::string> names;
  boot_time until{};

  /// Keeps the operations that run in the same directory on a worker where the new task can run.
  void choose(store_reader& store) {
    std::erase_if(left, [&](const outlined& o) {
      const auto row = store.operation(o.id);
      if (!row || !*row) return false; // unknown: waiting for it is safer
      const auto& other = **row;
      names[o.id] = (other.title.empty() ? other.name : other.title) +
                    (other.hot.worker ? " on worker " + *other.hot.worker : std::string());
      const bool elsewhere = mine.worker && other.hot.worker && *mine.worker != *other.hot.worker;
      return elsewhere || !is_same_directory(other.task.cwd, mine.cwd);
    });
    look();
  }

  void look() {
    runtime->core.ask([self = shared_from_this()](const ledger& l, moment now) -> std::function<void()> {
      std::erase_if(self->left, [&](const outlined& o) { return !l.view(o.id, now); });
      const auto own = l.view(self->call, now);
      const bool is_stopped = !own || own->hot.now == status::cancelling; // its task will be refused
      if (self->left.empty() || is_stopped) return [self] { self->then(std::nullopt); };
      if (now.boot >= self->until) return [self] { self->then(self->living_text()); };
      return
          [self] { self->runtime->background_reads->run_after(look_again, [self](store_reader&) { self->look(); }); };
    });
  }

  std::string living_text() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(most_reported, left.size()); ++i) {
      const auto name = names.find(left[i].id);
      text += (i == 0 ? "" : ", ") + (name == names.end() ? std::string() : name->second + " ") + "(" +
              left[i].id.text() + ")";
    }
    if (left.size() > most_reported) text += " and " + std::to_string(left.size() - most_reported) + " more";
    return text;
  }
};

} // namespace

void wait_for_predecessor(std::shared_ptr<agent_runtime> runtime, const predecessor& what, const task_spec& mine,
                          std::function<void(std::optional<std::string>)> then) {
  auto w = std::make_shared<waiting>();
  w->runtime = std::move(runtime);
  w->mine = mine;
  w->call = what.call;
  w->then = std::move(then);
  w->runtime->core.ask([w, what](const ledger& l, moment now) -> std::function<void()> {
    w->left = local_of(l).dying_tasks(what.scope, what.root, most_followed);
    if (w->left.empty()) return [w] { w->then(std::nullopt); };
    milliseconds longest{0};
    for (const auto& o : w->left) longest = std::max(longest, o.grace);
    w->until = now.boot + longest + bound_beyond_grace;
    return [w] { w->runtime->background_reads->run([w](store_reader& store) { w->choose(store); }); };
  });
}

} // namespace quell::controller::turns
