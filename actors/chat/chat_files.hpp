// The files of chat messages: named by the message when it is taken, fetched once it has begun a turn.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/chat/fetch_places.hpp"
#include "controller/blob_store.hpp"
#include "controller/byte_quota.hpp"
#include "controller/message_order.hpp"
#include "integrations/chat/file_source.hpp"

namespace quell::controller::turns {
struct agent_runtime;
}

namespace quell::controller::chat {

/// The shares of a day's bytes that the files of one message take.
struct file_bytes {
  byte_quota* quota = nullptr; ///< outlives the files; null: no limit
  byte_source from = {};
};

/// The files of one message. Any thread.
class chat_files : public std::enable_shared_from_this<chat_files> {
 public:
  using offered = std::vector<integrations::chat::offered_file>;

  /// Adds to the order what will be fetched, and to its text why something else will not. Every file is expected from
  /// now on until `decided`. nullptr: there is nothing to do afterwards.
  static std::shared_ptr<chat_files> reserve(std::shared_ptr<turns::agent_runtime> runtime,
                                             std::shared_ptr<fetch_places> places, turns::message_order& order,
                                             offered files, std::shared_ptr<integrations::chat::file_source> source,
                                             file_bytes bytes = {});
  /// Fetches the files if the message has begun a turn, one after the other; else they are forgotten.
  void decided(bool begins_turn);

 private:
  struct one {
    integrations::chat::offered_file file;
    blob_id id;
  };
  chat_files() = default;
  void next();
  /// "" = the day has room for a file of this size.
  std::string why_no_room(const integrations::chat::offered_file& file) const;
  void fetched(std::size_t number, result<std::string> bytes);
  void settle(std::size_t number, const std::string& why);
  void over(std::size_t number);
  void finish();

  std::shared_ptr<turns::agent_runtime> runtime_;
  std::shared_ptr<fetch_places> places_;
  std::shared_ptr<integrations::chat::file_source> source_;
  file_bytes bytes_;
  scope_path scope_;
  std::vector<one> files_;
  std::string not_taken_; ///< in words, told with what fails later
  std::mutex guard_;
  std::size_t at_ = 0; ///< the file that is being fetched
  bool is_finished_ = false;
};

} // namespace quell::controller::chat
