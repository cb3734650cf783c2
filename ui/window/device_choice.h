// Where a model may compute, as the choosers show it.
#pragma once

#include <QString>

class QComboBox;

namespace palimpsest::ui {

// Items carry what --device takes. A device that is chosen but not among the usual ones ("cuda:1") is added.
void fill_devices(QComboBox& box, const QString& chosen);

} // namespace palimpsest::ui
