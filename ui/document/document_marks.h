// The ranges of a text that are marked when it is shown.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

struct Highlight {
    StreamRange range;
    double weight = 0; // share of the answer's attention
    QString label;     // shown in the tooltip
};

struct DocumentMarks {
    std::vector<StreamRange> pins;
    std::vector<Highlight> highlights;
    std::vector<StreamRange> matches; // ascending
    std::optional<StreamRange> current_match;
};

} // namespace palimpsest::ui
