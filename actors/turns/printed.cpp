// Reads the kept output of tasks.
#include "actors/turns/printed.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/result_json.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::size_t most_of_stream = 4 << 10;
constexpr std::size_t most_calls = 16; ///< of one conversation

std::string mark(std::uint64_t missing) { return "\n[... " + std::to_string(missing) + " bytes left out ...]\n"; }

/// Whether the result is one that quell gave a call whose command was still running.
bool is_of_stopped(const records::call_record& call) {
  if (call.name != "exec" || (call.outcome && call.outcome->ok)) return false;
  if (!call.outcome) return true;
  if (call.outcome->cancelled) return call.outcome->result != json_result_texts{}.not_started();
  const auto why = error_of_result(call.outcome->result);
  return has_code(why, failure_code::interrupted) || has_code(why, failure_code::timeout);
}

/// At most `most` bytes from `from` on: a single read can return fewer than there are.
output_reader::slice read_from(output_reader& output, const operation_id& task, stream which, std::uint64_t from,
                               std::size_t most) {
  output_reader::slice all;
  all.offset = from;
  while (all.bytes.size() < most) {
    const auto more = output.read(task, which, all.offset + all.bytes.size(), most - all.bytes.size());
    if (!more) break;
    if (all.bytes.empty()) all.offset = more->offset;
    all.size = std::max(all.size, more->size);
    if (more->bytes.empty() || more->offset != all.offset + all.bytes.size()) break;
    all.bytes += more->bytes;
  }
  return all;
}

std::optional<operation_id> task_of(const operation_id& call, store_reader& store) {
  operation_filter f;
  f.parents = {call};
  f.kinds = {kind::task};
  f.ascending = true; // the call's own is the first
  f.limit = 1;
  const auto rows = store.operations(f);
  if (!rows || rows->empty()) return std::nullopt;
  return rows->front().id;
}

/// The newest line of a stream that is not empty.
std::string last_line_of(output_reader& output, const operation_id& task, stream which, std::uint64_t size) {
  constexpr std::size_t most_looked_at = 1'000, most_reported = 200;
  const auto end = output.read(task, which, size - std::min<std::uint64_t>(size, most_looked_at), most_looked_at);
  if (!end) return {};
  std::string_view text = end->bytes;
  const auto last = text.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return {};
  text = text.substr(0, last + 1);
  if (const auto before = text.find_last_of("\r\n"); before != std::string_view::npos) text = text.substr(before + 1);
  bool was_cut = false;
  return bounded_text(text.substr(0, most_reported), 3 * most_reported, was_cut);
}

} // namespace

std::string ends_of_stream(output_reader& output, const operation_id& task, stream which, std::size_t most,
                           bool& was_cut) {
  constexpr std::size_t note_bytes = 64;
  const auto part = (most - note_bytes) / 2;
  const auto head = read_from(output, task, which, 0, most);
  bool is_repaired = false;
  std::string text;
  if (head.offset == 0 && head.size <= head.bytes.size()) {
    text = bounded_text(head.bytes, 3 * most, is_repaired);
  } else {
    was_cut = true;
    const auto first = head.offset == 0 ? head.bytes.substr(0, part) : std::string();
    const auto tail = read_from(
        output, task, which, std::max<std::uint64_t>(head.size - std::min<std::uint64_t>(head.size, part), part), part);
    text = bounded_text(first, 3 * most, is_repaired) + mark(tail.offset - first.size()) +
           bounded_text(tail.bytes, 3 * most, is_repaired);
  }
  return text.size() <= most ? text : bounded_text(text, most, was_cut);
}

std::optional<std::string> printed_by(const operation_id& call, store_reader& store, output_reader& output) {
  const auto task = task_of(call, store);
  if (!task) return std::nullopt;
  bool was_cut = false;
  const auto out = ends_of_stream(output, *task, stream::out, most_of_stream, was_cut);
  const auto err = ends_of_stream(output, *task, stream::err, most_of_stream, was_cut);
  if (out.empty() && err.empty()) return std::nullopt;
  return json_text({{"stdout", out}, {"stderr", err}, {"truncated", was_cut}});
}

std::optional<printing> printing_of(const operation_id& call, store_reader& store, output_reader& output) {
  const auto task = task_of(call, store);
  if (!task) return std::nullopt;
  const auto counts = output.counts(*task);
  printing p{counts.stdout_bytes, counts.stderr_bytes, {}};
  p.last_line = last_line_of(output, *task, stream::out, counts.stdout_bytes);
  if (p.last_line.empty()) p.last_line = last_line_of(output, *task, stream::err, counts.stderr_bytes);
  return p;
}

std::string with_printed(const std::string& result_json, const std::string& printed) {
  auto result = json::parse(result_json, nullptr, false);
  auto printed_json = json::parse(printed, nullptr, false);
  if (!result.is_object() || !printed_json.is_object()) return result_json;
  result["printed"] = std::move(printed_json);
  return json_text(result);
}

void find_printed(history_facts& facts, const std::vector<records::kept_message>& kept, store_reader& store,
                  output_reader& output) {
  std::size_t looked = 0;
  for (auto m = kept.rbegin(); m != kept.rend(); ++m) {
    if (m->message.discarded || m->message.role != records::message_role::tool) continue;
    for (const auto& call : m->calls) {
      if (!is_of_stopped(call)) continue;
      if (++looked > most_calls) return;
      if (auto printed = printed_by(call.operation, store, output))
        facts.printed.emplace(call.operation, std::move(*printed));
    }
  }
}

} // namespace quell::controller::turns
