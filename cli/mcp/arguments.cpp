// Checks the arguments of a call one by one.
#include "cli/mcp/arguments.hpp"

#include <algorithm>

#include "cli/columns.hpp"
#include "cli/short_id.hpp"
#include "cli/terminal.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli::mcp {
namespace {

std::string shown(std::string_view text) { return "\"" + cut(one_line(text), 80, character_set::utf8) + "\""; }

/// Takes arguments out of the object and keeps the first error.
class reader {
 public:
  explicit reader(const json& object) : object_(object) {}

  /// Null reads as absent.
  const json* take(const char* name) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::string> text(const char* name, std::size_t least, std::size_t most) {
    const auto* value = take(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) return refuse<std::string>(name, "must be a string");
    const auto text = value->get<std::string>();
    const auto length = code_points(text);
    if (length < least || length > most)
      return refuse<std::string>(name, "must have " + std::to_string(least) + " to " + std::to_string(most) +
                                           " characters, not " + std::to_string(length));
    if (text.find('\0') != std::string::npos) return refuse<std::string>(name, "must not hold a NUL character");
    return text;
  }

  std::optional<std::int64_t> number(const char* name, std::int64_t least, std::int64_t most) {
    const auto* value = take(name);
    if (value == nullptr) return std::nullopt;
    const std::string range = "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!value->is_number()) return refuse<std::int64_t>(name, range);
    // Some clients write every number with a fraction.
    const double number = value->get<double>();
    if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most)) ||
        number != static_cast<double>(static_cast<std::int64_t>(number)))
      return refuse<std::int64_t>(name, range + ", not " + value->dump());
    return static_cast<std::int64_t>(number);
  }

  bool flag(const char* name) {
    const auto* value = take(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) complain(name, "must be true or false");
    return value->is_boolean() && value->get<bool>();
  }

  template <class Words>
  std::optional<std::string> word(const char* name, const Words& words) {
    const auto* value = take(name);
    if (value == nullptr) return std::nullopt;
    std::string all;
    for (const std::string_view one : words) {
      if (value->is_string() && value->get_ref<const std::string&>() == one) return std::string(one);
      all += (all.empty() ? "" : ", ") + std::string(one);
    }
    return refuse<std::string>(name, "must be one of " + all);
  }

  std::string id() {
    const auto id = text("id", 0, 200);
    if (!id && !wrong_) complain("id", "is missing: give the id of an operation; quell_list shows them");
    check_id(id.value_or(""));
    return id.value_or("");
  }

  void check_id(const std::string& id) {
    if (!wrong_ && !is_whole_id(id) && !is_id_tail(id))
      complain("id", shown(id) + " is not an id: give all of it, or at least its last 4 digits (0-9, a-f)");
  }

  void complain(const std::string& name, const std::string& what) {
    if (!wrong_) wrong_ = "Argument " + name + " " + what + ".";
  }

  /// Remaining arguments are refused: a misspelt one must not be ignored silently.
  std::optional<std::string> finish() {
    std::string known;
    for (const auto& name : known_) known += (known.empty() ? "" : ", ") + name;
    for (const auto& [name, value] : object_.items())
      if (std::find(known_.begin(), known_.end(), name) == known_.end() && !wrong_)
        wrong_ = "There is no argument " + shown(name) + "; the tool takes " + known + ".";
    return wrong_;
  }

 private:
  template <class Value>
  std::optional<Value> refuse(const char* name, const std::string& what) {
    complain(name, what);
    return std::nullopt;
  }

  const json& object_;
  std::vector<std::string> known_;
  std::optional<std::string> wrong_;
};

using outcome = tl::expected<call_arguments, std::string>;

outcome ended(reader& fields, call_arguments found) {
  if (auto wrong = fields.finish()) return tl::unexpected(std::move(*wrong));
  return found;
}

