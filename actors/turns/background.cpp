// Starts commands in the background, and tells a later turn about them.
#include "actors/turns/background.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/kept_decision.hpp"
#include "actors/turns/predecessor.hpp"
#include "actors/turns/project_memory.hpp"
#include "actors/turns/summary.hpp"
#include "actors/turns/task_work.hpp"
#include "actors/turns/turn_port.hpp"
#include "actors/turns/turn_workspaces.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/start_background.hpp"
#include "protocol/note.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::size_t most_noted = 8, most_read = 1'000, most_title = 120;

/// The command as one line for people and for a note.
std::string line_of(const task_spec& spec) {
  std::string line;
  const bool is_shell = spec.command.size() == 3 && spec.command[0] == "sh" && spec.command[1] == "-c";
  for (std::size_t i = is_shell ? 2 : 0; i < spec.command.size() && line.size() <= most_title; ++i)
    line += (line.empty() ? "" : " ") + spec.command[i];
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    if (c == '[') c = '(';
    if (c == ']') c = ')';
  }
  return line.size() > most_title ? std::string(utf8_prefix(line, most_title)) + "…" : line;
}

/// Notes that a command has worked in a workspace; the start itself may never come.
class workspace_watch final : public operation_watcher {
 public:
  workspace_watch(const task_request& what, std::shared_ptr<project_memory> project)
      : placer_(what.workspace), placed_(what.spec), project_(std::move(project)), writes_into_(what.writes_into) {}
  void started(const std::string&) override {
    if (placer_) placer_->began(placed_);
  }
  void ended(const ended_operation& e) override {
    if (project_) project_->changed(writes_into_);
    if (placer_) placer_->ended(placed_, e.error ? e.error->code : std::string(), e.exit.has_value());
  }

 private:
  const std::shared_ptr<workspace_placer> placer_;
  const task_spec placed_;
  const std::shared_ptr<project_memory> project_;
  const std::string writes_into_;
};

/// One start: after what it must not overtake, in one transaction with the end of its call. So a stop comes before both
/// or after both: a call that was stopped has started nothing.
class background_start final : public std::enable_shared_from_this<background_start> {
 public:
  background_start(std::shared_ptr<agent_runtime> runtime, const agent_context& who, const operation_id& call,
                   const tool_call& what, task_request request)
      : runtime_(std::move(runtime)), call_(call), scope_(who.scope), limit_(who.agent.budget.background),
        what_(std::move(request)) {
    const auto timeout = what_.timeout;
    order_ = order_for_call(who, call, what, what_);
    order_.kind = kind::task;
    order_.task = what_.spec;
    order_.timeout = timeout;
    order_.title = line_of(what_.spec);
    order_.on_parent_end = on_parent_end::detach;
    order_.labels = {{background_label, who.operation.text()}};
  }

  void begin(actors::step_poster post, std::function<void(actors::work_end)> done) {
    post_ = std::move(post);
    done_ = std::move(done);
    if (runtime_->core.is_low())
      return refuse(text_of(error_code::storage_unavailable), "the state directory is almost full");
    if (!what_.workspace) return follow();
    what_.workspace->place(what_.spec, call_, [self = shared_from_this()](const result<task_spec>& placed) {
      self->post_([self, placed] {
        if (!placed) return self->refuse(placed.error().code, placed.error().detail);
        self->what_.spec = *placed;
        self->order_.task = *placed;
        self->follow();
      });
    });
  }

 private:
  void follow() {
    wait_for_predecessor(runtime_, *what_.follows, what_.spec,
                         [self = shared_from_this()](const std::optional<std::string>& still_lives) {
                           self->post_([self, still_lives] {
                             if (!still_lives) return self->find_worker();
                             self->refuse(name_of(failure_code::workspace_busy),
                                          "nothing was started, because stopped work still lives in this workspace: " +
                                              *still_lives);
                           });
                         });
  }

  void find_worker() {
    const auto named = what_.spec.worker;
    if (!named || !runtime_->core.knows_worker) return create();
    runtime_->core.knows_worker(*named, [self = shared_from_this(), worker = *named](bool is_known) {
      self->post_([self, worker, is_known] {
        if (is_known) return self->create();
        self->refuse(text_of(error_code::no_such_worker), "there is no worker " + worker + "; nothing was started");
      });
    });
  }

