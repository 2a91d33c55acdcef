// Places in the order of the configuration, and their numbers by scope.
#include "actors/turns/place_list.hpp"

namespace quell::controller::turns {

const std::vector<place_settings>& place_list::all() const {
  static const std::vector<place_settings> none;
  return listed_ ? listed_->all : none;
}

void place_list::push_back(place_settings one) {
  if (!listed_)
    listed_ = std::make_shared<listed>();
  else if (listed_.use_count() > 1) // a copy keeps what it has
    listed_ = std::make_shared<listed>(*listed_);
  listed_->by_scope.emplace(one.scope.text(), listed_->all.size());
  listed_->all.push_back(std::move(one));
}

const place_settings* place_list::find(std::string_view scope) const {
  if (!listed_) return nullptr;
  const auto at = listed_->by_scope.find(scope);
  return at == listed_->by_scope.end() ? nullptr : &listed_->all[at->second];
}

std::vector<const place_settings*> place_list::above(const scope_path& scope) const {
  std::vector<const place_settings*> found;
  if (!listed_) return found;
  const std::string_view text = scope.text();
  for (auto end = text.find('/');; end = text.find('/', end + 1)) {
    if (const auto* place = find(text.substr(0, end))) found.push_back(place);
    if (end == std::string_view::npos) return found;
  }
}

} // namespace quell::controller::turns
