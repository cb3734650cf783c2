// Policies that thin neighbours, one removal at a time (policies.md, 4.8 to 4.10 and 4.17). Each takes out entries
// until the list holds at most `target`; `slots` is the m of that list.
#pragma once

#include "tests/support/reference_signals.h"

namespace palimpsest::tests {

void thin_treekv(const ReferenceSettings& settings, ReferenceList& list, int target, int slots, int& cursor);
void thin_treekv_log(const ReferenceSettings& settings, ReferenceList& list, int target, int slots);
void thin_treekv_block(const ReferenceSettings& settings, ReferenceList& list, int target, int& cursor);
void thin_lacache(const ReferenceSettings& settings, int layers, int layer, ReferenceList& list, int target,
                  int& cursor);

// The offsets of a tile that stay in a layer (4.10).
std::vector<int> kept_offsets_of(const ReferenceSettings& settings, int layers, int layer);

} // namespace palimpsest::tests
