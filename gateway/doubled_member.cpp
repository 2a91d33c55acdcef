// A pass over the JSON text that keeps the names of the objects that are open, and builds no value.
#include "gateway/doubled_member.hpp"

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/body.hpp"

namespace quell::controller::http {

namespace {

class member_names final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::optional<std::string> doubled;

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(container::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(container::array); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    auto& here = open_.back();
    here.name = name;
    if (here.names.insert(name).second) return true;
    doubled.emplace();
    for (const auto& level : open_)
      *doubled += "/" + (level.kind == container::object ? pointer_part(level.name) : std::to_string(level.index));
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  enum class container : std::uint8_t { object, array };
  struct level {
    container kind;
    std::set<std::string> names = {};
    std::string name = {}; ///< of an object: the member that is being read
    std::size_t index = 0; ///< of an array: the element that is being read
  };

  bool value() {
    if (!open_.empty()) ++open_.back().index;
    return true;
  }
  bool open(container kind) {
    open_.push_back({kind});
    return true;
  }
  bool close() {
    open_.pop_back();
    return value();
  }

  std::vector<level> open_;
};

} // namespace

std::optional<std::string> doubled_member(std::string_view text) {
  member_names names;
  nlohmann::json::sax_parse(text, &names);
  return std::move(names.doubled);
}

} // namespace quell::controller::http
