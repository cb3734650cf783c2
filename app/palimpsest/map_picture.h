// Renders the retained-token map as a picture with the window's painter, for `inspect --map`.
#pragma once

#include <string>

#include "engine/cache/retention_export.h"

namespace palimpsest::app {

enum class PictureKind { Png, Svg };

bool has_map_painter(); // false in a build without the window
// Returns the contents of a PNG or SVG file: one row per layer, or one per head if the filter is set. Needs no
// display. Throws Error (Resources, PAL-MAP-01). REQUIRES: has_map_painter(), and the main thread.
std::string map_picture(const engine::RetentionMap& map, const engine::MapFilter& filter, const std::string& title,
                        PictureKind kind);

} // namespace palimpsest::app
