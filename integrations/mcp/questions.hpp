// The questions that the server of one call asks a human: the same for both transports. Pure.
//
// Up to 2025-11-25 a question is a request of the server, and its answer a response. Since 2026-07-28 the call itself
// ends with the questions; it is sent again with all the answers and with the state that the server attached.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

class mcp_questions {
 public:
  /// Actions for the caller to take.
  struct step {
    std::vector<mcp_call_event> tell; ///< in this order
    std::string send;                 ///< a line for the server, without its end; "" = none
    bool repeat = false;              ///< send the call again, with `add_to`
  };
  /// A request `elicitation/create` about this call.
  step on_request(const nlohmann::json& id, const nlohmann::json& params);
  /// A result that requires input. `who`: the server, for the fault that ends the call.
  step required(const std::string& who, const nlohmann::json& result);
  /// The server withdraws its request of this id.
  step took_back(const nlohmann::json& id);
  step answered(std::uint64_t number, const mcp_answer& what);
  /// Puts the answers and the state into the parameters of the repeated call.
  void add_to(nlohmann::json& params) const;
  /// No answers are accepted any more.
  void close() { open_.clear(); }
  bool is_open() const { return !open_.empty(); }

 private:
  std::map<std::uint64_t, std::string> open_;    ///< by number: the request's id as JSON, or the key in its round
  std::uint64_t question_count_ = 0;             ///< number of questions so far
  std::size_t rounds_ = 0;                       ///< of a repeated call
  std::map<std::string, std::string> responses_; ///< of this round, by key: JSON texts
  std::optional<std::string> state_;
};

} // namespace quell::integrations
