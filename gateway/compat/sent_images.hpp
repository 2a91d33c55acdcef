// Images in the messages of other people's protocols: `data:` URLs, read and checked. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace quell::controller::http {

struct sent_conversation;

struct sent_image {
  std::string type;      ///< media type
  std::string bytes;     ///< not bounded here beyond the request's body
  std::string pointer{}; ///< where it stood in the request
  std::string name{};    ///< given by `shown_images`
};

/// The image in `url`; otherwise what is wrong with it. Only `data:` URLs: nothing is fetched for a client.
tl::expected<sent_image, std::string> read_data_url(std::string_view url);

enum class shown_messages : std::uint8_t { newest, all };

/// Takes the images out of the conversation that go with its newest message: its own and, if `of` is `all`, those of
/// the messages before, the newest ten in all, in their order. Each is named by its number in the conversation, and a
/// line in the text of its earlier message names it.
std::vector<sent_image> shown_images(sent_conversation& conversation, shown_messages of);

} // namespace quell::controller::http
