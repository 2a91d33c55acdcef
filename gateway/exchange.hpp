// One request on its way to an answer: the input and output of every handler.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/byte_quota.hpp"
#include "controller/orders.hpp"
#include "controller/output_reader.hpp"
#include "gateway/client_link.hpp"
#include "gateway/gateway_context.hpp"
#include "gateway/owned_turn.hpp"
#include "gateway/request.hpp"

namespace quell::controller::http {

/// The writer of a streaming answer. Belongs to the thread of that stream.
class stream_writer {
 public:
  virtual ~stream_writer() = default;
  /// False if the client has disconnected; then the stream ends.
  virtual awaitable<bool> write(std::string bytes) = 0;
  /// The same for bytes of a file, which a plain connection gets straight from there. `here`: of the stream. False,
  /// too, if the file is shorter than it was said to be.
  virtual awaitable<bool> write_file(thread_context& here, file_range bytes) = 0;
  /// True once the client has closed its side, which also notifies `wake_on_close`.
  virtual bool closed() const = 0;
  /// True if we closed it, to make room for other connections.
  virtual bool made_room() const = 0;
  virtual void wake_on_close(std::shared_ptr<signal> wake) = 0;
  /// A field after the last chunk, for a value known only at the end. Its name is in the head's `Trailer`.
  virtual void end_with(std::string name, std::string value) = 0;
};

struct response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::vector<name_value> headers = {};
  std::string body = {};
  /// If set, the head and `body` are sent at once, and this function writes the rest in chunks, on the thread of this
  /// context. It is destroyed on the requests' thread, once the stream has ended.
  std::function<awaitable<>(thread_context&, stream_writer&)> stream = {};
  /// The turn that this stream's client owns. The answer is its last owner but for the stream.
  std::shared_ptr<owned_turn> owned = {};
  stream_kind kind = stream_kind::watching;
  std::string holder = {}; ///< the token that it belongs to; "" = it needs none
};

struct exchange {
  gateway_context& gw;
  request req;
  caller who;
  std::optional<token_id> token;      ///< for a stored token
  std::optional<sign_in> signed_in;   ///< for a browser that sent a cookie
  std::string_view route = "";        ///< the pattern that the path matched
  std::vector<std::string> arguments; ///< of the path, decoded
  /// Set when the token sends too many requests and this one can still turn out to be a cancel, which is never refused
  /// for load: code that finds that it is not a cancel must throw this.
  std::optional<problem> too_often = {};
  std::shared_ptr<const std::atomic<bool>> abandoned = {}; ///< set once the client is watched
  std::size_t body_bytes = 0; ///< what it brings to each scope that it names: of a batch, one item's part

  /// The token, as a key for shares among tokens.
  std::string share_key() const { return token ? token->text() : who.task ? who.task->text() : "admin"; }
  /// Counts this many additional requests. Throws `rate_limited`. holding.cpp
  void charge(std::size_t requests);
  /// The token whose share of a day's bytes the body takes: for a task's token the one that the task was started with.
  /// brought_bytes.cpp, as the next four
  byte_source byte_source_of_token() const;
  problem bytes_problem(const bytes_refused& refused) const;
  /// Counts the body for the scope, and for the author as this token names them; the token's own share was counted
  /// before the handler. Throws `rate_limited`, and then the token has its share back. Not for a cancel.
  void bring(const scope_path& scope, const std::string& author);
  /// The same for the end of work, which is never refused.
  void note_brought(const scope_path& scope, const std::string& author, std::size_t bytes);
  /// Counts what the request has copied, for the token, too. Its size was not known before, so it is never refused.
  void note_copied(const scope_path& scope, const std::string& author, std::size_t bytes);
  bool is_abandoned() const { return abandoned && *abandoned; }
  /// Counts as a watcher while the ticket lives. Throws `rate_limited` if this token has too many. holding.cpp
  [[nodiscard]] std::shared_ptr<void> hold();
  /// From now on the connection can make room for others and is watched: a client that disconnects is no longer waited
  /// for.
  void begin_watching();
  /// True once `wake` is notified, false at `until` or when the client has disconnected.
  awaitable<bool> wait(std::shared_ptr<signal> wake, wait_deadline until);
  /// As much of a list as its time allows. The read is dropped when the client disconnects.
  template <class T>
  awaitable<list_part<T>> list(std::function<result<std::vector<T>>(store_reader&)> job) {
    if (!abandoned && req.client) abandoned = req.client->watch();
    return gw.list<T>({share_key(), abandoned}, std::move(job));
  }
};

/// The list threads read larger bodies, in their token's turn, since reading one here would block all other requests.
inline constexpr std::size_t large_body_bytes = 32 * 1024;

/// The body, read and checked by `read`; its problem is thrown.
template <class T>
awaitable<T> checked_body(exchange& x, tl::expected<T, problem> (*read)(std::string_view)) {
  if (x.req.body.size() <= large_body_bytes) {
    auto small = read(x.req.body);
    if (!small) throw std::move(small.error());
    co_return std::move(*small);
  }
  using kept = std::shared_ptr<tl::expected<T, problem>>;
  const auto text = std::make_shared<const std::string>(std::move(x.req.body));
  const auto job = [text, read](store_reader&) -> result<std::vector<kept>> {
    return std::vector<kept>{std::make_shared<tl::expected<T, problem>>(read(*text))};
  };
  std::function<result<std::vector<kept>>(store_reader&)> queued = job;
  // A request that ends work is never refused.
  list_share share{x.share_key(), nullptr, std::numeric_limits<std::size_t>::max(), list_nature::whole};
  auto part = co_await x.gw.list<kept>(std::move(share), std::move(queued));
  auto& found = *part.rows.front();
  if (!found) throw std::move(found.error());
  co_return std::move(*found);
}

