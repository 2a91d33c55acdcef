// Datagrams between a worker and its guardian, both ways, and the packed parts of stored rows: only a broken disk or a
// broken partner spoils these bytes, and spoiled ones must be refused like any others.
#include "storage/pack_fields.hpp"
#include "tests/fuzz/samples.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/guardian/wire.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::worker;

void events(std::string_view bytes) {
  const auto read = decode_events(bytes);
  byte_writer out;
  for (const auto& e : read) put_event(out, e);
  const auto again = decode_events(out.bytes());
  expect(again.size() == read.size(), "events that were read can be written and read");
  byte_writer twice;
  for (const auto& e : again) put_event(twice, e);
  expect(twice.bytes() == out.bytes(), "events are written in one way");
}

void requests(std::string_view bytes) {
  byte_reader in(bytes);
  switch (in.take<worker::request_tag>()) {
  case worker::request_tag::spawn: {
    const auto header = take_spawn_header(in);
    (void)header.operation.text();
    (void)in.take_text();
    const auto count = in.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
      const auto word = in.take_text();
      expect(!in.ok() || word.data()[word.size()] == '\0' || word.size() <= bytes.size(),
             "a text lies within its datagram");
    }
    return;
  }
  case worker::request_tag::stop: {
    const auto order = take_stop(in);
    if (in.ok()) expect(encode_stop(order).size() <= bytes.size(), "a stop is as long as what it was read from");
    return;
  }
  case worker::request_tag::lease:
    (void)in.take<std::int64_t>();
    (void)in.take<std::int64_t>();
    return;
  case worker::request_tag::look:
    (void)in.take_id();
    return;
  }
}

void packed(std::string_view bytes) {
  try {
    storage::unpacker in(bytes);
    task_spec spec;
    storage::field_unpacker fields{in};
    inspect(fields, spec);
    if (!in.ok()) return;
    storage::packer out;
    storage::field_packer writer{out};
    inspect(writer, spec);
    const auto written = out.take();
    storage::unpacker back(written);
    task_spec again;
    storage::field_unpacker reader{back};
    inspect(reader, again);
    expect(back.ok() && again == spec, "what was unpacked can be packed and unpacked");
  } catch (const storage::corrupt_row&) {
    // refused, as it should be
  }
}

void run(std::string_view bytes) {
  events(bytes);
  requests(bytes);
  packed(bytes);
  if (const auto report = decode_report(bytes))
    expect(decode_report(encode_report(*report)).has_value(), "a report can be written and read");
  const auto number = signal_number(bytes);
  if (number != 0) expect(signal_number(signal_name(number)) == number, "a signal has one name");
}

std::vector<std::string> seeds() {
  const auto id = id_number<operation_id>(1);
  byte_writer all;
  put_event(all, task_held{id, 17});
  put_event(all, task_executing{id});
  put_event(all, task_exec_failed{id, 127, "no such file"});
  put_event(all, task_spawn_failed{id, "clone3: no space"});
  put_event(all, task_leader_exited{id, {3, std::nullopt}});
  put_event(all,
            task_ended_here{id, exit_state{std::nullopt, "KILL"}, task_ended_here::force::killed, proof::cgroup_empty});
  put_event(all,
            task_still_there{id, unproven_why::stuck_in_kernel, 2, {{17, "D", "dd"}, {18, "S", "sh"}}, boot_time{5}});
  byte_writer texts; // as `encode_spawn_texts` writes them: directory, arguments, variables
  texts.put_text("/");
  texts.put(std::uint32_t{2});
  texts.put_text("true");
  texts.put_text("x");
  texts.put(std::uint32_t{1});
  texts.put_text("A=b");
  task_spec spec;
  spec.command = {"make", "-j"};
  spec.env = {{"CI", "1"}};
  spec.lease = milliseconds{60'000};
  storage::packer out;
  storage::field_packer writer{out};
  inspect(writer, spec);
  return {all.bytes(),
          encode_report({containment::cgroup, {"a limit"}}),
          encode_launch_failure("no cgroup"),
          encode_spawn({id, true, false, 15, on_leader_exit::kill, 1000}, texts.bytes()),
          encode_stop({id, true, boot_time{5}, 7}),
          out.take(),
          "SIGTERM"};
}

const known_target known("guardian_wire", run, seeds);

} // namespace
} // namespace quell::fuzz
