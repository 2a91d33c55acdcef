// Push notifications: the configs in files of the state directory, and a thread that delivers. Begins with the first
// config.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/records/records.hpp"
#include "gateway/a2a/push_config.hpp"
#include "gateway/a2a/push_delivery.hpp"
#include "gateway/a2a/push_index.hpp"
#include "gateway/push_port.hpp"
#include "integrations/chat/web.hpp"

namespace quell::controller::http::a2a {

/// Any thread.
class push_sender final : public push_port, public std::enable_shared_from_this<push_sender> {
 public:
  using looked = std::function<void(result<std::optional<push_look>>)>;
  struct edges {
    std::string state_directory;
    std::vector<std::string> origins; ///< at which addresses that are not public may be notified, too
    /// Reads the task of this config. Answers once, on any thread, unless the gateway stops first.
    std::function<void(const push_config&, looked done)> look;
  };
  explicit push_sender(edges e) : edges_(std::move(e)) {}
  ~push_sender() override { stop(); }

  /// Takes up what an earlier life left. Call once, before the others. A file that cannot be read is logged and left.
  void resume();
  using stored = std::function<void(result<void>)>;
  /// Answers when it is on disk. The same id of the same task and caller is replaced. Faults: `too_many`,
  /// `storage_unavailable`.
  void put(push_config config, stored done);
  /// Answers when the file is gone; also if there was none.
  void remove(const operation_id& task, const std::string& id, const std::string& by, stored done);
  /// Whether another config of this token would be put now. Fault `too_many`.
  result<void> room_for(const std::string& by) const;
  std::vector<push_config> configs_of(const operation_id& task, const std::string& by) const;
  void on_event(const records::event_record& event) override;
  /// Not on the sender's thread.
  void stop() override;

 private:
  struct entry {
    push_config config;
    push_delivery work;
    std::string path;
    std::uint64_t number; ///< another one for each config that is put: what an earlier one began is not about this one
    std::optional<boot_time> due{}; ///< as it stands in `queue_`
    bool waits_for_place = false;   ///< it is in `blocked_`
  };
  using entry_key = std::string; ///< task, caller and id

  static entry_key key_of(const operation_id& task, const std::string& by, const std::string& id);
  result<integrations::chat::web_loop*> loop();
  std::optional<boot_time> turn();
  /// Has it looked after at this time.
  void schedule(const entry_key& key, entry& one, boot_time at);
  void look_after(const entry_key& key, entry& one, boot_time now);
  void keep(push_config config, const stored& done);
  void drop(const entry_key& key);
  entry* entry_of(const entry_key& key, std::uint64_t number);
  bool has_place(const push_config& config) const;
  void look(const entry_key& key, entry& one);
  void take_look(const entry_key& key, entry& one, const std::optional<push_look>& look);
  void post(const entry_key& key, entry& one, const std::string& body);
  void add(const push_config& config, std::string path);
  std::string folder() const { return edges_.state_directory + "/a2a-push"; }

  const edges edges_;
  mutable std::mutex guard_; ///< of the loop's start, of `shown_` and of `index_`
  std::unique_ptr<integrations::chat::web_loop> loop_;
  std::unordered_map<entry_key, push_config> shown_;
  push_index index_;
  std::atomic<bool> is_empty_ = true, is_over_ = false;
  // Used by the loop's thread:
  std::unordered_map<entry_key, entry> entries_;
  std::set<std::pair<boot_time, entry_key>> queue_; ///< when each is due; those that wait for an answer are not
  std::vector<entry_key> blocked_;                  ///< with something to send, once another delivery has ended
  std::uint64_t numbers_ = 0;
  std::size_t sending_ = 0;
  std::unordered_map<std::string, std::size_t> sending_of_; ///< by token
};

} // namespace quell::controller::http::a2a
