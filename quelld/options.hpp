// The configuration in the form that the ledger and the gateway take.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "actors/turns/cancel_words.hpp"
#include "actors/turns/current.hpp"
#include "actors/turns/place_settings.hpp"
#include "actors/turns/settings.hpp"
#include "controller/ledger.hpp"
#include "gateway/head_check.hpp"
#include "gateway/server.hpp"
#include "protocol/clock_now.hpp"
#include "quelld/bulk/blob_files.hpp"
#include "quelld/bulk/output_files.hpp"
#include "quelld/config.hpp"
#include "quelld/kept_byte_quota.hpp"
#include "storage/queries.hpp"

namespace quell::controller {

inline void set_options(ledger_settings& of, const config& from) {
  of.default_grace = from.defaults_grace;
  of.min_containment = from.defaults_min_containment;
  of.tombstone_keep = from.defaults_tombstones;
  of.max_live_operations = from.limits_operations;
  of.max_live_per_token = from.limits_operations_per_token;
  of.max_live_per_author = from.limits_operations_per_author;
  of.max_live_per_scope = from.limits_operations_per_scope;
  of.max_turns_per_token = from.limits_turns_per_token;
  of.max_turns_per_author = from.limits_turns_per_author;
  of.max_slots_per_guild = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(from.limits_slots_per_guild, std::numeric_limits<std::uint32_t>::max()));
  of.max_turns_per_scope = from.limits_turns_per_scope;
}

/// The words that stop something in any place.
inline chat::cancel_words words_of_all_places(const turns::chat_options& chat) {
  auto all = chat.words;
  auto bot_names = chat.bot_names;
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  for (const auto& place : chat.places) {
    append(all.words, place.words.words);
    append(all.lead_ins, place.words.lead_ins);
    append(all.followers, place.words.followers);
    append(bot_names, place.bot_names);
  }
  return chat::cancel_words(all, bot_names);
}

/// The built-in and the configured words and names; a reload replaces them.
struct reloaded_words {
  explicit reloaded_words(const turns::chat_options& chat)
      : by_place(turns::words_by_place(chat)), everywhere(words_of_all_places(chat)) {}
  turns::current<turns::words_by_place> by_place;
  turns::current<chat::cancel_words> everywhere;

  void reload(const turns::chat_options& chat) {
    by_place.set(turns::words_by_place(chat));
    everywhere.set(words_of_all_places(chat));
  }
};

/// Whether a text stops something in a place. Any thread.
inline std::function<bool(const scope_path& place, std::string_view text, const std::vector<std::string>& names)>
stops_in_a_place(std::shared_ptr<const reloaded_words> words) {
  return [words = std::move(words)](const scope_path& place, std::string_view text,
                                    const std::vector<std::string>& names) {
    const auto now = words->by_place.get();
    return now->of(place).find(text, names).has_value();
  };
}

/// The same without the place, for connectors: whether a text stops something in any of them.
inline std::function<bool(std::string_view text, const std::vector<std::string>& names)>
stops_somewhere(std::shared_ptr<const reloaded_words> words) {
  return [words = std::move(words)](std::string_view text, const std::vector<std::string>& names) {
    const auto now = words->everywhere.get();
    return now->find(text, names).has_value();
  };
}

/// Opens readers of the store in the state directory.
inline open_limited_store open_store_of(const config& c) {
  return [directory = c.store_dir] { return storage::open_limited_reader(directory); };
}

inline output_files::options output_options_of(const config& from, const char* folder) {
  output_files::options of;
  of.directory = from.store_dir + "/" + folder;
  of.keep_bytes_per_stream = from.store_keep_output_bytes;
  of.segment_bytes = std::clamp<std::uint64_t>(from.store_keep_output_bytes / 8, 64 << 10, 8 << 20);
  return of;
}

inline result<std::unique_ptr<blob_files>> open_blobs(const config& from) {
  blob_files::options of;
  of.directory = from.store_dir + "/blobs";
  of.most_bytes = from.limits_blob_bytes;
  of.bytes_per_holder = from.limits_blob_bytes_per_token;
  of.bytes_per_scope = from.limits_blob_bytes_per_scope;
  of.bytes_in_all = from.limits_blob_bytes_in_all;
  of.keep = from.store_keep_blobs;
  of.reserve_bytes = from.store_reserve_bytes;
  of.now = [] { return clock_now().wall; };
  return blob_files::open(std::move(of));
}

inline kept_byte_quota::options byte_options_of(const config& from) {
  kept_byte_quota::options of;
  of.file = from.store_dir + "/bytes.json";
  of.limits = {static_cast<double>(from.limits_bytes_per_day),
               static_cast<double>(from.limits_bytes_per_day_per_author),
               static_cast<double>(from.limits_bytes_per_day_per_scope)};
  of.boot_id = boot_id_of_machine();
  of.now = clock_now;
  return of;
}

inline void set_options(gateway_options& of, const config& from) {
  of.listen = from.http_listen;
  of.unix_path = from.store_dir + "/http.sock";
  of.state_directory = from.store_dir;
  of.store_reserve_bytes = from.store_reserve_bytes;
  of.open_store = open_store_of(from);
  of.cors_origins = cors_origins(from);
  of.push_origins = push_origins(from);
  of.tls_cert = from.http_tls_cert;
  of.tls_key = from.http_tls_key;
  of.insecure = from.http_insecure;
  of.metrics_public = from.http_metrics_public;
  of.worker_lease = from.workers_lease;
  of.default_scope = scope_path::parse(from.defaults_scope).value_or(scope_path{});
  of.default_timeout = from.defaults_timeout;
  of.max_connections = from.limits_connections;
  of.requests_per_second = static_cast<double>(from.limits_requests_per_second);
  of.streams_per_token = from.limits_streams_per_token;
  of.max_blob_bytes = from.limits_blob_bytes;
  for (const auto& name : own_hosts(from)) of.hosts.push_back(http::host_name(name));
}

} // namespace quell::controller
