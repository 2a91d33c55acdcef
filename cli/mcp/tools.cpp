// Declares the tools.
#include "cli/mcp/tools.hpp"

namespace quell::cli::mcp {
namespace {

json integer(std::int64_t least, std::int64_t most, const char* about) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", about}};
}

json text(const char* about) { return {{"type", "string"}, {"description", about}}; }

json id() {
  return text("An operation that you started here, or one below it: the whole id, or its last 8 digits as shown.");
}

json object(json properties, json required) {
  json schema{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

json looks_only(const char* title) {
  return {{"title", title},
          {"readOnlyHint", true},
          {"destructiveHint", false},
          {"idempotentHint", true},
          {"openWorldHint", false}};
}

json changes(const char* title, bool is_idempotent, bool is_open) {
  return {{"title", title},
          {"readOnlyHint", false},
          {"destructiveHint", true},
          {"idempotentHint", is_idempotent},
          {"openWorldHint", is_open}};
}

json tool(const char* name, const char* about, json schema, json annotations) {
  return {{"name", name},
          {"title", annotations["title"]},
          {"description", about},
          {"inputSchema", std::move(schema)},
          {"annotations", std::move(annotations)}};
}

json run() {
  return tool(
      "quell_run",
      "Starts a command as a task on one of the swarm's workers. With wait_ms it waits that long for the end; "
      "the command goes on when the wait is over (see quell_wait, quell_output). A call that you cancel stops "
      "its command. What you started is stopped when this server ends.",
      object({{"command",
               {{"type", "array"},
                {"items", {{"type", "string"}}},
                {"minItems", 1},
                {"maxItems", limits::words},
                {"description", "Program and arguments, no shell: [\"sh\", \"-c\", \"make && make test\"] for a "
                                "command line."}}},
              {"title", text("Its purpose, in a few words for people; at most 200 characters.")},
              {"labels",
               {{"type", "object"},
                {"additionalProperties", {{"type", "string"}}},
                {"description", "Marks of your own on the operation, for example {\"pr\": \"4711\"}."}}},
              {"worker", text("The worker that must run it; left out: any that has room.")},
              {"timeout_ms", integer(0, limits::timeout_ms, "It is stopped after this time. 0 = no limit (default).")},
              {"wait_ms", integer(0, limits::wait_ms,
                                  "How long to wait for its end. 0 = return as soon as it "
                                  "is accepted (default).")}},
             {"command"}),
      changes("Run a command on the swarm", false, true));
}

json list() {
  return tool("quell_list", "Operations that you started here and those that they started, newest first.",
              object({{"status",
                       {{"type", "string"}, {"enum", statuses}, {"description", "Only these; live = not ended yet."}}},
                      {"limit", integer(1, limits::list, "At most so many (default 20).")}},
                     json::array()),
              looks_only("List operations"));
}

json show() {
  return tool("quell_show", "One operation: its state, why it waits, how it ended.", object({{"id", id()}}, {"id"}),
              looks_only("Show an operation"));
}

json output() {
  return tool(
      "quell_output", "The end of what a task printed, while it runs or after.",
      object({{"id", id()},
              {"stream", {{"type", "string"}, {"enum", {"stdout", "stderr"}}, {"description", "Default stdout."}}},
              {"tail_bytes", integer(1, limits::tail_bytes,
                                     "How much of its end (default 4096). The text shows "
                                     "less of it than structuredContent.")}},
             {"id"}),
      looks_only("Read a task's output"));
}

json wait() {
  return tool("quell_wait",
              "Waits until an operation has ended, or the wait is over. Giving up the wait stops nothing.",
              object({{"id", id()}, {"wait_ms", integer(0, limits::wait_ms, "How long (default 30000).")}}, {"id"}),
              looks_only("Wait for an operation"));
}

json cancel() {
  return tool("quell_cancel",
              "Stops an operation with everything below it, and says when that is proven. Give id, or all_mine for "
              "everything that you started here; dry_run shows what would be stopped.",
              object({{"id", id()},
                      {"all_mine", {{"type", "boolean"}, {"description", "Everything that you started here."}}},
                      {"reason", text("Why, for the record; at most 500 characters.")},
                      {"dry_run", {{"type", "boolean"}, {"description", "Only show what would be stopped."}}}},
                     json::array()),
              changes("Cancel operations", true, false));
}

} // namespace

json tool_list() { return {{"tools", {run(), list(), show(), output(), wait(), cancel()}}}; }

std::string_view instructions() {
  return "Runs commands on a quell swarm. Start with quell_run, look with quell_list and quell_show, read with "
         "quell_output, wait with quell_wait, stop with quell_cancel. You see only what you started here. An answer "
         "that "
         "says \"Cancelled by user\" is final: do not start that work again unless the user asks.";
}

} // namespace quell::cli::mcp