std::vector<std::string> command_of(reader& fields) {
  std::vector<std::string> out;
  const auto* words = fields.take("command");
  if (words == nullptr) return fields.complain("command", "is missing: give program and arguments as a list"), out;
  if (!words->is_array())
    return fields.complain("command", "must be a list of words, for example [\"sh\", \"-c\", \"make test\"]"), out;
  if (words->empty() || words->size() > limits::words)
    return fields.complain("command", "must have 1 to " + std::to_string(limits::words) + " words"), out;
  std::size_t bytes = 0;
  for (const auto& word : *words) {
    if (!word.is_string()) return fields.complain("command", "must hold strings only"), out;
    out.push_back(word.get<std::string>());
    bytes += out.back().size() + 1;
    if (out.back().find('\0') != std::string::npos)
      return fields.complain("command", "must not hold a NUL character"), out;
  }
  if (out.front().empty()) fields.complain("command", "must begin with the program's name");
  if (bytes > limits::command_bytes)
    fields.complain("command", "has " + std::to_string(bytes) +
                                   " bytes; at most 131072 fit a command line. Write it "
                                   "into a file and run that");
  return out;
}

std::map<std::string, std::string> labels_of(reader& fields) {
  std::map<std::string, std::string> out;
  const auto* labels = fields.take("labels");
  if (labels == nullptr) return out;
  if (!labels->is_object()) return fields.complain("labels", "must be an object of strings"), out;
  if (labels->size() > limits::labels) return fields.complain("labels", "may have 64 entries at most"), out;
  const auto fits = [](std::string_view text) {
    return !text.empty() && code_points(text) <= limits::label_characters;
  };
  for (const auto& [key, value] : labels->items()) {
    if (!value.is_string() || !fits(key) || !fits(value.get_ref<const std::string&>()))
      return fields.complain("labels", "has " + shown(key) + ": keys and values are strings of 1 to 128 characters"),
             out;
    out[key] = value.get<std::string>();
  }
  return out;
}

outcome read_run(reader& fields) {
  run_arguments a;
  a.command = command_of(fields);
  a.title = fields.text("title", 0, limits::title_characters);
  a.labels = labels_of(fields);
  a.worker = fields.text("worker", 1, limits::worker_characters);
  if (const auto ms = fields.number("timeout_ms", 0, limits::timeout_ms)) a.timeout = milliseconds{*ms};
  a.wait = milliseconds{fields.number("wait_ms", 0, limits::wait_ms).value_or(0)};
  return ended(fields, std::move(a));
}

outcome read_cancel(reader& fields) {
  cancel_arguments a;
  a.id = fields.text("id", 1, 200).value_or("");
  const bool all = fields.flag("all_mine");
  a.reason = fields.text("reason", 0, limits::reason_characters).value_or("");
  a.dry_run = fields.flag("dry_run");
  if (!a.id.empty() && all)
    fields.complain("all_mine", "cannot go with id: name one operation, or everything that you started here");
  if (a.id.empty() && !all)
    fields.complain("id", "is missing: name what to stop, or give all_mine: true for everything that you started here");
  if (!a.id.empty()) fields.check_id(a.id);
  return ended(fields, std::move(a));
}

} // namespace

outcome read_arguments(const std::string& tool, const json& arguments) {
  if (!arguments.is_object()) return tl::unexpected(std::string("The arguments must be a JSON object."));
  reader fields(arguments);
  if (tool == "quell_run") return read_run(fields);
  if (tool == "quell_list") {
    list_arguments a;
    a.status = fields.word("status", statuses).value_or("");
    a.limit = fields.number("limit", 1, limits::list).value_or(limits::usual_list);
    return ended(fields, std::move(a));
  }
  if (tool == "quell_show") {
    show_arguments a{fields.id()};
    return ended(fields, std::move(a));
  }
  if (tool == "quell_output") {
    output_arguments a;
    a.id = fields.id();
    a.stream = fields.word("stream", std::vector<std::string_view>{"stdout", "stderr"}).value_or(a.stream);
    a.tail_bytes = fields.number("tail_bytes", 1, limits::tail_bytes).value_or(a.tail_bytes);
    return ended(fields, std::move(a));
  }
  if (tool == "quell_wait") {
    wait_arguments a;
    a.id = fields.id();
    a.wait = milliseconds{fields.number("wait_ms", 0, limits::wait_ms).value_or(limits::usual_wait_ms)};
    return ended(fields, std::move(a));
  }
  if (tool == "quell_cancel") return read_cancel(fields);
  return tl::unexpected("There is no tool " + shown(tool) +
                        "; there are quell_run, quell_list, quell_show, quell_output, quell_wait and quell_cancel.");
}

} // namespace quell::cli::mcp
