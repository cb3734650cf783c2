// Makes a table of the places where the program stores data: purpose, size and path.
#pragma once

#include <vector>

#include "ui/window/stored_places.h"

class QTableWidget;
class QWidget;

namespace palimpsest::ui {

QTableWidget* make_places_table(const std::vector<StoredPlace>& places, QWidget* parent);

} // namespace palimpsest::ui
