// The bytes come as base64 in the tool's answer. No result may hold them: a result is part of every later request.
#include "actors/turns/shown_file.hpp"

#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/request_files.hpp"
#include "protocol/encoding.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

using nlohmann::json;

std::optional<shown_file> take_shown_file(std::string& answer) {
  if (answer.find(R"("data":")") == std::string::npos) return std::nullopt;
  auto whole = json::parse(answer, nullptr, false);
  if (!whole.is_object() || !whole.contains("result") || !whole["result"].is_object()) return std::nullopt;
  auto& read = whole["result"];
  for (const char* name : {"path", "type", "data"})
    if (!read.contains(name) || !read[name].is_string()) return std::nullopt;
  auto bytes = from_base64(read["data"].get_ref<const std::string&>());
  if (!bytes) return std::nullopt;
  shown_file file{read["path"].get<std::string>(), read["type"].get<std::string>(), std::move(*bytes)};
  file.name.erase(0, file.name.rfind('/') + 1);
  read.erase("data");
  answer = json_text(whole);
  return file;
}

void end_file_call(const std::shared_ptr<agent_runtime>& runtime, const scope_path& scope, const tool_definition& tool,
                   task_end end, std::function<void(actors::work_end)> done) {
  auto file = tool.offer.name == "read" ? take_shown_file(end.out) : std::nullopt;
  auto how = end_of(end, tool, *runtime->texts);
  if (!file || !how.ok) return done(std::move(how));
  if (!runtime->blobs)
    return done({false, runtime->texts->failed(failure_code::not_text,
                                               file->name + " is not text, and nothing stores files here")});
  attachment one{{}, std::string(utf8_prefix(file->name, most_attachment_name)), file->type, file->bytes.size()};
  // A stop in between ends the call; what was stored then is swept like any file that no message names.
  runtime->blobs->put({scope, {}, file->type, one.name, std::move(file->bytes)},
                      [one, result = std::move(how.result), texts = runtime->texts,
                       done = std::move(done)](const result<put_blob>& put) mutable {
                        if (!put)
                          return done({false, texts->failed(put.error().code, "the file was read, but it cannot be "
                                                                              "shown: " +
                                                                                  put.error().detail)});
                        one.blob = put->facts.id.text();
                        done({true, with_result_files(result, {one})});
                      });
}

} // namespace quell::controller::turns
