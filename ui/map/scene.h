// The content of a picture of the map: the map, the visible rows and tokens, and the marks on it. A value type.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cache/retention_map.h"
#include "ui/document/text_outline.h"
#include "ui/engine/session_facts.h"
#include "ui/map/rows.h"
#include "ui/map/visible_range.h"

namespace palimpsest::ui {

// Beginning of a document, or of a chapter or page in it, as a stream index.
struct MapSection {
    uint64_t first = 0;
    QString title; // one line, without control characters
};

struct MapMarks {
    std::vector<MapSection> sections;             // ascending by `first`
    std::vector<StreamRange> pins;                // pinned ranges of the user
    std::vector<StreamRange> highlights;          // sources of an answer
    std::shared_ptr<const TextOutline> outline{}; // of the text; null: none is known
};
// The sections and pins of an open session; no highlights.
MapMarks marks_of(const SessionFacts& facts);
// The section that contains the token; null if the token precedes the first section.
const MapSection* section_at(const std::vector<MapSection>& sections, uint64_t token);

struct MapScene {
    std::shared_ptr<const engine::RetentionMap> map; // null: no session is open
    MapRows rows;
    VisibleRange window;
    QString title; // empty: no title is drawn
    bool has_legend = true;
    bool has_handles = false; // expand/collapse handles at the layers; only on screen
    MapMarks marks;
    std::optional<StreamRange> selection;

    // Shows the whole stream with one row per layer. `length`: expected tokens of the stream, or 0 if unknown; at
    // least the tokens seen are shown.
    static MapScene of(std::shared_ptr<const engine::RetentionMap> map, uint64_t length = 0);
};

} // namespace palimpsest::ui
