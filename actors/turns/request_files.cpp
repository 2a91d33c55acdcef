// A result names its files in its first member, which only quell writes: tools' own words are further inside. All the
// same a file is read only for the scope that it belongs to.
#include "actors/turns/request_files.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "actors/turns/context_fit.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/kept_decision.hpp"

namespace quell::controller::turns {
namespace {

using nlohmann::json;

constexpr const char* member_of_result = "attachments"; // the first of a result's members in their order
constexpr std::string_view begin_of_result = R"({"attachments":[{)";

void read_one(attachment& one, const scope_path& scope, blob_store* blobs, std::size_t& room) {
  const auto id = blob_id::parse(one.blob);
  const auto facts = blobs && id ? blobs->find(*id) : std::nullopt;
  if (!facts || !scope.is_at_or_below(facts->scope)) {
    one.missing = one.comes_later ? "it was not fetched, or is not kept any more" : "it is not kept any more";
    return;
  }
  if (facts->bytes > room) {
    one.missing = "the files of this conversation are too large together";
    return;
  }
  auto bytes = blobs->read(*id);
  if (!bytes) {
    one.missing = "it is not kept any more";
    return;
  }
  room -= bytes->size();
  one.type = facts->type;
  one.bytes = facts->bytes;
  one.content = std::make_shared<const std::string>(std::move(*bytes));
}

} // namespace

std::string with_result_files(const std::string& result, const attachments& files) {
  auto whole = json::parse(result, nullptr, false);
  if (files.empty() || !whole.is_object()) return result;
  auto& list = whole[member_of_result] = json::array();
  for (const auto& f : files)
    list.push_back({{"blob", f.blob}, {"name", f.name}, {"type", f.type}, {"bytes", f.bytes}});
  return json_text(whole);
}

void note_result_files(conversation& messages) {
  for (auto& entry : messages) {
    auto* results = std::get_if<tool_results>(&entry);
    if (!results) continue;
    for (auto& one : results->results) {
      if (!one.files.empty() || !one.result.starts_with(begin_of_result)) continue;
      const auto whole = json::parse(one.result, nullptr, false);
      if (whole.is_object()) one.files = files_in(json_text({{"files", whole.value(member_of_result, json())}}));
    }
  }
}

bool has_files(conversation& messages) {
  return std::any_of(messages.begin(), messages.end(), [](conversation_entry& entry) {
    const auto lists = files_of(entry);
    return std::any_of(lists.begin(), lists.end(), [](const attachments* files) {
      return std::any_of(files->begin(), files->end(),
                         [](const attachment& one) { return !one.content && one.missing.empty(); });
    });
  });
}

void note_arrivals(conversation& messages, const scope_path& scope, const blob_store* blobs,
                   const arriving_files& arriving) {
  for (auto& entry : messages)
    for (auto* files : files_of(entry))
      for (auto& one : *files) {
        if (!one.comes_later || one.content || !one.missing.empty()) continue;
        const auto id = blob_id::parse(one.blob);
        const auto facts = blobs && id ? blobs->find(*id) : std::nullopt;
        if (facts && scope.is_at_or_below(facts->scope)) {
          one.type = facts->type;
          one.bytes = facts->bytes;
        } else if (const auto why = arriving.why_missing(one.blob)) {
          one.missing = *why;
        }
      }
}

void read_files(conversation& messages, const scope_path& scope, blob_store* blobs) {
  auto room = most_request_files;
  for (auto entry = messages.rbegin(); entry != messages.rend(); ++entry)
    for (auto* files : files_of(*entry))
      for (auto& one : *files)
        if (!one.content && one.missing.empty()) read_one(one, scope, blobs, room);
}

std::size_t leave_out_old_files(conversation& messages, const std::string& why) {
  std::size_t count = 0;
  const auto own = own_begin(messages);
  for (std::size_t i = 0; i < own; ++i)
    for (auto* files : files_of(messages[i]))
      for (auto& one : *files) {
        if (!one.missing.empty()) continue;
        one.missing = why;
        one.content = nullptr;
        ++count;
      }
  return count;
}

} // namespace quell::controller::turns
