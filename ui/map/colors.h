// Colour scale of the kept share: a path through OKLab (Ottosson 2020) sampled at equal perceptual steps. Lightness
// is monotonic and the hue goes from yellow to blue, which readers with red-green blindness can tell apart.
#pragma once

#include <QColor>
#include <array>
#include <cstdint>

namespace palimpsest::ui {

class RetentionColors {
public:
    static constexpr int levels = 256;

    static const RetentionColors& of(bool is_dark); // the light or the dark scale, created on first use

    // 0 only if nothing is kept, otherwise 1 to 255 by the cube root of the share, so that small shares can be told
    // apart.
    static int level(uint64_t kept, uint64_t pairs);
    static double position(double share); // cube root of the share, 0 to 1: its position on the legend

    QRgb at(int level) const { return colors_[static_cast<size_t>(level)]; }
    QColor of_share(double share) const;      // share: 0 to 1
    QColor unread() const { return unread_; } // background of the hatching of unread tokens
    QColor hatching() const { return hatching_; }

private:
    explicit RetentionColors(bool is_dark);

    std::array<QRgb, levels> colors_{};
    QColor unread_, hatching_;
};

} // namespace palimpsest::ui
