#include "ui/map/colors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace palimpsest::ui {
namespace {

struct Lab {
    double l = 0, a = 0, b = 0;
};

// `hue`: in degrees.
Lab from_polar(double l, double chroma, double hue)
{
    const double angle = hue * std::numbers::pi / 180;
    return {l, chroma * std::cos(angle), chroma * std::sin(angle)};
}

double gamma(double linear)
{
    const double x = std::clamp(linear, 0.0, 1.0);
    return x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
}

// OKLab to sRGB with the matrices of its definition.
QRgb to_rgb(const Lab& c)
{
    const double l = std::pow(c.l + 0.3963377774 * c.a + 0.2158037573 * c.b, 3);
    const double m = std::pow(c.l - 0.1055613458 * c.a - 0.0638541728 * c.b, 3);
    const double s = std::pow(c.l - 0.0894841775 * c.a - 1.2914855480 * c.b, 3);
    const auto byte = [](double linear) { return static_cast<int>(std::lround(255 * gamma(linear))); };
    return qRgb(byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s));
}

// Quadratic Bézier curve from `little` to `all` with control point `between`.
struct Path {
    Lab little, between, all;

    Lab at(double t) const
    {
        const auto mix = [t](double x, double y, double z) {
            return (1 - t) * (1 - t) * x + 2 * t * (1 - t) * y + t * t * z;
        };
        return {mix(little.l, between.l, all.l), mix(little.a, between.a, all.a), mix(little.b, between.b, all.b)};
    }
};

double distance(const Lab& x, const Lab& y)
{
    return std::hypot(x.l - y.l, x.a - y.a, x.b - y.b);
}

// Samples `count` points at equal distances along the curve.
template<typename Take>
void walk(const Path& path, int count, const Take& take)
{
    constexpr int steps = 8192;
    double whole = 0;
    for (int i = 0; i < steps; ++i)
        whole += distance(path.at(double(i) / steps), path.at(double(i + 1) / steps));
    double gone = 0;
    int taken = 0;
    for (int i = 0; i <= steps && taken < count; ++i) {
        if (i > 0) gone += distance(path.at(double(i - 1) / steps), path.at(double(i) / steps));
        if (i == steps || gone >= whole * taken / (count - 1)) take(taken++, path.at(double(i) / steps));
    }
}

const Path light = {from_polar(0.875, 0.105, 112), from_polar(0.62, 0.13, 185), from_polar(0.30, 0.13, 272)};
const Path dark = {from_polar(0.37, 0.11, 278), from_polar(0.64, 0.13, 205), from_polar(0.955, 0.10, 105)};

} // namespace

RetentionColors::RetentionColors(bool is_dark)
{
    walk(is_dark ? dark : light, levels - 1,
         [&](int i, const Lab& c) { colors_[static_cast<size_t>(i) + 1] = to_rgb(c); });
    colors_[0] = to_rgb(is_dark ? Lab{0.20} : Lab{0.985});
    unread_ = to_rgb(is_dark ? Lab{0.27} : Lab{0.925});
    hatching_ = to_rgb(is_dark ? Lab{0.45} : Lab{0.76});
}

const RetentionColors& RetentionColors::of(bool is_dark)
{
    static const RetentionColors on_light(false), on_dark(true);
    return is_dark ? on_dark : on_light;
}

double RetentionColors::position(double share)
{
    return std::cbrt(std::clamp(share, 0.0, 1.0));
}

int RetentionColors::level(uint64_t kept, uint64_t pairs)
{
    if (kept == 0 || pairs == 0) return 0;
    const double share = static_cast<double>(kept) / static_cast<double>(pairs);
    return 1 + static_cast<int>(std::lround(position(share) * (levels - 2)));
}

QColor RetentionColors::of_share(double share) const
{
    if (share <= 0) return QColor::fromRgb(colors_[0]);
    return QColor::fromRgb(at(1 + static_cast<int>(std::lround(position(share) * (levels - 2)))));
}

} // namespace palimpsest::ui
