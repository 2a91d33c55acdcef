// The turns whose clients streamed them when quelld ended. Quelld broke these streams, so no client has hung up: each
// one has a while to return, by the id of its message or by the same request. The turn of one that does not is stopped
// as by a disconnect.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/turns/agent_runtime.hpp"
#include "controller/message_order.hpp"
#include "controller/store_reader.hpp"

namespace quell::controller::turns {

/// Counts from the start of quelld (DESIGN 3.10).
inline constexpr std::chrono::seconds clients_may_return_within{30};

/// In the block of a turn, where a restart finds it; `via`: the channel of the client's message.
std::string with_client(const std::string& block, const stream_client& client, const std::string& via);

struct lost_client {
  operation_id turn;
  scope_path scope;
  records::person owner;
  std::string request; ///< `stream_client::request`
  std::string via;     ///< the channel of its message
};
/// The client that owned this turn; nullopt: nobody streamed it, or it is not a turn.
std::optional<lost_client> client_of(const records::operation_record& turn);

/// Any thread.
class lost_clients {
 public:
  /// Once, after the start: these may return.
  void may_return(std::vector<lost_client> all);
  /// Calls `then` as soon as it is known who may return: at once, or in `may_return`.
  void when_known(std::function<void(bool)> then);
  bool are_known() const {
    const std::lock_guard lock(guard_);
    return are_known_;
  }
  /// Whether any client may still return.
  bool awaits_any() const {
    const std::lock_guard lock(guard_);
    return !awaited_.empty();
  }
  /// The client of this turn is back, and owns it again. False: it is not awaited.
  bool returns(const operation_id& turn);
  /// The client that sent this request is back, and owns its turn again; of several the oldest. "" matches none.
  std::optional<lost_client> returns_with(const std::string& request);
  /// The clients that have not returned. From now on nobody is awaited.
  std::vector<lost_client> give_up();

 private:
  mutable std::mutex guard_;
  bool are_known_ = false;
  std::vector<lost_client> awaited_; ///< oldest first
  std::vector<std::function<void(bool)>> waiting_;
};

/// Reads whose clients may return, of these turns; and stops those whose clients do not. On a thread that can wait.
void await_clients(const std::shared_ptr<agent_runtime>& runtime, const std::shared_ptr<lost_clients>& clients,
                   const std::vector<operation_id>& turns, store_reader& store);

} // namespace quell::controller::turns
