// The parts of a request that carry images and documents.
#include "integrations/models/media.hpp"

#include <algorithm>

#include "integrations/models/text.hpp"
#include "protocol/base64.hpp"

namespace quell::integrations {
namespace {

constexpr std::uint64_t most_anthropic_image = (5 << 20) / 4 * 3; // 5 MB as base64

/// Why the model is not sent it; "" = it is.
std::string why_not_sent(const model_settings& settings, const attachment& one) {
  const auto kind = media_kind_of(one.type);
  if (kind == media_kind::image && !settings.images) return "this model reads no images";
  if (kind == media_kind::document && !settings.documents) return "this model reads no documents of this type";
  if (kind == media_kind::other) return "no model is sent files of this type";
  if (kind == media_kind::image && settings.provider == provider::anthropic && one.bytes > most_anthropic_image)
    return "it is larger than this provider takes";
  if (!one.content) return one.missing.empty() ? "it is not kept any more" : one.missing;
  return {};
}

} // namespace

void put_media(const model_settings& settings, const attachments& files, const media_sink& to) {
  for (const auto& one : files) {
    const auto why = why_not_sent(settings, one);
    const auto line = repaired(attachment_line(one, why));
    if (!why.empty()) {
      to.text(line);
      continue;
    }
    switch (media_kind_of(one.type)) {
    case media_kind::image:
      to.text(line);
      to.image(one);
      break;
    case media_kind::document:
      to.text(line);
      to.document(one);
      break;
    default:
      to.text(line + "\n" + repaired(*one.content));
    }
  }
}

bool has_bytes_for(const model_settings& settings, const attachments& files) {
  return std::any_of(files.begin(), files.end(), [&](const attachment& one) {
    return media_kind_of(one.type) != media_kind::text && why_not_sent(settings, one).empty();
  });
}

std::size_t without_media(std::size_t request_bytes, const model_settings& settings, const conversation& messages) {
  constexpr std::size_t bytes_a_token = 4;
  std::size_t encoded = 0, tokens = 0;
  const auto count = [&](const attachments& files) {
    for (const auto& one : files) {
      if (media_kind_of(one.type) == media_kind::text || !why_not_sent(settings, one).empty()) continue;
      encoded += (one.content->size() + 2) / 3 * 4;
      tokens += attachment_tokens(one);
    }
  };
  for (const auto& entry : messages) {
    if (const auto* user = std::get_if<user_message>(&entry)) count(user->files);
    if (const auto* results = std::get_if<tool_results>(&entry))
      for (const auto& one : results->results) count(one.files);
  }
  return request_bytes - std::min(request_bytes, encoded) + tokens * bytes_a_token;
}

std::string data_uri(const attachment& one) { return "data:" + one.type + ";base64," + base64(*one.content); }

std::string file_name_of(const attachment& one) { return one.name.empty() ? "document.pdf" : repaired(one.name); }

std::string with_media_texts(const model_settings& settings, const attachments& files, const std::string& text) {
  std::string all;
  const auto add = [&](const std::string& piece) {
    if (!piece.empty()) all += (all.empty() ? "" : "\n\n") + piece;
  };
  put_media(settings, files, {add, [](const attachment&) {}, [](const attachment&) {}});
  add(text);
  return all;
}

} // namespace quell::integrations
