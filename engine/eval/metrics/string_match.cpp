#include "engine/eval/metrics/string_match.h"

#include <algorithm>
#include <cassert>

#include "engine/eval/metrics/lower_case.h"

namespace palimpsest::engine {

double string_match_all(std::string_view said, std::span<const std::string> right)
{
    assert(!right.empty());
    const std::string text = lower_case(said);
    const auto found = std::ranges::count_if(
        right, [&](const std::string& answer) { return text.find(lower_case(answer)) != text.npos; });
    return static_cast<double>(found) / static_cast<double>(right.size());
}

} // namespace palimpsest::engine
