// The bot as a connector.
#include "integrations/chat/discord/bot.hpp"
#include "integrations/chat/discord/discord.hpp"
#include "integrations/chat/discord/web_address.hpp"

namespace quell::integrations::chat {
namespace {

constexpr std::size_t key_bytes = 32;

class bot_connector final : public connector {
 public:
  explicit bot_connector(std::shared_ptr<discord::bot> b) : bot_(std::move(b)) {}
  ~bot_connector() override { bot_->stop(); }

  std::string_view name() const override { return "discord"; }
  void on_event(const event& e) override { bot_->on_event(e); }
  void called(web_call call, std::function<void(web_answer)> done) override {
    bot_->called(std::move(call), std::move(done));
  }
  std::string state() const override { return bot_->state(); }
  void stop() override { bot_->stop(); }

 private:
  std::shared_ptr<discord::bot> bot_;
};

} // namespace

result<std::unique_ptr<connector>> start_discord(discord_settings settings, host& at) {
  if (settings.token.empty())
    return failure(error_code::invalid_field, "[discord] has no token of a bot; name it with token_env");
  if (settings.token.find_first_of("\r\n") != std::string::npos)
    return failure(error_code::invalid_field, "[discord]: the token has a line break in it");
  if (!settings.public_key.empty() && settings.public_key.size() != key_bytes)
    return failure(error_code::invalid_field, "[discord]: public_key must be 64 hex digits");
  if (!settings.gateway_url.empty() && !discord::websocket_address(settings.gateway_url))
    return failure(error_code::invalid_field, "[discord]: gateway_url must begin with ws:// or wss://");
  if (!settings.with_gateway && settings.public_key.empty())
    return failure(error_code::invalid_field,
                   "[discord] has neither the gateway nor a public_key: nothing could be heard");
  auto made = std::make_shared<discord::bot>(std::move(settings), at);
  if (auto started = made->start(); !started) return tl::unexpected(started.error());
  return std::make_unique<bot_connector>(std::move(made));
}

} // namespace quell::integrations::chat
