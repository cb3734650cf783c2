#include "engine/eval/metrics/edit_similarity.h"

#include <algorithm>
#include <cmath>

#include "engine/eval/metrics/common_subsequence.h"
#include "engine/text/jinja/code_points.h"

namespace palimpsest::engine {
namespace {

std::string_view first_line_of_code(std::string_view text)
{
    text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        if (line.find_first_of("`#") == line.npos && line.find("//") == line.npos) return line;
        begin = end + 1;
    }
    return {};
}

} // namespace

double edit_similarity(std::string_view said, std::string_view right)
{
    const std::string_view line = first_line_of_code(said);
    if (line == right) return 1;
    if (line.empty() || right.empty()) return 0;
    const std::u32string a = jinja::code_points(line), b = jinja::code_points(right);
    const double lengths = static_cast<double>(a.size() + b.size());
    const double different = lengths - 2 * static_cast<double>(common_length(a, b));
    return std::nearbyint(100 * (1 - different / lengths)) / 100; // of two as near, the even one
}

} // namespace palimpsest::engine
