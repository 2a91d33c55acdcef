// Calls that use one file: writes in the order in which they were made, edits only of the version that was read.
//
// The call takes its place in the lane when it is made, on its agent's thread, not when its task begins: only this
// gives the order of the calls. The version is looked up when the lane is free, since an earlier edit can have changed
// it.
#include <utility>

#include "actors/turns/shown_file.hpp"
#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

namespace {

class file_call : public std::enable_shared_from_this<file_call> {
 public:
  file_call(std::shared_ptr<agent_runtime> runtime, const agent_context& who, const operation_id& call,
            tool_definition tool, tool_call what, std::string file, std::shared_ptr<file_versions> files)
      : runtime_(std::move(runtime)), call_(call), tool_(std::move(tool)), what_(std::move(what)),
        file_(std::move(file)), files_(std::move(files)) {
    who_.root = who.root;
    who_.scope = who.scope;
    who_.owner = who.owner;
    who_.agent = who.agent;
    who_.workspaces = who.workspaces;
    if (what_.name != "read") place_ = runtime_->paths->join(lane_of(who, file_));
  }

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) {
    if (is_stopped_) return done(cancelled());
    post_ = std::move(post);
    done_ = std::move(done);
    if (!place_) return run();
    place_->when_first([self = shared_from_this()] { self->post_([self] { self->run(); }); });
  }

  /// The ledger stops its task; a call that still waits for its file has no task.
  void stop() {
    is_stopped_ = true;
    if (!has_begun_) finish(cancelled());
  }

  /// Nobody is left to receive the result. A task that has begun keeps the place until it has ended.
  void abandon() {
    done_ = nullptr;
    if (!has_begun_) finish({});
    is_stopped_ = true;
  }

 private:
  actors::work_end cancelled() const { return {false, runtime_->texts->cancelled(), true}; }

  void run() {
    if (is_stopped_ || has_begun_) return;
    has_begun_ = true;
    auto request = task_for_call(tool_, who_.agent, what_.input, what_.name == "edit" ? files_->of(file_) : "");
    if (!request) return finish({false, runtime_->texts->failed(request.error().code, request.error().detail)});
    auto order = order_for_call(who_, call_, what_, *request);
    auto run = std::make_shared<task_run>(runtime_, std::move(*request), post_);
    run->start(std::move(order), [self = shared_from_this()](task_end end) {
      end_file_call(self->runtime_, self->who_.scope, self->tool_, std::move(end), [self](actors::work_end how) {
        self->post_([self, how = std::move(how)] {
          if (how.ok) self->files_->note(self->file_, how.result);
          self->finish(how);
        });
      });
    });
  }

  void finish(actors::work_end how) {
    place_.reset();
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(how));
  }

  const std::shared_ptr<agent_runtime> runtime_;
  agent_context who_; ///< without its tools
  const operation_id call_;
  const tool_definition tool_;
  const tool_call what_;
  const std::string file_;
  const std::shared_ptr<file_versions> files_;
  actors::step_poster post_;
  std::shared_ptr<path_lanes::place> place_;
  std::function<void(actors::work_end)> done_;
  bool is_stopped_ = false, has_begun_ = false;
};

class file_work final : public actors::tool_work {
 public:
  explicit file_work(std::shared_ptr<file_call> call) : call_(std::move(call)) {}
  ~file_work() override { call_->abandon(); }
  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    call_->start(std::move(post), std::move(done));
  }
  void stop(const std::string&) override { call_->stop(); }

 private:
  std::shared_ptr<file_call> call_;
};

} // namespace

std::string lane_of(const agent_context& who, const std::string& file) {
  return who.agent.mode == workspace_mode::shared ? file : who.scope.text() + ":" + file;
}

std::unique_ptr<actors::tool_work> make_file_work(std::shared_ptr<agent_runtime> runtime, const agent_context& who,
                                                  const operation_id& call, const tool_definition& tool,
                                                  const tool_call& what, const std::string& file,
                                                  std::shared_ptr<file_versions> files) {
  return std::make_unique<file_work>(
      std::make_shared<file_call>(std::move(runtime), who, call, tool, what, file, std::move(files)));
}

} // namespace quell::controller::turns
