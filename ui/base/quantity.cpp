#include "ui/base/quantity.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <cmath>

namespace palimpsest::ui {
namespace {

class Quantity {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::Quantity)
};

QString two_parts(int64_t whole, int64_t part, const QString& unit)
{
    return QStringLiteral("%1:%2 %3").arg(whole).arg(part, 2, 10, QLatin1Char('0')).arg(unit);
}

} // namespace

QString bytes_text(uint64_t bytes)
{
    auto leading = static_cast<double>(bytes);
    while (leading >= 1000)
        leading /= 1000;
    const int digits = bytes < 1000 || leading >= 100 ? 0 : 1;
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), digits, QLocale::DataSizeSIFormat);
}

QString count_text(uint64_t number)
{
    return QLocale().toString(static_cast<qulonglong>(number));
}

QString number_text(double number, int digits)
{
    return std::isfinite(number) ? QLocale().toString(number, 'f', digits) : QStringLiteral("–");
}

QString share_text(double share)
{
    const double percent = 100 * share;
    return Quantity::tr("%1 %").arg(number_text(percent, percent > 0 && percent < 10 ? 1 : 0));
}

QString speed_text(double per_second)
{
    return Quantity::tr("%1 tok/s").arg(number_text(per_second, per_second < 10 ? 1 : 0));
}

QString duration_text(double seconds)
{
    const auto s = static_cast<int64_t>(std::llround(std::clamp(seconds, 0.0, 1e9)));
    if (s < 60) return Quantity::tr("%1 s").arg(s);
    if (s < 3600) return two_parts(s / 60, s % 60, Quantity::tr("min"));
    return two_parts(s / 3600, s / 60 % 60, Quantity::tr("h"));
}

} // namespace palimpsest::ui
