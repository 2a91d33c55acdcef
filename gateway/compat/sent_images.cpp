// Reads `data:` URLs, and chooses which images of a conversation a model is shown.
#include "gateway/compat/sent_images.hpp"

#include <algorithm>
#include <iterator>

#include "gateway/compat/prior_messages.hpp"
#include "protocol/attachment.hpp"
#include "protocol/encoding.hpp"

namespace quell::controller::http {

namespace {

constexpr std::string_view scheme_of_data = "data:", mark_of_base64 = ";base64";
constexpr const char* image_types = "image/png, image/jpeg, image/gif and image/webp";

bool starts_with_scheme(std::string_view url, std::string_view scheme) {
  return plain_media_type(url.substr(0, scheme.size())) == scheme; // in lower case
}

std::string image_name(std::size_t number, std::string_view type) {
  const auto kind = type.substr(type.find('/') + 1);
  return "image-" + std::to_string(number) + "." + (kind == "jpeg" ? "jpg" : std::string(kind));
}

} // namespace

tl::expected<sent_image, std::string> read_data_url(std::string_view url) {
  if (!starts_with_scheme(url, scheme_of_data))
    return tl::unexpected<std::string>(
        "must be a data: URL: quell fetches nothing for a client; send the image's bytes "
        "as data:image/png;base64,…");
  url.remove_prefix(scheme_of_data.size());
  const auto comma = url.find(',');
  const auto head = url.substr(0, comma);
  if (comma == std::string_view::npos || !head.ends_with(mark_of_base64))
    return tl::unexpected<std::string>("must hold base64: data:image/png;base64,…");
  sent_image found;
  found.type = plain_media_type(head);
  if (media_kind_of(found.type) != media_kind::image)
    return tl::unexpected<std::string>("is of a type that is not taken; there are " + std::string(image_types));
  auto bytes = from_base64(url.substr(comma + 1));
  if (!bytes) return tl::unexpected<std::string>("is not padded base64 of the standard alphabet");
  if (!check_media(found.type, *bytes))
    return tl::unexpected<std::string>("holds bytes that are not " + found.type + ", as their beginning shows");
  found.bytes = std::move(*bytes);
  return found;
}

std::vector<sent_image> shown_images(sent_conversation& conversation, shown_messages of) {
  std::size_t number = 0, earlier = 0;
  for (const auto& m : conversation.before) earlier += m.images.size();
  const auto own = std::min(conversation.images.size(), most_attachments);
  const auto hidden = earlier + own > most_attachments ? earlier + own - most_attachments : 0;
  std::vector<sent_image> shown;
  for (auto& m : conversation.before) {
    for (auto& image : m.images) {
      image.name = image_name(++number, image.type);
      const bool is_hidden = number <= hidden;
      m.text += (m.text.empty() ? "[" : "\n[") + image.name +
                (is_hidden ? ": not shown, since only the newest images of the conversation are]" : "]");
      if (!is_hidden && of == shown_messages::all) shown.push_back(std::move(image));
    }
    m.images.clear();
  }
  for (auto& image : conversation.images) {
    image.name = image_name(++number, image.type);
    if (shown.size() < most_attachments) shown.push_back(std::move(image));
  }
  conversation.images.clear();
  return shown;
}

} // namespace quell::controller::http
