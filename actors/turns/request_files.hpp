// Images and documents of a conversation that is about to be sent: the bytes come from the blobs.
#pragma once

#include <cstddef>
#include <string>

#include "actors/turns/arriving_files.hpp"
#include "controller/blob_store.hpp"
#include "protocol/conversation.hpp"

namespace quell::controller::turns {

/// The bytes of all files of one request, at most; providers take 32 MB of JSON.
constexpr std::size_t most_request_files = 16 << 20;

/// A result, as JSON text of an object, that names files of the scope.
std::string with_result_files(const std::string& result, const attachments& files);
/// Finds the files that results name.
void note_result_files(conversation& messages);

/// Facts about the files that were fetched for messages: their types and sizes, or why they did not come. Call
/// before the conversation is fitted. `blobs` may be nullptr.
void note_arrivals(conversation& messages, const scope_path& scope, const blob_store* blobs,
                   const arriving_files& arriving);
/// True if a file's bytes must be read.
bool has_files(conversation& messages);
/// Reads them, the newest first. A file that is gone, or belongs to another scope, or has no room gets the reason
/// instead. Blocks on the disk. `blobs` may be nullptr.
void read_files(conversation& messages, const scope_path& scope, blob_store* blobs);

/// Older exchanges keep only the names of their files. Returns how many had bytes to send.
std::size_t leave_out_old_files(conversation& messages, const std::string& why);

} // namespace quell::controller::turns
