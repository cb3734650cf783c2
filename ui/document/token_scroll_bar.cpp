#include "ui/document/token_scroll_bar.h"

#include <QSignalBlocker>
#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr int most_values = 1 << 30;

} // namespace

TokenScrollBar::TokenScrollBar(QWidget* parent) : QScrollBar(Qt::Vertical, parent)
{
    connect(this, &QScrollBar::valueChanged, this, &TokenScrollBar::move_to);
    connect(this, &QScrollBar::actionTriggered, this, &TokenScrollBar::take_action);
}

void TokenScrollBar::set_visible_range(StreamRange range, uint64_t place, uint64_t tokens)
{
    const QSignalBlocker quiet(this);
    tokens_ = tokens;
    const int page = std::max(1, value_of(range.last) - value_of(range.first));
    setRange(0, std::max(0, value_of(tokens) - page));
    setPageStep(page);
    if (!isSliderDown()) setValue(value_of(range.first < range.last ? range.first : place));
}

int TokenScrollBar::value_of(uint64_t token) const
{
    if (tokens_ <= most_values) return static_cast<int>(token);
    return static_cast<int>(static_cast<double>(token) / static_cast<double>(tokens_) * most_values);
}

void TokenScrollBar::move_to(int value)
{
    if (tokens_ == 0) return;
    const bool at_end = value == maximum() && value > 0;
    const auto token =
        tokens_ <= most_values
            ? static_cast<uint64_t>(value)
            : static_cast<uint64_t>(static_cast<double>(value) / most_values * static_cast<double>(tokens_));
    Q_EMIT token_wanted(at_end ? tokens_ - 1 : std::min(token, tokens_ - 1));
}

void TokenScrollBar::take_action(int action)
{
    const auto stay = [this] { setSliderPosition(value()); };
    switch (action) {
    case SliderSingleStepAdd:
        stay();
        Q_EMIT lines_wanted(1);
        return;
    case SliderSingleStepSub:
        stay();
        Q_EMIT lines_wanted(-1);
        return;
    case SliderPageStepAdd:
        stay();
        Q_EMIT pages_wanted(1);
        return;
    case SliderPageStepSub:
        stay();
        Q_EMIT pages_wanted(-1);
        return;
    default:
        return;
    }
}

} // namespace palimpsest::ui
