// An MCP server whose standard input and output are handled elsewhere.
//
// One mutex guards the session. Its effects go into one queue under that mutex. The first thread to find no other at
// work performs them outside of the mutex: so their order holds across threads, and a listener that calls back in only
// adds to the queue.
#include "integrations/mcp/stdio_server.hpp"

#include <condition_variable>
#include <deque>
#include <thread>
#include <unordered_map>

#include "integrations/mcp/call_channel.hpp"
#include "integrations/mcp/session.hpp"

namespace quell::integrations {

struct mcp_stdio_server::implementation : std::enable_shared_from_this<implementation> {
  implementation(const std::string& name, std::function<void(std::string)> write, mcp_hooks hooks)
      : session(name), write_(std::move(write)), hooks_(std::move(hooks)) {}

  /// Applies `what` to the session and performs the effects.
  template <class Change>
  void change(Change what) {
    const auto alive = this->shared_from_this(); // a listener can destroy the server
    {
      const std::lock_guard lock(guard);
      what();
      for (mcp_effect& one : session.effects()) queue_.push_back(std::move(one));
    }
    perform();
  }

  void perform() {
    std::unique_lock lock(guard);
    if (performer_ != std::thread::id()) return; // that thread performs everything
    performer_ = std::this_thread::get_id();
    while (!queue_.empty()) {
      mcp_effect next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      std::visit(*this, next);
      lock.lock();
    }
    performer_ = {};
    idle_.notify_all();
  }

  /// Waits until all effects are performed, unless called while performing one.
  void settle() {
    std::unique_lock lock(guard);
    if (performer_ == std::this_thread::get_id()) return;
    idle_.wait(lock, [this] { return performer_ == std::thread::id() && queue_.empty(); });
  }

  void operator()(mcp_effects::send& what) const {
    if (write_) write_(std::move(what.bytes));
  }
  void operator()(mcp_effects::tell& what) {
    if (const auto channel = channel_of(what.call, is_end(what.event))) channel->tell(std::move(what.event));
  }
  void operator()(const mcp_effects::late& what) {
    if (const auto channel = channel_of(what.call, true)) channel->became(what.what);
  }
  void operator()(const mcp_effects::list& what) {
    std::vector<tools_reply> replies;
    {
      const std::lock_guard lock(guard);
      replies.swap(askers);
    }
    for (const tools_reply& reply : replies)
      if (reply) reply(what.tools);
  }
  void operator()(const mcp_effects::ready& what) const {
    if (hooks_.ready) hooks_.ready(what.name, what.version, what.protocol);
  }
  void operator()(const mcp_effects::tools_changed&) const {
    if (hooks_.tools_changed) hooks_.tools_changed();
  }
  void operator()(const mcp_effects::bad_message& what) const {
    if (hooks_.warning) hooks_.warning(what.what);
  }

  std::shared_ptr<mcp_call_channel> channel_of(mcp_call_number call, bool last) {
    const std::lock_guard lock(guard);
    const auto found = lines.find(call);
    if (found == lines.end()) return nullptr;
    auto channel = found->second;
    if (last) lines.erase(found);
    return channel;
  }

  // The members below are guarded by `guard`.
  std::mutex guard;
  mcp_session session;
  std::unordered_map<mcp_call_number, std::shared_ptr<mcp_call_channel>> lines; ///< those that can still get events
  std::vector<tools_reply> askers;

 private:
  std::deque<mcp_effect> queue_;
  std::thread::id performer_;
  std::condition_variable idle_;
  // The members below never change.
  const std::function<void(std::string)> write_;
  const mcp_hooks hooks_;
};

namespace {

template <class Core>
class held_stdio_call final : public mcp_call {
 public:
  held_stdio_call(std::shared_ptr<Core> implementation, std::shared_ptr<mcp_call_channel> channel,
                  mcp_call_number number)
      : implementation_(std::move(implementation)), channel_(std::move(channel)), number_(number) {}
  ~held_stdio_call() override {
    if (!channel_->is_over()) cancel({}, nullptr);
  }
  void cancel(std::string reason, late_result_listener late) override {
    channel_->cut();
    channel_->hear(std::move(late));
    implementation_->change([&] {
      implementation_->session.cancel(number_, reason); // not open: its end was delivered or is in the queue
    });
  }
  void stop_waiting() override {
    implementation_->change([this] { implementation_->session.stop_waiting(number_); });
  }
  void answer(std::uint64_t question, mcp_answer what) override {
    implementation_->change([&] { implementation_->session.answer(number_, question, what); });
  }

 private:
  std::shared_ptr<Core> implementation_;
  std::shared_ptr<mcp_call_channel> channel_;
  const mcp_call_number number_;
};

} // namespace

mcp_stdio_server::mcp_stdio_server(std::string name, std::function<void(std::string)> write, mcp_hooks hooks)
    : implementation_(std::make_shared<implementation>(name, std::move(write), std::move(hooks))) {}

mcp_stdio_server::~mcp_stdio_server() { closed("it is no longer wanted"); }

void mcp_stdio_server::started() {
  implementation_->change([this] { implementation_->session.start(); });
}

void mcp_stdio_server::received(std::string_view bytes) {
  implementation_->change([&] { implementation_->session.receive(bytes); });
}

void mcp_stdio_server::closed(std::string reason) {
  implementation_->change([&] { implementation_->session.close(reason); });
  implementation_->settle();
}

void mcp_stdio_server::tools(tools_reply reply) {
  implementation_->change([&] {
    implementation_->askers.push_back(std::move(reply));
    implementation_->session.list_tools();
  });
}

std::unique_ptr<mcp_call> mcp_stdio_server::call(const std::string& tool, const std::string& input_json,
                                                 std::function<void(mcp_call_event)> listener,
                                                 const std::string& operation) {
  auto channel = std::make_shared<mcp_call_channel>(std::move(listener));
  mcp_call_number number = 0;
  implementation_->change([&] {
    number = implementation_->session.begin_call(tool, input_json, operation);
    implementation_->lines.emplace(number, channel);
  });
  return std::make_unique<held_stdio_call<implementation>>(implementation_, std::move(channel), number);
}

} // namespace quell::integrations
