// Texts and target areas of the tour that is shown on the first start.
#pragma once

#include <functional>
#include <vector>

#include "ui/window/tour.h"

namespace palimpsest::ui {

struct TourAreas {
    TourArea library, chat, document, map, memory, policy;
    bool has_sample = false;
    std::function<void()> read_sample;
    std::function<void(const QString& question)> ask;
};

std::vector<TourStep> sample_tour(const TourAreas& areas);

} // namespace palimpsest::ui
