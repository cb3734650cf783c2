// The colours of a kept share: a path through OKLab (Ottosson 2020) walked at equal perceptual steps, lightness
// always in one direction, hue from yellow to blue, which red-green blind readers tell apart.
#pragma once

#include <QColor>
#include <array>
#include <cstdint>

namespace palimpsest::ui {

class RetentionColors {
public:
    static constexpr int levels = 256;

    static const RetentionColors& of(bool dark); // one of two, made on first use

    // 0 only for nothing kept; 1 to 255 by the cube root of the share, so that one token in ten thousand differs
    // from one in a hundred as much as that from half.
    static int level(uint64_t kept, uint64_t pairs);
    static double position(double share); // of the cube root, 0 to 1: where the share stands in a legend

    QRgb at(int level) const { return colors_[static_cast<size_t>(level)]; }
    QColor of_share(double share) const;      // 0 to 1
    QColor unread() const { return unread_; } // ground of the hatching of what was not read yet
    QColor hatching() const { return hatching_; }

private:
    explicit RetentionColors(bool dark);

    std::array<QRgb, levels> colors_{};
    QColor unread_, hatching_;
};

} // namespace palimpsest::ui
