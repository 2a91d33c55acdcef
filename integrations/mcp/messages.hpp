// MCP's JSON-RPC messages: encoding and decoding. For the .cpp files of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "integrations/models/json.hpp"

namespace quell::integrations::rpc {

constexpr std::int64_t method_not_found = -32601;

/// One line, without its line end.
std::string request(std::uint64_t id, std::string_view method, json params);
std::string notification(std::string_view method, json params);
/// `id` is returned unchanged: a "5" is not a 5.
std::string response(const json& id, json result);
std::string refusal(const json& id, std::int64_t code, std::string_view message);

struct message {
  enum class kind { answer, error, request, notification, nothing } what = kind::nothing;
  json id;
  std::string method;
  json body; ///< params, result or error
};
/// `nothing`: an object of no known kind, or not an object.
message read(json whole);

/// The id if it can be one of ours: an integer, not a string of digits.
std::optional<std::uint64_t> own_id(const json& id);

/// The id of a message of which only the beginning and the end are known. Only members that cannot be nested count: the
/// first members of the object, or the last one.
std::optional<std::uint64_t> id_of_cut_answer(std::string_view first, std::string_view last);

} // namespace quell::integrations::rpc
