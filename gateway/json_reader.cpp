// Builds the value as nlohmann's own parser does, and knows the path of what is being read.
#include "gateway/json_reader.hpp"

#include <utility>
#include <vector>

#include "gateway/body.hpp"

namespace quell::controller::http {

namespace {

using nlohmann::json;

/// The receiver of tokens: nlohmann calls it "SAX".
class json_builder {
 public:
  read_json made;
  std::optional<not_json> error;

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t&) { return false; } // not in texts
  bool start_object(std::size_t) { return open(json::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    auto& here = open_.back();
    const auto [member, is_new] = here.value->get_ref<json::object_t&>().try_emplace(std::move(name));
    here.member = member;
    if (!is_new && !made.doubled) made.doubled = pointer();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::parse_error& why) {
    error = not_json{why.byte, why.what()};
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& why) {
    error = not_json{std::nullopt, why.what()};
    return false;
  }

 private:
  struct level {
    json* value;
    json::object_t::iterator member = {}; ///< of an object: the one that is being read
  };

  json* place(json value) {
    if (open_.empty()) return &(made.value = std::move(value));
    const auto& here = open_.back();
    if (here.value->is_array()) return &here.value->get_ref<json::array_t&>().emplace_back(std::move(value));
    return &(here.member->second = std::move(value));
  }
  bool put(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    open_.push_back({place(std::move(value))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  /// Of the member that is being read. An array has no more elements than were begun.
  std::string pointer() const {
    std::string path;
    for (const auto& [value, member] : open_)
      path += "/" + (value->is_object() ? pointer_part(member->first) : std::to_string(value->size() - 1));
    return path;
  }

  std::vector<level> open_;
};

} // namespace

tl::expected<read_json, not_json> read_json_text(std::string_view text) {
  json_builder builder;
  json::sax_parse(text, &builder);
  if (builder.error) return tl::unexpected(std::move(*builder.error));
  return std::move(builder.made);
}

} // namespace quell::controller::http
