// Acknowledges a stop: a short model call writes what was stopped. If the model is slow, down, or busy, a reaction
// replaces its words, and in voice quell's own words do. `stop_story` decides what users receive and when: the model's
// words wait for the proof, and quell reports unknown outcomes in its own words.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/turns/agent_runtime.hpp"
#include "controller/message_order.hpp"
#include "controller/stop_story.hpp"

namespace quell::controller::turns {

struct stop_request_news {
  message_id message;
  cancel_id cancel;
  scope_path scope;
  std::string text; ///< as the author wrote it
  person author;
  std::vector<records::kept_message> requests{}; ///< that it ends, as of `requests_of`
  turns::modality modality = turns::modality::text;
  std::vector<std::string> interrupted;
  std::optional<std::string> agent; ///< the agent named with the message
  bool is_first = true;             ///< a stop that joined another needs no acknowledgement of its own
};

/// Any thread; its stories are told in its loop. Must be held by a shared_ptr.
class acknowledger final : public std::enable_shared_from_this<acknowledger> {
 public:
  acknowledger(std::shared_ptr<agent_runtime> runtime, std::shared_ptr<step_loop> loop)
      : runtime_(std::move(runtime)), loop_(std::move(loop)) {}
  /// The right to one of the model calls for words that may be open at once; it is given back when it is dropped.
  using words_place = std::shared_ptr<void>;
  /// Takes a place for the words about this stop; null: a reaction, or quell's own words, take their place.
  words_place place_for(const stop_request_news& what) const;
  void acknowledge(stop_request_news what, words_place place);
  /// Acknowledges stops that a restart cut off, without a model.
  void make_up_for(const std::vector<records::message_record>& left, store_reader& store);
  /// This cancel has settled.
  void settled(const cancel_id& cancel);
  /// Nobody is acknowledged afterwards.
  void stop() { loop_->stop(); }

 private:
  /// One stop, from its fence to its last acknowledgement. Used only in the loop.
  struct open_story {
    stop_request_news what;
    stop_story story;
    boot_time began{};
    bool is_from_before = false; ///< an earlier life has begun to acknowledge it
  };
  using story_ref = std::shared_ptr<open_story>;
  struct acknowledgement_call;
  static constexpr std::chrono::milliseconds reply_timeout{2500};

  // acknowledge_words.cpp
  std::optional<integrations::model_settings> model_for(const stop_request_news& what) const;
  std::string instructions_for(const stop_request_news& what) const;
  void ask_budget(const story_ref& s, words_place place);
  void ask_model(const story_ref& s, words_place place);
  void finish(const std::shared_ptr<acknowledgement_call>& a, std::string text,
              const std::optional<model_usage>& used = std::nullopt);
  void count(const acknowledgement_call& a, const model_usage& used);

  void begin(const story_ref& s, words_place place);
  void change(const story_ref& s, std::function<void(stop_story&)> how);
  void look(const story_ref& s);
  void look_up(const story_ref& s, store_reader& store);
  void look_again(const story_ref& s);
  void advance(const story_ref& s, const cancel_view& view, moment now);
  bool speaks(const open_story& s) const;
  void tell_own(const story_ref& s, stop_telling what, std::vector<stuck_operation> stuck, std::uint64_t total);
  void close(const story_ref& s);
  void announce(const records::message_record& stop, const kept_decision& kept, store_reader& store);

  std::shared_ptr<agent_runtime> runtime_;
  std::shared_ptr<step_loop> loop_;
  const std::shared_ptr<std::atomic<int>> places_taken_ = std::make_shared<std::atomic<int>>(0);
  std::unordered_map<cancel_id, std::vector<story_ref>> open_; ///< used only in the loop
  std::atomic<std::size_t> open_count_{0};                     ///< changed only in the loop
};

} // namespace quell::controller::turns
