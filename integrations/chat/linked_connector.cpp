// The connector around a service_link.
#include <utility>

#include "integrations/chat/service_link.hpp"

namespace quell::integrations::chat {

namespace {

class linked_connector : public connector {
 public:
  linked_connector(std::string name, std::unique_ptr<service_link> link)
      : name_(std::move(name)), link_(std::move(link)) {}
  std::string_view name() const override { return name_; }
  void on_event(const event& e) override { link_->on_event(e); }
  void called(web_call, std::function<void(web_answer)> done) override { done({404, "there is nothing here\n"}); }
  std::string state() const override { return link_->state(); }
  void stop() override { link_->stop(); }

 private:
  const std::string name_;
  const std::unique_ptr<service_link> link_;
};

} // namespace

result<std::unique_ptr<connector>> start_linked(std::string name, link_settings settings,
                                                std::unique_ptr<service_session> session, host& at,
                                                std::function<void(const std::string&)> log, memory remembers) {
  auto link =
      service_link::start(name, std::move(settings), std::move(session), at, std::move(log), std::move(remembers));
  if (!link) return tl::unexpected(link.error());
  return std::unique_ptr<connector>(std::make_unique<linked_connector>(std::move(name), std::move(*link)));
}

} // namespace quell::integrations::chat
