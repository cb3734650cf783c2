#include "kernels/cpu/simd_target.h"

#include <algorithm>
#include <cctype>
#include <mutex>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_target.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "kernels/base/error.h"
#include "kernels/base/printable.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target

int64_t running_target()
{
    return HWY_TARGET;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
namespace {

HWY_EXPORT(running_target);

bool same_name(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

// The targets this CPU supports, also while one is pinned.
std::vector<int64_t> supported()
{
    static const std::vector<int64_t> targets = [] {
        // Unpins; pin_simd_target therefore calls supported() before it pins. Despite its name, this function is
        // Highway's way to run everything with one target.
        hwy::SetSupportedTargetsForTest(0);
        return hwy::SupportedAndGeneratedTargets(); // better targets have lower bits, and are listed first
    }();
    return targets;
}

} // namespace

std::vector<std::string> simd_targets()
{
    std::vector<std::string> names;
    for (const int64_t target : supported())
        names.emplace_back(hwy::TargetName(target));
    return names;
}

std::string simd_target()
{
    return hwy::TargetName(HWY_DYNAMIC_DISPATCH(running_target)());
}

void pin_simd_target(std::string_view name)
{
    const auto targets = supported();
    if (name.empty()) return hwy::SetSupportedTargetsForTest(0);
    for (const int64_t target : targets)
        if (same_name(name, hwy::TargetName(target))) return hwy::SetSupportedTargetsForTest(target);
    std::string list;
    for (const auto& known : simd_targets())
        list += (list.empty() ? "" : ", ") + known;
    throw Error(ErrorKind::Usage, ErrorCode::UnavailableSimdTarget, Text("SIMD target '{0}'", printable(name)),
                Text("this CPU and program have no such target"), Text("choose one of {0}", list));
}

namespace {

std::mutex uses_mutex;
int uses = 0;

} // namespace

SimdUse::SimdUse(std::string_view name)
{
    const std::lock_guard lock(uses_mutex);
    if (uses == 0)
        pin_simd_target(name);
    else if (!name.empty() && !same_name(name, simd_target()))
        throw Error(ErrorKind::Usage, ErrorCode::UnavailableSimdTarget, Text("SIMD target '{0}'", printable(name)),
                    Text("this process already computes with {0}", simd_target()),
                    Text("use that, or start another process"));
    ++uses;
}

SimdUse::~SimdUse()
{
    const std::lock_guard lock(uses_mutex);
    --uses;
}

} // namespace palimpsest::kernels
#endif
