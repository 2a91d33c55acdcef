// After a stop, a word: a short model call says what was stopped. Where the model is slow, down, or busy with others, a
// reaction takes its place, and a short phrase in voice. Exactly one of them is told of each message.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "controller/turns/message_order.hpp"
#include "controller/turns/parts.hpp"

namespace quell::controller::turns {

struct stop_said {
  message_id message;
  cancel_id cancel;
  scope_path scope;
  std::string text; ///< as it was said
  turns::modality modality = turns::modality::text;
  std::vector<std::string> interrupted;
  std::optional<std::string> agent; ///< named with the message
  bool is_first = true;             ///< a stop that joined another needs no words of its own
};

/// Any thread. Must be held by a shared_ptr.
class acknowledger final : public std::enable_shared_from_this<acknowledger> {
 public:
  explicit acknowledger(std::shared_ptr<shared_parts> parts) : parts_(std::move(parts)) {}
  void acknowledge(stop_said what);
  /// Those that a restart cut off; without a model.
  void make_up_for(const std::vector<storage::message_record>& left);

 private:
  struct asked;
  const integrations::model_settings* model_for(const stop_said& what) const;
  std::string instructions_for(const stop_said& what) const;
  void finish(const std::shared_ptr<asked>& a, std::string text);
  void tell(const stop_said& what, std::string text);

  std::shared_ptr<shared_parts> parts_;
  std::atomic<int> asking_{0};
};

} // namespace quell::controller::turns
