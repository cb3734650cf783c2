// The retained-token map as a picture, by the painter of the window: what `inspect --map` writes.
#pragma once

#include <string>

#include "engine/cache/retention_export.h"

namespace palimpsest::app {

enum class PictureKind { Png, Svg };

bool has_map_painter(); // false in a build without the window
// The bytes of a file: a row per layer, or per head where the filter names something. No display is needed. Throws
// Error (Resources, PAL-MAP-01). REQUIRES: has_map_painter(), and the main thread.
std::string map_picture(const engine::RetentionMap& map, const engine::MapFilter& filter, const std::string& title,
                        PictureKind kind);

} // namespace palimpsest::app