  void create() {
    const auto id = operation_id::fresh();
    const auto handle =
        json_text({{"ok", true},
                   {"result",
                    {{"task", id.text()},
                     {"status", "started"},
                     {"note", "It goes on in the background. Read what it prints with task_output, wait for its end "
                              "with task_wait, stop it with task_kill."}}}});
    own_outcome end;
    end.result = handle;
    end.call = records::call_outcome{true, false, handle};
    runtime_->registry.add_watcher(id, std::make_shared<workspace_watch>(what_, runtime_->project));
    runtime_->core.execute({commands::start_background{order_, id, scope_, limit_, call_, std::move(end)},
                            [self = shared_from_this(), handle, id](const commands::background_started& started) {
                              if (started.refused) {
                                self->runtime_->registry.drop(id);
                                return self->refuse(started.refused->code, started.refused->detail);
                              }
                              if (self->runtime_->project) self->runtime_->project->changed(self->what_.writes_into);
                              self->done_({true, handle, false, {}, started.call_ended});
                            }});
  }

  void refuse(std::string_view code, const std::string& why) {
    done_({false, runtime_->texts->failed(std::string(code), why)});
  }

  std::shared_ptr<agent_runtime> runtime_;
  actors::step_poster post_;
  const operation_id call_;
  const scope_path scope_;
  const std::uint32_t limit_;
  task_request what_;
  create_order order_;
  std::function<void(actors::work_end)> done_;
};

class background_work final : public actors::tool_work {
 public:
  explicit background_work(std::shared_ptr<background_start> start) : start_(std::move(start)) {}
  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    start_->begin(std::move(post), std::move(done));
  }
  void stop(const std::string&) override {} // the ledger refuses a start below a call that is being stopped

 private:
  std::shared_ptr<background_start> start_;
};

/// Ends before this time stand in the note of an earlier turn: the creation of the last one, which comes before its
/// note is read. So two turns that waited together can hear of one end, and no end is left out. An edited message that
/// nobody has answered has no turn.
wall_time noted_until(const std::vector<records::kept_message>& kept, const operation_id& turn, store_reader& store) {
  wall_time summarised{};
  std::optional<operation_id> before;
  for (const auto& m : kept) {
    if (is_summary(m.message))
      summarised = std::max(summarised, m.message.at);
    else if (m.message.turn && m.message.turn != turn && !m.message.discarded && !origin_in(m.message.decision))
      before = m.message.turn;
  }
  if (!before) return summarised;
  const auto row = store.operation(*before);
  return row && *row ? (*row)->created_at : summarised;
}

std::string ending_of_task(const records::operation_hot& hot) {
  if (hot.now == status::cancelled) return "stopped";
  if (hot.exit && hot.exit->code) return "exit code " + std::to_string(*hot.exit->code);
  if (hot.exit && hot.exit->signal) return "ended by signal " + *hot.exit->signal;
  return hot.error ? hot.error->code : std::string(name_of(hot.now));
}

std::string listed_tasks(const std::vector<std::string>& tasks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most_noted, tasks.size()); ++i) text += (i == 0 ? "" : ", ") + tasks[i];
  if (tasks.size() > most_noted) text += " and " + std::to_string(tasks.size() - most_noted) + " more";
  return text;
}

} // namespace

bool is_background_of(const records::operation_record& task, const agent_context& who) {
  if (task.kind != kind::task || !task.detached || task.scope != who.scope) return false;
  const auto by = task.labels.find(background_label);
  return by != task.labels.end() && (!who.is_sub_agent || by->second == who.operation.text());
}

std::string background_note(const std::vector<records::kept_message>& kept, const records::operation_record& turn,
                            store_reader& store, wall_time now) {
  agent_context who;
  who.scope = turn.scope;
  operation_filter live, over;
  live.scopes = over.scopes = {turn.scope};
  live.kinds = over.kinds = {kind::task};
  live.want_ended = over.want_live = false;
  live.limit = over.limit = most_read;
  std::vector<std::string> living, ended;
  if (const auto rows = store.operations(live))
    for (const auto& row : *rows) {
      if (!is_background_of(row, who)) continue;
      const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - row.created_at).count();
      living.push_back(row.id.text() + " (" + line_of(row.task) + ", for " +
                       std::to_string(std::max<std::int64_t>(age, 0)) + " s)");
    }
  over.ended_since = noted_until(kept, turn.id, store);
  if (const auto rows = store.operations(over))
    for (const auto& row : *rows)
      if (is_background_of(row, who))
        ended.push_back(row.id.text() + " (" + line_of(row.task) + ": " + ending_of_task(row.hot) + ")");
  if (living.empty() && ended.empty()) return {};
  std::string text = "Commands in the background.";
  if (!living.empty()) text += " Still running: " + listed_tasks(living) + ".";
  if (!ended.empty()) text += " Ended since the last answer: " + listed_tasks(ended) + ".";
  return note(text);
}

std::unique_ptr<actors::tool_work> make_background_work(std::shared_ptr<agent_runtime> runtime,
                                                        const agent_context& who, const operation_id& call,
                                                        const tool_call& what, task_request request) {
  return std::make_unique<background_work>(
      std::make_shared<background_start>(std::move(runtime), who, call, what, std::move(request)));
}

} // namespace quell::controller::turns
