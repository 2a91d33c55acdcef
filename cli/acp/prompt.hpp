// One prompt of an ACP session: the turn that answers it, its updates, its questions, and its cancel.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cli/acp/updates.hpp"
#include "cli/api.hpp"
#include "cli/backoff.hpp"
#include "cli/turn_stream.hpp"

namespace quell::cli::acp {

/// Its turn belongs to this process: if it dies, the controller sees the closed connection and stops the turn.
class prompt {
 public:
  struct callbacks {
    std::function<void(json update)> update;
    /// Asks the person in the editor by this request; its result, or null if there is none. `key`: what it is about.
    std::function<void(const std::string& key, editor_request how, json params, std::function<void(const json&)>)> ask;
    /// Somebody else has decided about it: the editor takes its request away, if it still shows one.
    std::function<void(const std::string& key)> take_back;
    /// The result of the request. Once; the prompt is over.
    std::function<void(json result)> answered;
    /// Its error. Once; the prompt is over.
    std::function<void(const std::string& why, json data)> failed;
    std::function<void(const std::string& words)> warn;
    /// False: the editor is behind, and reads nothing of what it was sent.
    std::function<bool()> has_room;
  };

  /// The result of the request of a prompt that was cancelled before its turn began.
  static json cancelled_before_its_turn();

  /// `message`: body of POST /v1/messages; the images become files of its scope first.
  prompt(api& controller, json message, std::vector<prompt_image> images, milliseconds reconnect, editor_shows editor,
         callbacks c);
  ~prompt();
  prompt(const prompt&) = delete;
  prompt& operator=(const prompt&) = delete;

  void start();
  /// Stops the turn with everything below it. It answers `cancelled` when the cancel settles, at the latest 10 s after
  /// the last grace: then with what is not proven.
  void cancel(const std::string& reason);
  /// Cancelled and answered, but no controller has heard of the cancel: it is repeated as long as this lives.
  bool lingers() const;
  /// The editor reads again: it is sent what it has missed meanwhile.
  void catch_up();

 private:
  void upload(std::size_t index);
  void begin();
  void refuse_unheard(const std::string& why);
  void fail(const problem& p);
  // --- an editor that is behind (prompt_behind.cpp)
  void take(const json& event);
  void read_missed();
  void take_missed(const json& page);
  void caught_up();
  // --- what waits for a person (prompt_decisions.cpp)
  void show(const json& event);
  void ask(human_question q);
  void decide(const human_question& q, const json& result);
  void send_decision(const human_question& q, const human_decision& decided);
  void refused(const human_question& q, const human_decision& decided, const problem& p);
  void answer_by_message(const human_question& q, const json& message);
  void tell_about(const human_question& q, const std::string& words);
  void later(milliseconds pause, std::function<void()> then);
  bool takes_decisions() const { return !is_over_ && !is_cancelled_; }

  void stopping(const json& cancel);
  void answer_late();
  void await_proof(const std::string& cancel);
  void ended(const json& operation);
  void answer_cancelled(const json& cancel);
  void respond(json result);
  void bound_by(milliseconds limit);
  event_loop::handle keep(event_loop::handle call);

  api& api_;
  callbacks tell_;
  json message_;                     ///< until it is sent
  std::vector<prompt_image> images_; ///< those that are not uploaded yet
  const milliseconds reconnect_;
  std::unique_ptr<turn_stream> stream_; ///< null: nothing was said yet, the images are on their way
  std::unique_ptr<turn_updates> updates_;
  const std::string scope_;
  const json author_;
  const editor_shows editor_;
  json cancel_;                     ///< the last known state of our cancel
  std::set<std::string> questions_; ///< asked already
  std::vector<event_loop::handle> calls_;
  event_loop::handle bound_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0); ///< for answers that come after the end
  std::string shown_, missed_; ///< the ids of the last event that was shown, and of the last that was not
  json end_;                   ///< of the turn, which the editor is told when it has caught up
  backoff missed_contact_;     ///< limits how long they are asked for without an answer
  bool is_behind_ = false, is_reading_missed_ = false, has_end_ = false;
  bool is_cancelled_ = false, is_over_ = false;
  bool is_cancel_answered_ = false; ///< a controller has answered the cancel
};

} // namespace quell::cli::acp
