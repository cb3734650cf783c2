#include "engine/eval/metrics/class_match.h"

#include <algorithm>

namespace palimpsest::engine {

double class_match(std::string_view said, std::string_view right, const std::vector<std::string>& classes)
{
    std::vector<std::string_view> named;
    for (const std::string& name : classes)
        if (said.find(name) != said.npos) named.emplace_back(name);
    for (size_t i = 0; i < named.size(); ++i) // the next one is skipped after an erased one
        if (right.find(named[i]) != right.npos && named[i] != right)
            named.erase(std::ranges::find(named, named[i]));
    const bool is_right = std::ranges::find(named, right) != named.end();
    return is_right ? 1 / static_cast<double>(named.size()) : 0;
}

} // namespace palimpsest::engine
