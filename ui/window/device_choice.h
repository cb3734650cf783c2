// Fills a combo box with the devices that a model can run on.
#pragma once

#include <QString>

class QComboBox;

namespace palimpsest::ui {

// Item data are values of --device. A chosen device that is not among the usual ones ("cuda:1") is added.
void fill_devices(QComboBox& box, const QString& chosen);

} // namespace palimpsest::ui
