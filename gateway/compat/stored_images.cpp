// Stores images as blobs, as POST /v1/blobs does.
#include "gateway/compat/stored_images.hpp"

#include "controller/blob_store.hpp"

namespace quell::controller::http {

namespace {

void check_sizes(const std::vector<sent_image>& images, std::uint64_t most) {
  std::vector<field_error> errors;
  for (const auto& image : images)
    if (image.bytes.size() > most)
      errors.push_back({error_code::too_large, image.pointer,
                        "holds an image of more than " + std::to_string(most) + " bytes (limits.blob_bytes)"});
  if (errors.empty()) return;
  auto why = from_errors(std::move(errors));
  why.code = error_code::too_large;
  throw why;
}

} // namespace

awaitable<> store_images(exchange& x, turns::message_order& order, std::vector<sent_image> images, milliseconds keep) {
  if (images.empty()) co_return;
  if (!x.gw.options.blobs)
    throw from_errors({{error_code::invalid_field, images.front().pointer, "this quelld takes no files"}});
  auto& blobs = *x.gw.options.blobs;
  check_sizes(images, blobs.most_bytes());
  for (auto& image : images) {
    auto what = std::make_shared<new_blob>();
    what->scope = order.scope;
    what->holder = x.token ? "token:" + x.token->text() : "";
    what->type = std::move(image.type);
    what->name = std::move(image.name);
    what->bytes = std::move(image.bytes);
    what->keep = keep;
    std::function<void(std::function<void(result<put_blob>)>)> call = [&blobs, what](auto reply) {
      blobs.put(std::move(*what), std::move(reply));
    };
    const auto put = co_await x.gw.answer<result<put_blob>>(call);
    if (!put) throw from_fault(put.error());
    attachment file;
    file.blob = put->facts.id.text();
    file.name = put->facts.name;
    file.type = put->facts.type;
    file.bytes = put->facts.bytes;
    order.files.push_back(std::move(file));
  }
}

} // namespace quell::controller::http
