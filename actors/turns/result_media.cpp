// Nobody's token holds these files: the quota of the scope bounds them.
#include "actors/turns/result_media.hpp"

#include <spdlog/spdlog.h>

#include <memory>

namespace quell::controller::turns {
namespace {

struct storing : std::enable_shared_from_this<storing> {
  blob_store* blobs = nullptr;
  scope_path scope;
  std::vector<integrations::mcp_media> left; ///< the last comes first
  attachments stored;
  std::function<void(const attachments&)> done;

  void go_on() {
    if (left.empty()) return done(stored);
    auto next = std::move(left.back());
    left.pop_back();
    blobs->put({scope, {}, std::move(next.type), {}, std::move(next.bytes)}, [self = shared_from_this()](
                                                                                 const result<put_blob>& put) {
      if (put)
        self->stored.push_back({put->facts.id.text(), {}, put->facts.type, put->facts.bytes});
      else
        spdlog::warn("a file of a tool's result in scope {} is left out: {}", self->scope.text(), put.error().detail);
      self->go_on();
    });
  }
};

} // namespace

void store_media(blob_store* blobs, const scope_path& scope, std::vector<integrations::mcp_media> media,
                 std::function<void(const attachments&)> done) {
  if (!blobs || media.empty()) return done({});
  const auto run = std::make_shared<storing>();
  run->blobs = blobs;
  run->scope = scope;
  run->left.assign(std::make_move_iterator(media.rbegin()), std::make_move_iterator(media.rend()));
  run->done = std::move(done);
  run->go_on();
}

} // namespace quell::controller::turns
