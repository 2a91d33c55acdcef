// The configuration that holds now, and how a reload replaces it: all of it, or nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/turns/current.hpp"
#include "actors/turns/turn_scheduler.hpp"
#include "quelld/loaded.hpp"
#include "quelld/options.hpp"
#include "quelld/reload_requests.hpp"

namespace quell::controller {

/// A printed configuration in which the names of `env = { … }` stand as a comment, and addresses without names,
/// passwords and queries.
std::string without_values(const std::string& printed);

class running_configuration {
 public:
  /// `load` reads the configuration anew.
  running_configuration(const loaded& first, std::function<result<loaded>()> load);

  /// As admins see it: without the values of variables of MCP servers and the parts of addresses that can be secret.
  /// Any thread.
  std::string printed() const { return without_values(*printed_.get()); }
  const std::shared_ptr<reloaded_words>& words() const { return words_; }

  /// Any thread; the answer comes on the main thread.
  void ask_for_reload(reload_requests::answer done) { requests_.ask(std::move(done)); }
  /// Readable while somebody waits for a reload (poll).
  int descriptor() const { return requests_.descriptor(); }
  /// On the main thread: reads the configuration, takes it, logs what it did, and answers those who asked.
  void reload(turns::turn_scheduler& scheduler);
  /// At the end of the process: answers those who still wait.
  void close();

 private:
  reload_result take_new(turns::turn_scheduler& scheduler);

  std::function<result<loaded>()> load_;
  std::shared_ptr<reloaded_words> words_;
  turns::current<std::string> printed_;
  std::map<std::string, std::string> hidden_; ///< what is not printed, by its place; main thread
  reload_requests requests_;
};

} // namespace quell::controller
