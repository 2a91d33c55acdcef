// A Telegram bot's conversation with Telegram and with quelld. Runs on the loop of its web_connector.
#pragma once

#include <map>

#include "integrations/chat/refused_deliveries.hpp"
#include "integrations/chat/telegram/done_updates.hpp"
#include "integrations/chat/telegram/read.hpp"
#include "integrations/chat/telegram/settings.hpp"
#include "integrations/chat/telegram/update_lines.hpp"
#include "integrations/chat/web_connector.hpp"

namespace quell::integrations::chat::telegram {

class bot final : public web_connector {
 public:
  bot(telegram_settings settings, host& at);

 protected:
  void begin() override;
  void take(web_call call, std::function<void(web_answer)> done) override;
  void hear(const event&) override {}
  web_request request_of(const action& a) override;
  done_how outcome_of(const action& a, const web_response& r) override;
  void say_again(incoming_message message, std::string answers) override;
  std::string more_to_keep() const override { return updates_.to_keep(); }
  std::uint64_t more_changes() const override { return updates_.changes(); }
  void recall_more(const std::string& kept) override { updates_.recall(kept); }

 private:
  /// True: finished. False: the same update can be processed again.
  using taken = std::function<void(bool)>;
  void ask(const std::string& method, const std::string& body, std::function<void(const web_response&)> then);
  void introduce();
  void set_up();
  void poll();
  void polled(const web_response& r);
  // taking.cpp
  /// `is_first`: of this process.
  void take_batch(std::vector<update> batch, bool is_first);
  void take_due();
  void end_batch();
  /// Updates of the batch that a stop covers are not begun; its author is told how many.
  void leave_out(const update_lines::overtaken& covered);
  void tell_left_out(std::size_t count, const update& stop);
  /// The same for deliveries of the webhook that were refused.
  void stop_refused(const update& u);
  static std::optional<scope_path> place_of(const update& u);
  /// Whether it is a stop that applies to everybody in its chat.
  bool stops(const message& m) const;
  bool stops(const update& u) const;
  /// Whether quelld is given the message.
  bool is_meant(const message& m) const;
  std::vector<std::string> names() const;
  void again(const std::string& why, milliseconds least, std::function<void()> what);
  void take_update(const update& u, const taken& done);
  void take_message(const message& m, const taken& done);
  static std::string key_of(const incoming_message& s);
  void tell(incoming_message s, const std::string& answers, const taken& done);
  void take_button(const pressed& p, const taken& done);
  void answer_button(const std::string& query, const std::string& text);
  bool is_admitted(const std::string& chat, const std::string& user);

  telegram_settings settings_;
  self me_;
  std::int64_t offset_ = 0;              ///< of the next update; sending it confirms all earlier ones
  std::map<std::int64_t, update> batch_; ///< fetched
  update_lines lines_;                   ///< their order
  bool is_batch_open_ = false;
  bool is_quelld_ending_ = false; ///< it takes nothing more: the next process is brought what is refused
  boot_time polled_at_{};
  bool has_polled_ = false;
  unsigned failures_ = 0; ///< consecutive ones
  done_updates updates_;
  refused_deliveries refused_; ///< by the webhook: numbers of updates
};

} // namespace quell::integrations::chat::telegram
