// The retained-token map as the Unicode picture of a terminal.
#pragma once

#include <string>

#include "engine/cache/retention_export.h"

namespace palimpsest::app {

// One row per layer, highest first (one per head where the filter names a layer), `columns` cells; a cell's block
// is as high as the share of its tokens that is kept, on average over the row's heads.
std::string unicode_picture(const engine::RetentionMap& map, const engine::MapFilter& filter, int32_t columns);

} // namespace palimpsest::app
