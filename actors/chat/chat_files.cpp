// The message is taken first: neither its place among the others nor a stop waits for a file. Its turn's first request
// does (actors/turns/fitted_request.cpp). A crash in between leaves the message with its text, which names the files.
#include "actors/chat/chat_files.hpp"

#include <algorithm>
#include <utility>

#include "actors/turns/agent_runtime.hpp"
#include "integrations/models/text.hpp"
#include "protocol/attachment.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::chat {
namespace {

using integrations::excerpt;

constexpr std::chrono::milliseconds most_fetch_of_file{30'000}, most_fetch_of_message{60'000};
constexpr std::size_t most_note = 700; ///< bytes

std::string name_of_file(const integrations::chat::offered_file& file) {
  return file.name.empty() ? "a file" : excerpt(file.name, most_attachment_name);
}

/// The type that the file is stored with if its bytes do not say another; "" = nothing is known.
std::string type_of_file(const integrations::chat::offered_file& file) {
  auto type = plain_media_type(file.type);
  if (type == "application/octet-stream") return {};
  if (media_kind_of(type) == media_kind::other && type.starts_with("text/")) return "text/plain";
  return type;
}

/// Why it is not even fetched; "" = it is.
std::string why_not_taken(const integrations::chat::offered_file& file, std::size_t taken, std::uint64_t most_bytes) {
  if (const auto type = type_of_file(file); !type.empty() && media_kind_of(type) == media_kind::other)
    return "files of type " + excerpt(type, 64) + " are not read";
  if (file.bytes.value_or(0) > most_bytes)
    return "it has " + std::to_string(*file.bytes) + " bytes, and at most " + std::to_string(most_bytes) + " are read";
  if (taken >= most_attachments) return "at most " + std::to_string(most_attachments) + " files of a message are read";
  return {};
}

void add_line(std::string& to, const std::string& line, const char* between) {
  if (!to.empty()) to += between;
  to += line;
}

} // namespace

std::shared_ptr<chat_files> chat_files::reserve(std::shared_ptr<turns::agent_runtime> runtime,
                                                std::shared_ptr<fetch_places> places, turns::message_order& order,
                                                offered files, std::shared_ptr<integrations::chat::file_source> source,
                                                file_bytes bytes) {
  if (files.empty() || !source || !runtime || !runtime->blobs) return nullptr;
  const std::shared_ptr<chat_files> made(new chat_files);
  for (auto& file : files) {
    const auto name = name_of_file(file);
    if (const auto why = why_not_taken(file, order.files.size(), runtime->blobs->most_bytes()); !why.empty()) {
      add_line(made->not_taken_, name + ": " + why, "; ");
      add_line(order.text, "[" + name + " is not shown: " + why + "]", "\n");
      continue;
    }
    const auto id = blob_id::fresh();
    auto type = type_of_file(file);
    if (type.empty()) type = "application/octet-stream";
    order.files.push_back({id.text(),
                           std::string(utf8_prefix(file.name, most_attachment_name)),
                           std::move(type),
                           file.bytes.value_or(0),
                           nullptr,
                           {},
                           true});
    made->files_.push_back({std::move(file), id});
  }
  made->runtime_ = std::move(runtime);
  made->places_ = std::move(places);
  made->source_ = std::move(source);
  made->bytes_ = std::move(bytes);
  made->scope_ = order.scope;
  for (const auto& one : made->files_) made->runtime_->arriving.expect(one.id.text());
  return made;
}

void chat_files::decided(bool begins_turn) {
  if (!begins_turn) {
    for (const auto& one : files_) runtime_->arriving.settle(one.id.text(), {});
    return;
  }
  if (!files_.empty())
    runtime_->background_reads->run_after(most_fetch_of_message, [self = shared_from_this()](store_reader&) {
      std::vector<std::string> all;
      for (const auto& one : self->files_) all.push_back(one.id.text());
      self->runtime_->arriving.give_up(all, "it could not be fetched in time");
    });
  places_->enter(scope_, [self = shared_from_this()] { self->next(); });
}

void chat_files::next() {
  while (true) {
    std::size_t number = 0;
    {
      const std::lock_guard lock(guard_);
      number = at_;
      if (number >= files_.size()) break;
    }
    const auto begins = runtime_->arriving.begin(files_[number].id.text(), [self = shared_from_this(), number] {
      self->source_->stop(number);
      self->over(number);
    });
    if (const auto full = begins ? why_no_room(files_[number].file) : ""; !full.empty()) return settle(number, full);
    if (begins)
      return source_->fetch(
          number, files_[number].file, {most_fetch_of_file, runtime_->blobs->most_bytes()},
          [self = shared_from_this(), number](result<std::string> bytes) { self->fetched(number, std::move(bytes)); });
    const std::lock_guard lock(guard_);
    if (at_ == number) ++at_;
  }
  finish();
}

std::string chat_files::why_no_room(const integrations::chat::offered_file& file) const {
  if (!bytes_.quota) return {};
  const auto refused = bytes_.quota->look(bytes_.from, std::max<std::uint64_t>(file.bytes.value_or(1), 1));
  return refused ? refused->why : std::string();
}

void chat_files::fetched(std::size_t number, result<std::string> bytes) {
  if (!bytes) return settle(number, bytes.error().detail);
  if (bytes_.quota)
    if (const auto refused = bytes_.quota->take(bytes_.from, bytes->size())) return settle(number, refused->why);
  const auto& one = files_[number];
  std::string type(media_type_of_bytes(*bytes));
  if (type.empty()) type = type_of_file(one.file);
  if (type.empty()) type = "text/plain";
  if (!check_media(type, *bytes)) return settle(number, "its content is not " + type);
  runtime_->blobs->put(
      {scope_, {}, type, std::string(utf8_prefix(one.file.name, most_attachment_name)), std::move(*bytes), one.id},
      [self = shared_from_this(), number](const result<put_blob>& put) {
        self->settle(number, put ? std::string() : put.error().detail);
      });
}

void chat_files::settle(std::size_t number, const std::string& why) {
  runtime_->arriving.settle(files_[number].id.text(), why);
  over(number);
}

/// A stop can come between a fetch and its answer: only the first of them goes on.
void chat_files::over(std::size_t number) {
  {
    const std::lock_guard lock(guard_);
    if (at_ != number) return;
    ++at_;
  }
  next();
}

/// Once, after the last file.
void chat_files::finish() {
  {
    const std::lock_guard lock(guard_);
    if (std::exchange(is_finished_, true)) return;
  }
  places_->leave(scope_);
  auto troubles = not_taken_;
  for (const auto& one : files_) {
    const auto why = runtime_->arriving.why_missing(one.id.text());
    if (why == turns::arriving_files::stopped) return; // people know: they stopped it
    if (why) add_line(troubles, name_of_file(one.file) + ": " + *why, "; ");
  }
  if (!troubles.empty()) source_->tell(excerpt("I could not look at " + troubles, most_note));
}

} // namespace quell::controller::chat
