// What the holder of a call and the client's thread share: the line along which events are told, until somebody cuts
// it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "integrations/models/model.hpp"

namespace quell::integrations {

class call_line {
 public:
  using listener = std::function<void(model_event)>;
  explicit call_line(listener heard) : listener_(std::move(heard)) {}

  /// The client's thread. Nothing is told once the line is cut.
  void tell(model_event event);
  /// Any thread. Once it returns nothing is told: it waits for a listener that is running, unless this is its thread.
  void cut();
  bool is_cut() const { return cut_; }
  /// The client's thread: the call is over and holds nothing any more.
  void end() { ended_ = true; }
  bool has_ended() const { return ended_; }

 private:
  std::recursive_mutex telling_; // recursive: a listener may cancel its own call
  listener listener_;
  bool inside_ = false;
  std::atomic<bool> cut_ = false, ended_ = false;
};

class running_call;

/// Something for the client's thread to do: begin a call, or close one and say so.
struct post {
  std::shared_ptr<call_line> line;
  std::unique_ptr<running_call> begin;
  std::function<void()> closed;
  post(std::shared_ptr<call_line> of, std::unique_ptr<running_call> call);
  post(std::shared_ptr<call_line> of, std::function<void()> told);
  post(post&&) noexcept;
  ~post();
};

/// Where any thread leaves posts for the client's. It lives as long as the client or any call.
class mailbox {
 public:
  explicit mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// False: the client is gone, all its connections with it; `what` is left as it was.
  bool put(post& what);
  /// Cheap; for looking between two pieces of work.
  bool waiting() const { return waiting_; }
  std::vector<post> take();

  void ask_to_end();
  bool asked_to_end() const { return end_asked_; }
  /// The last `take`; from now on `put` says false.
  std::vector<post> close();

 private:
  std::mutex guard_;
  std::function<void()> wake_;
  std::vector<post> posts_;
  bool closed_ = false;
  std::atomic<bool> waiting_ = false, end_asked_ = false;
};

} // namespace quell::integrations
