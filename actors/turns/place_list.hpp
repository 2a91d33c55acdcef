// The configured places, found by the scopes below them: a look-up costs one probe for each segment of the scope,
// however many places there are. Copies share the list.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "actors/turns/place_settings.hpp"

namespace quell::controller::turns {

class place_list {
 public:
  place_list() = default;
  place_list(std::initializer_list<place_settings> all) {
    for (const auto& one : all) push_back(one);
  }

  /// Each scope at most once; of a second one with the same scope only the first is found.
  void push_back(place_settings one);

  std::size_t size() const { return all().size(); }
  bool empty() const { return all().empty(); }
  const place_settings& operator[](std::size_t i) const { return all()[i]; }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }

  /// The place with this very scope; nullptr if there is none.
  const place_settings* find(std::string_view scope) const;
  /// The places at or above `scope`, from the widest to the narrowest.
  std::vector<const place_settings*> above(const scope_path& scope) const;

  friend bool operator==(const place_list& a, const place_list& b) { return a.all() == b.all(); }

 private:
  struct listed {
    std::vector<place_settings> all;
    std::map<std::string, std::size_t, std::less<>> by_scope;
  };
  const std::vector<place_settings>& all() const;

  std::shared_ptr<listed> listed_; ///< nullptr: there are none
};

} // namespace quell::controller::turns
