// Fills a combo box with the devices that a model can run on.
#pragma once

#include <QString>

class QComboBox;

namespace palimpsest::ui {

// The data of each item is a value of --device. Adds `chosen` if it is none of the usual devices, such as "cuda:1".
void fill_devices(QComboBox& box, const QString& chosen);

} // namespace palimpsest::ui
