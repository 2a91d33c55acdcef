// Turns the filters of the public lists into searches.
#pragma once

#include "protocol/fault.hpp"
#include "storage/queries.hpp"
#include "storage/search.hpp"

namespace quell::storage {

/// `covering`: the cancel of `covered_by`, if that is set and known. Fault `bad_request` for a filter with too many
/// values.
result<search> search_for(const operation_filter& f, const std::optional<cancel_record>& covering);
result<search> search_for(const cancel_filter& f);
result<search> search_for(const event_filter& f);
search search_for(const message_filter& f);

/// True for the row of `id_column` that is `ancestor` or below it, detached edges included.
fragment is_under(const std::string& id_column, const operation_id& ancestor);

/// True if the cancel in table `cancel` covered the operation whose id `operation_id_sql` yields: the operation was
/// live when the cancel came, and the way up from it, over edges that are not detached and operations that were live
/// then, too, meets one that the target names and whose as_of is not above the cutoff.
std::string covers(const std::string& operation_id_sql);

} // namespace quell::storage
