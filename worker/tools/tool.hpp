// A built-in tool: a request in, an answer out, inside a workspace.
//
// Request on stdin:
//   {"tool":"read","workspace":"/srv/app","input":{…},"limits":{"result_bytes":262144,"private_addresses":false}}
// Answer on stdout:
//   {"ok":true,"result":{…}} or {"ok":false,"error":{"code":"not_found","message":"…"}}
// The exit code is 0 whenever an answer was written.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "protocol/fault.hpp"

namespace quell::worker::tools {

class workspace;

struct tool_limits {
  std::size_t result_bytes = 256 << 10; ///< of a tool's result; the rest is cut and reported as cut
  std::size_t file_bytes = 16 << 20;    ///< of a file for reading or writing
  std::size_t entries = 1000;           ///< of a list or of matches
  std::size_t media_bytes = 0;          ///< read: of an image or a PDF file whose bytes are answered; 0 = never
  bool private_addresses = false;       ///< web_fetch may access loopback, link-local and private networks
  std::string if_version;               ///< edit: refused if the file has another version; "" = any version
};

/// Faults are for the model: a code and a sentence that says what to do.
using tool_function = result<nlohmann::json> (*)(const workspace& where, const nlohmann::json& input,
                                                 const tool_limits& limits);

result<nlohmann::json> read_file(const workspace&, const nlohmann::json& input, const tool_limits&);
result<nlohmann::json> write_file(const workspace&, const nlohmann::json& input, const tool_limits&);
result<nlohmann::json> edit_file(const workspace&, const nlohmann::json& input, const tool_limits&);
result<nlohmann::json> list_folder(const workspace&, const nlohmann::json& input, const tool_limits&);
result<nlohmann::json> search_files(const workspace&, const nlohmann::json& input, const tool_limits&);
result<nlohmann::json> web_fetch(const workspace&, const nlohmann::json& input, const tool_limits&);
/// AGENTS.md and the skills of the workspace; asked by quelld, never offered to a model.
result<nlohmann::json> read_project(const workspace&, const nlohmann::json& input, const tool_limits&);

/// The tool with that name, or nullptr.
tool_function tool_named(const std::string& name);

/// Runs one request (JSON text); always returns an answer (JSON text).
std::string run_request(const std::string& request);

} // namespace quell::worker::tools
