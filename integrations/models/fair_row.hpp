// Chooses the next in a row that many scopes share: the places of each scope wait in their order, the scopes of a group
// take turns, and so do the groups. Pure.
//
// The group of a scope is its first two segments (a guild, a workspace, a network). All groups of a tenant together are
// one line of the row, in which they take turns: a tenant names as many of them as he likes. One that comes anew is
// next, however many of others wait; one that has had a turn comes behind those that have not. So a flood delays only
// itself.
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace quell::integrations {

class fair_row {
  struct line;

 public:
  using entry = void*; ///< the caller's, told by its address

  /// Where an entry waits; valid until it has left.
  class seat {
   public:
    seat() = default;

   private:
    friend class fair_row;
    line* of_ = nullptr;
    std::list<entry>::iterator at_{};
  };

  fair_row();
  ~fair_row();
  fair_row(const fair_row&) = delete;
  fair_row& operator=(const fair_row&) = delete;

  /// `tenant`: "" = none.
  seat enter(entry who, std::string_view scope, std::string_view tenant = {});
  /// The next one; nullptr if nobody waits.
  entry front() const;
  /// The next one has had its turn.
  void pop_front();
  /// One leaves without a turn.
  void leave(const seat& from);
  /// How many come before this one if nobody else comes.
  std::size_t ahead_of(const seat& one) const;
  std::size_t size() const;
  /// Scopes, groups and tenants that are remembered, those that wait and those that had a turn lately.
  std::size_t remembered() const;

 private:
  std::unique_ptr<line> all_;
};

} // namespace quell::integrations
