// State shared by the holder of a call and the client's thread: the channel that delivers events until it is cut.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "integrations/models/model.hpp"

namespace quell::integrations {

class call_listener {
 public:
  using listener = std::function<void(model_event)>;
  explicit call_listener(listener on_event) : listener_(std::move(on_event)) {}

  /// The client's thread. Delivers nothing once the line is cut.
  void tell(model_event event);
  /// Any thread. No event is delivered after it returns: it waits for a running listener, unless called from inside it.
  void cut();
  bool is_cut() const { return cut_; }
  /// The client's thread: the call is over and holds no resources any more.
  void end() { ended_ = true; }
  bool has_ended() const { return ended_; }
  /// The client's thread notes the tokens so far; any thread reads them.
  void note_usage(const model_usage& usage);
  model_usage usage() const;

 private:
  std::recursive_mutex telling_; // recursive: a listener can cancel its own call
  listener listener_;
  bool inside_ = false;
  mutable std::mutex counting_;
  model_usage usage_;
  std::atomic<bool> cut_ = false, ended_ = false;
};

class running_call;

/// A command for the client's thread: begin a call, or close one and confirm it.
struct post {
  std::shared_ptr<call_listener> listening;
  std::unique_ptr<running_call> begin;
  std::function<void()> closed;
  post(std::shared_ptr<call_listener> of, std::unique_ptr<running_call> call);
  post(std::shared_ptr<call_listener> of, std::function<void()> when_closed);
  post(post&&) noexcept;
  ~post();
};

/// Commands from any thread to the client's thread. Lives as long as the client or any call.
class mailbox {
 public:
  explicit mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Returns false, with `what` unchanged, if the client and all its connections are gone.
  bool put(post& what);
  /// Cheap enough to call between two pieces of work.
  bool waiting() const { return waiting_; }
  std::vector<post> take();

  void ask_to_end();
  bool must_end() const { return end_requested_; }
  /// The final `take`; afterwards `put` returns false.
  std::vector<post> close();

 private:
  std::mutex guard_;
  std::function<void()> wake_;
  std::vector<post> posts_;
  bool closed_ = false;
  std::atomic<bool> waiting_ = false, end_requested_ = false;
};

} // namespace quell::integrations
