// The fleet's state and its private functions, grouped by file: sessions (hello.cpp), frames (frames.cpp), time
// (watch.cpp), orders (orders.cpp), views (views.cpp), effects and shared helpers (fleet.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/fleet.hpp"
#include "controller/fleet/member.hpp"
#include "controller/fleet/placement.hpp"

namespace quell::controller {

class fleet_impl final : public fleet {
 public:
  fleet_impl(fleet_settings s, ledger& l, std::vector<records::worker_record> recovered, cluster_id cluster,
             std::uint64_t epoch, std::function<std::string(const operation_id&)> token_for, moment now);

  fleet_effects take() override;
  void frame(const std::string& route, const std::string& public_key, const wire::envelope& e, moment now,
             std::optional<boot_time> arrived) override;
  void unsupported_version(const std::string& route, const std::string& public_key, std::uint32_t version,
                           moment now) override;
  void enqueue(const requirement& need, const std::vector<operation_id>& ids) override;
  void send_stop(const stop_order& order, moment now) override;
  void slots_freed(const std::string& worker, std::uint32_t slots, moment now) override;
  void result_stored(const std::string& worker, const operation_id& id, moment now) override;
  bool place(moment now) override;
  void frame_withheld(const std::string& route, moment now) override;
  void frame_left(const std::string& route, std::uint64_t number, moment now) override;
  result<worker_view> enrol(const std::string& name, const std::string& public_key,
                            std::map<std::string, std::string> labels, moment now) override;
  result<worker_view> drain(const std::string& name, const std::string& reason, std::optional<milliseconds> deadline,
                            worker_tasks tasks, moment now, std::optional<records::person> by) override;
  result<worker_view> resume(const std::string& name, moment now) override;
  result<worker_view> remove(const std::string& name, worker_tasks tasks, moment now,
                             std::optional<records::person> by) override;
  result<void> resize(const operation_id& id, const std::string& worker, std::uint16_t rows, std::uint16_t columns,
                      moment now) override;
  void hand_over(moment now) override;
  void next_controller_key(const std::string& next, moment now) override;
  std::optional<boot_time> tick(moment now) override;
  std::optional<worker_view> worker(const std::string& name, moment now) const override;
  std::vector<worker_view> workers(moment now) const override;
  reachability reach(const std::string& worker) const override;
  bool knows(const std::string& worker) const override;
  std::optional<session_id> session_of_key(const std::string& public_key) const override;
  std::optional<std::string> name_of_key(const std::string& public_key) const override;
  std::optional<std::string> name_of_route(const std::string& route) const override;

 private:
  // ---- hello.cpp
  void greet(member& m, const std::string& route, const std::string& key, const wire::hello& h, moment now);
  std::optional<wire::refuse> reason_to_refuse(const wire::hello& h) const;
  std::optional<boot_time> held_until(const member& m, const wire::hello& h) const;
  void note_rival(member& m, const wire::hello& h, moment now);
  void repeat_welcome(member& m, const std::string& route, moment now);
  void begin_session(member& m, const std::string& route, const std::string& key, const wire::hello& h, moment now);
  void end_session(member& m);
  void break_session(member& m, const std::string& why, moment now);
  void refuse(const std::string& route, const session_id& about, wire::refuse answer);

  // ---- frames.cpp
  bool take_acknowledgement(member& m, std::uint64_t number, moment now);
  void unnumbered(member& m, const wire::envelope& e, moment now);
  void numbered(member& m, const wire::envelope& e, moment now);
  void beat(member& m, const wire::worker_heartbeat& b, moment now);
  bool report(member& m, const wire::message& body, moment now);
  void farewell(member& m, moment now);
  void send(member& m, wire::message body, moment now);
  void send_again(member& m, channel_sender::resend_cause why, moment now);
  wire::envelope envelope_for(member& m, std::uint64_t number, wire::message body);

  // ---- keys.cpp
  std::string reason_against_key(member& m, const std::string& key, moment now);
  void offered(member& m, const std::string& key, moment now);
  void used_key(member& m, const std::string& key, moment now);
  void stored_key(member& m, const std::string& key, moment now);
  void tell_key(member& m, moment now);

  // ---- watch.cpp
  void on_frame(member& m, moment now);
  void became_silent(member& m, moment now);
  void expire(member& m, moment now);
  bool tidy_leaving(moment now);
  std::optional<boot_time> next_wake(const member& m) const;

  // ---- fleet.cpp
  member* find(const std::string& name);
  const member* find(const std::string& name) const;
  void touch(member& m);
  void refresh_load(member& m);
  void put(const member& m);
  void changed(const member& m);
  void announce(event_type type, const member& m, moment now);
  void publish_keys();
  void drop(member& m, moment now);
  worker_view view(const member& m, moment now) const;
  void flush_stored(member& m);
  void flush_acknowledgement(member& m);

  fleet_settings settings_;
  ledger& ledger_;
  cluster_id cluster_;
  std::uint64_t epoch_;
  std::function<std::string(const operation_id&)> token_for_;
  roster members_;
  std::unordered_map<std::string, member*> by_key_;
  std::unordered_map<std::string, member*> by_route_; ///< of live sessions
  placement placement_{members_, ledger_};
  fleet_effects effects_;
  std::vector<member*> touched_; ///< with something to flush at the end of the transaction
  /// The moment from which boot instants are converted for display: the same for all answers, so that one instant is
  /// always shown alike; replaced when the wall clock has drifted from it.
  mutable moment shown_from_{};
  wall_time shown(boot_time at, moment now) const;
  /// Stops the work of a worker that is drained, with the reason and author of its drain.
  void stop_drained(member& m, moment now);
  moment now_{};        ///< of the last call
  boot_time arrived_{}; ///< of the frame being read
  bool reported_departures_ = false;
  std::string controller_key_; ///< the controller's next key; "" = none
  bool handing_over_ = false;  ///< no grant, hello or start is given any more
};

} // namespace quell::controller
