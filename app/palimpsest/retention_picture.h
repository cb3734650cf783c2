// Renders the retained-token map with Unicode blocks, for a terminal.
#pragma once

#include <string>

#include "app/palimpsest/wording.h"
#include "engine/cache/retention_export.h"

namespace palimpsest::app {

// One row per layer, highest first, or one per head if the filter is set, in at most `columns` columns. The height
// of a block is the share of kept tokens, averaged over the row's heads.
std::string unicode_picture(const engine::RetentionMap& map, const engine::MapFilter& filter, int32_t columns,
                            const CommandWording& wording = CommandWording());

} // namespace palimpsest::app
