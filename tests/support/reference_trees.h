// Tile eviction, one removal at a time (docs/policies-spec.md: treekv, treekv-block, lacache, treekv-log). Each
// function removes entries until the list has at most `target`; `slots` is the list's m.
#pragma once

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

void thin_treekv(const ReferenceSettings& settings, ReferenceList& list, int target, int slots, int& cursor);
void thin_treekv_log(const ReferenceSettings& settings, ReferenceList& list, int target, int slots);
void thin_treekv_block(const ReferenceSettings& settings, ReferenceList& list, int target, int& cursor);
void thin_lacache(const ReferenceSettings& settings, int layers, int layer, ReferenceList& list, int target,
                  int& cursor);

// The offsets of the entries that a layer keeps of each eviction tile (docs/policies-spec.md, lacache).
std::vector<int> kept_offsets_of(const ReferenceSettings& settings, int layers, int layer);

} // namespace palimpsest::tests
