// Divides long sweeps among processes: PALIMPSEST_SWEEP_PART=k/n takes the k-th of every n positions, k from 1 to
// n; unset, all of them are taken (docs/validation.md).
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace palimpsest::tests {

struct SweepPart {
    size_t number = 1, count = 1;

    bool is_all() const { return count == 1; }
    bool has(size_t position) const { return position % count == number - 1; }
};

// Throws std::invalid_argument if the variable has another form.
inline SweepPart sweep_part()
{
    const char* given = std::getenv("PALIMPSEST_SWEEP_PART");
    if (!given) return {};
    SweepPart part;
    const std::string_view text = given;
    const char* end = text.data() + text.size();
    const auto [slash, number_error] = std::from_chars(text.data(), end, part.number);
    const bool has_slash = number_error == std::errc() && slash != end && *slash == '/';
    const auto [rest, count_error] = std::from_chars(has_slash ? slash + 1 : end, end, part.count);
    if (!has_slash || count_error != std::errc() || rest != end || part.number < 1 || part.number > part.count)
        throw std::invalid_argument("PALIMPSEST_SWEEP_PART must be k/n with 1 <= k <= n");
    return part;
}

} // namespace palimpsest::tests
