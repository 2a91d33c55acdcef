// Images and documents in requests: what a model is sent, and the text in the place of what it is not. Pure.
#pragma once

#include <functional>
#include <string>

#include "integrations/models/model.hpp"

namespace quell::integrations {

/// Passes each file on as what this model can read: first a line that names it, then its bytes or its text. A file that
/// it is not sent is only a line, with the reason.
struct media_sink {
  std::function<void(std::string)> text;
  std::function<void(const attachment&)> image, document; ///< `content` is set
};
void put_media(const model_settings& settings, const attachments& files, const media_sink& to);

/// True if the model is sent bytes of one of these.
bool has_bytes_for(const model_settings& settings, const attachments& files);

/// Of the bytes of a request, those that its texts take, and for each image and document as many as texts of as many
/// tokens would: tokens are estimated from it.
std::size_t without_media(std::size_t request_bytes, const model_settings& settings, const conversation& messages);

/// `data:image/png;base64,…`
std::string data_uri(const attachment& one);
/// A name that providers accept for a file.
std::string file_name_of(const attachment& one);
/// The texts that stand for these files, and the text, as one text: for a message without bytes.
std::string with_media_texts(const model_settings& settings, const attachments& files, const std::string& text);

} // namespace quell::integrations
