// Takes a request and returns an answer: selects the tool, the workspace and the limits.
#include "worker/tools/tool.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "protocol/failure_code.hpp"
#include "worker/tools/workspace.hpp"

namespace quell::worker::tools {

using nlohmann::json;

namespace {

struct named_tool {
  const char* name;
  tool_function run;
};

constexpr std::array<named_tool, 7> all{{{"read", read_file},
                                         {"write", write_file},
                                         {"edit", edit_file},
                                         {"list", list_folder},
                                         {"search", search_files},
                                         {"web_fetch", web_fetch},
                                         {"project", read_project}}};

std::string answer(const result<json>& outcome) {
  // A tool's own texts are always UTF-8; a file's name in a message can contain other bytes.
  constexpr auto replace = json::error_handler_t::replace;
  if (outcome) return json{{"ok", true}, {"result", *outcome}}.dump(-1, ' ', false, replace);
  return json{{"ok", false}, {"error", {{"code", outcome.error().code}, {"message", outcome.error().detail}}}}.dump(
      -1, ' ', false, replace);
}

result<json> run(const json& request) {
  if (!request.is_object()) return failure(failure_code::invalid_input, "the request must be an object");
  tool_limits limits;
  if (const auto given = request.find("limits"); given != request.end() && given->is_object()) {
    limits.result_bytes = given->value("result_bytes", limits.result_bytes);
    limits.file_bytes = given->value("file_bytes", limits.file_bytes);
    limits.entries = given->value("entries", limits.entries);
    limits.media_bytes = given->value("media_bytes", limits.media_bytes);
    limits.private_addresses = given->value("private_addresses", false);
  }
  limits.if_version = request.value("if_version", "");
  const auto name = request.value("tool", "");
  const auto tool = tool_named(name);
  if (!tool) return failure(failure_code::unknown_tool, "there is no tool " + name + " here");
  const auto where = workspace::open(request.value("workspace", ""));
  if (!where) return tl::unexpected(where.error());
  return tool(*where, request.value("input", json::object()), limits);
}

} // namespace

tool_function tool_named(const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& t) { return name == t.name; });
  return found == all.end() ? nullptr : found->run;
}

std::string run_request(const std::string& request) {
  try {
    return answer(run(json::parse(request)));
  } catch (const json::exception& error) {
    return answer(failure(failure_code::invalid_input, std::string("the request cannot be read: ") + error.what()));
  }
}

} // namespace quell::worker::tools
