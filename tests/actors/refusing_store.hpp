// A store that answers nothing: a test overrides what it is about.
#pragma once

#include "controller/store_reader.hpp"

namespace quell::testing {

class refusing_store : public controller::store_reader {
 public:
  result<std::optional<records::operation_record>> operation(const operation_id&) override { return refused(); }
  result<std::vector<records::operation_record>> operations(const records::operation_filter&) override {
    return refused();
  }
  result<bool> is_below(const operation_id&, const operation_id&) override { return refused(); }
  result<std::vector<records::kept_message>> messages(const records::message_filter&) override { return refused(); }
  result<std::optional<records::message_record>> message_of_client(const scope_path&, const std::string&) override {
    return refused();
  }
  result<std::optional<records::message_record>> newest_edit_of_client(const scope_path&, const std::string&) override {
    return refused();
  }
  result<std::vector<records::message_record>> unacknowledged() override { return refused(); }
  result<std::optional<records::cancel_record>> cancel(const cancel_id&) override { return refused(); }
  result<std::vector<records::cancel_record>> cancels(const records::cancel_filter&) override { return refused(); }
  result<std::vector<records::event_record>> events(const records::event_filter&) override { return refused(); }
  result<std::optional<std::uint64_t>> oldest_event() override { return refused(); }
  result<std::uint64_t> newest_event() override { return refused(); }
  result<std::vector<records::audit_record>> audit(std::uint64_t, std::uint32_t) override { return refused(); }
  result<controller::cost_page> costs(const controller::cost_filter&) override { return refused(); }

 protected:
  static tl::unexpected<fault> refused() {
    return tl::unexpected(fault{"storage_unavailable", "not part of this test", {}});
  }
};

} // namespace quell::testing
