// What a picture of the map shows: the map, which rows and tokens of it, and what is marked on it. A value.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cache/retention_map.h"
#include "ui/engine/session_facts.h"
#include "ui/map/rows.h"
#include "ui/map/window.h"

namespace palimpsest::ui {

// A chapter or page of a document, or the document itself, where it begins in the stream.
struct MapSection {
    uint64_t first = 0;
    QString title; // on one line, without control characters
};

struct MapMarks {
    std::vector<MapSection> sections;    // ascending
    std::vector<StreamRange> pins;       // the user's
    std::vector<StreamRange> highlights; // what an answer rests on
};
// The sections and pins of an open session; no highlights.
MapMarks marks_of(const SessionFacts& facts);
// The section that holds the token; null before the first.
const MapSection* section_at(const std::vector<MapSection>& sections, uint64_t token);

struct MapScene {
    std::shared_ptr<const engine::RetentionMap> map; // null: nothing is open
    MapRows rows;
    MapWindow window;
    QString title; // empty: none is drawn
    bool has_legend = true;
    bool has_handles = false; // beside layers that can be expanded, on the screen
    MapMarks marks;
    std::optional<StreamRange> selection;

    // Whole stream and one row per layer. `length`: tokens of the stream when all is read, at least those seen.
    static MapScene of(std::shared_ptr<const engine::RetentionMap> map, uint64_t length = 0);
};

} // namespace palimpsest::ui
