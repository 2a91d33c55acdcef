// Checks the arguments of a call: turns an agent's JSON into one plain struct, or into a sentence that says what is
// wrong. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "cli/mcp/tools.hpp"
#include "protocol/time.hpp"

namespace quell::cli::mcp {

struct run_arguments {
  std::vector<std::string> command;
  std::optional<std::string> title, worker;
  std::map<std::string, std::string> labels;
  std::optional<milliseconds> timeout;
  milliseconds wait{0};
};
struct list_arguments {
  std::string status; ///< "" = all
  std::int64_t limit = limits::usual_list;
};
struct show_arguments {
  std::string id; ///< as typed: whole, or a tail
};
struct output_arguments {
  std::string id, stream = "stdout";
  std::int64_t tail_bytes = limits::usual_tail_bytes;
};
struct wait_arguments {
  std::string id;
  milliseconds wait{limits::usual_wait_ms};
};
struct cancel_arguments {
  std::string id; ///< "" = all_mine
  std::string reason;
  bool dry_run = false;
};

using call_arguments =
    std::variant<run_arguments, list_arguments, show_arguments, output_arguments, wait_arguments, cancel_arguments>;

/// The error is for the model: it names the argument, the mistake and the correct form.
tl::expected<call_arguments, std::string> read_arguments(const std::string& tool, const json& arguments);

} // namespace quell::cli::mcp