using handler = awaitable<response> (*)(exchange&);

response json_answer(std::string body, unsigned status = 200);
/// 204.
response empty_answer();
response problem_answer(const problem& p, const request_id& id);

/// Parses an id in the path. Throws `bad_id`.
template <class Id>
Id path_id(const exchange& x, std::size_t index = 0) {
  const auto parsed = Id::parse(x.arguments.at(index));
  if (!parsed)
    throw problem{
        .code = error_code::bad_id,
        .detail =
            "'" + x.arguments.at(index).substr(0, 64) +
            "' in the path is not an id: ids are UUIDv7, 36 characters, lower case (short ids are for the CLI only)"};
  return *parsed;
}

/// Returns the value, or throws its problem.
template <class T>
T value_or_throw(tl::expected<T, problem> e) {
  if (!e) throw std::move(e.error());
  if constexpr (!std::is_void_v<T>) return std::move(*e);
}

/// Returns once it is known which clients may return to their turns after a restart. message_post.cpp
awaitable<> know_lost_clients(gateway_context& gw);

/// Throws the reason why no live external operation has this id. external_heartbeat.cpp
awaitable<> explain_not_live(exchange& x, operation_id id);

// ---- handlers, by file ------------------------------------------------------------------------------------------
awaitable<response> create_operation(exchange& x); // operation_create.cpp
awaitable<response> list_operations(exchange& x);  // operation_list.cpp
awaitable<response> get_operation(exchange& x);    // operation_get.cpp
awaitable<response> create_cancel(exchange& x);    // cancel_create.cpp
awaitable<response> cancel_operation(exchange& x);
awaitable<response> list_cancels(exchange& x); // cancel_read.cpp
awaitable<response> get_cancel(exchange& x);
awaitable<response> resolve_operation(exchange& x); // resolve.cpp
awaitable<response> resolve_worker(exchange& x);
awaitable<response> get_output(exchange& x);    // output.cpp
awaitable<response> output_events(exchange& x); // output_events.cpp
awaitable<response> post_input(exchange& x);    // input.cpp
awaitable<response> post_resize(exchange& x);
awaitable<response> get_events(exchange& x); // events.cpp
awaitable<response> get_operation_events(exchange& x);
awaitable<response> post_message(exchange& x);  // message_post.cpp
awaitable<response> list_messages(exchange& x); // message_list.cpp
awaitable<response> post_blob(exchange& x);     // blobs.cpp
awaitable<response> get_blob(exchange& x);
awaitable<response> approve(exchange& x); // approvals.cpp
awaitable<response> deny(exchange& x);
awaitable<response> create_batch(exchange& x);   // external_batch.cpp
awaitable<response> start_external(exchange& x); // external_report.cpp
awaitable<response> complete_external(exchange& x);
awaitable<response> fail_external(exchange& x);
awaitable<response> external_stopped(exchange& x);
awaitable<response> end_externals(exchange& x);
awaitable<response> heartbeat_one(exchange& x); // external_heartbeat.cpp
awaitable<response> heartbeat_many(exchange& x);
awaitable<response> get_signal(exchange& x); // external_signal.cpp
awaitable<response> get_signals(exchange& x);
awaitable<response> chat_call(exchange& x);    // chat_calls.cpp
awaitable<response> list_workers(exchange& x); // workers.cpp
awaitable<response> get_worker(exchange& x);
awaitable<response> add_worker(exchange& x);
awaitable<response> drain_worker(exchange& x);
awaitable<response> resume_worker(exchange& x);
awaitable<response> remove_worker(exchange& x);
awaitable<response> list_tokens(exchange& x); // token_handlers.cpp
awaitable<response> create_token(exchange& x);
awaitable<response> delete_token(exchange& x);
awaitable<response> get_tree(exchange& x);       // tree.cpp
awaitable<response> create_session(exchange& x); // sign_in_handlers.cpp
awaitable<response> get_session(exchange& x);
awaitable<response> delete_session(exchange& x);
awaitable<response> create_session_link(exchange& x);
awaitable<response> get_console(exchange& x); // console.cpp
awaitable<response> list_scopes(exchange& x); // status.cpp
awaitable<response> get_status(exchange& x);
awaitable<response> get_config(exchange& x);
awaitable<response> reload_configuration(exchange& x);
awaitable<response> get_health(exchange& x);
awaitable<response> get_ready(exchange& x);
awaitable<response> get_openapi(exchange& x);
awaitable<response> get_metrics(exchange& x);  // metrics.cpp
awaitable<response> get_cost(exchange& x);     // cost.cpp
awaitable<response> active_turns(exchange& x); // turn_aliases.cpp
awaitable<response> abort_turn(exchange& x);

} // namespace quell::controller::http
