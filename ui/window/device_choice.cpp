#include "ui/window/device_choice.h"

#include <QComboBox>
#include <QCoreApplication>

namespace palimpsest::ui {
namespace {

struct DeviceWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::DeviceChoice)
};

} // namespace

void fill_devices(QComboBox& box, const QString& chosen)
{
    box.addItem(DeviceWords::tr("Best device"), QStringLiteral("auto"));
    box.addItem(DeviceWords::tr("Processor"), QStringLiteral("cpu"));
    box.addItem(DeviceWords::tr("Graphics card"), QStringLiteral("cuda"));
    if (box.findData(chosen) < 0) box.addItem(chosen, chosen);
    box.setCurrentIndex(box.findData(chosen));
}

} // namespace palimpsest::ui
