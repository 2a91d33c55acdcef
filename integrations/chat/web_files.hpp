// Fetches a message's files over a connector's loop: one request, or one that asks where the file is and one for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "integrations/chat/file_source.hpp"
#include "integrations/chat/web.hpp"

namespace quell::integrations::chat {

/// Functions that a connector lends to the sources of its messages. All but `run` are called on the loop's thread.
struct file_tools {
  /// Any thread: runs the job on the loop's thread, unless the connector has ended.
  std::function<void(std::function<void(web_loop&)>)> run;
  /// Fault: it may not be fetched from there.
  std::function<result<web_request>(const offered_file&)> request_of;
  /// Empty: the first answer is the file. Otherwise the request for the file that the first answer names.
  std::function<result<web_request>(const web_response&)> second_of{};
  std::function<void(const std::string&)> tell;
};

std::shared_ptr<file_source> make_web_files(file_tools tools);

/// Whether the address is at one of these origins (`https://files.slack.com`): the same scheme, host and port, without
/// a user. A longer path of the origin must be the beginning of the address's.
bool is_at_origin(const std::string& url, const std::vector<std::string>& origins);

} // namespace quell::integrations::chat
