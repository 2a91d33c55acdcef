// One HTTP request and its answer as plain values: the session reads and writes them, every handler uses them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/time.hpp"

namespace quell::controller::http {

class client_link;
using name_value = std::pair<std::string, std::string>;

struct request {
  request_id id;
  std::string method;
  std::string path;              ///< as sent, without the query; never decoded as a whole
  std::vector<name_value> query; ///< decoded, in order
  std::string accept, authorization, content_type, last_event_id, channel, user_agent;
  std::string origin, requested_method; ///< of a web page: Origin, Access-Control-Request-Method
  std::string host, cookie, accept_encoding, if_none_match, prefer;
  std::string quell_scope; ///< X-Quell-Scope: where OpenAI's clients, which have no field for it, name a scope
  std::string a2a_version; ///< A2A-Version: the protocol version that a client of A2A speaks
  std::string body;
  // Only for requests to `/v1/chat/…`, which chat services sign as a whole:
  std::string raw_query;           ///< after `?`, undecoded
  std::vector<name_value> headers; ///< all of them, names in lower case
  bool is_relayed = false;         ///< it came over the Unix socket
  boot_time received{};            ///< when its last byte had been read
  std::shared_ptr<void> upload{};  ///< the place of a large body; a handler that is done with it may give it back
  client_link* client = nullptr;   ///< valid while the answer is made; null in tests

  bool wants_event_stream() const;
  /// `Prefer: return=minimal` (RFC 7240): the answer to a success names the operation and does not show it.
  bool wants_minimal() const;
};

/// The channel named by the client: `Quell-Channel`, else `cli` for our CLI, else `api`.
std::string channel_of(const request& req);
/// Splits and decodes a request target. Faults: `bad_request` (bad %XX, invalid UTF-8, NUL, no leading slash).
result<void> read_target(std::string_view target, request& into);
/// %XX and `+` decoded; nullopt for a broken escape.
enum class plus_sign : std::uint8_t { literal, space };
std::optional<std::string> percent_decoded(std::string_view text, plus_sign as);

} // namespace quell::controller::http
