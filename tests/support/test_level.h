// How thorough the tests are: PALIMPSEST_TEST_LEVEL is ci, full, or neither.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace palimpsest::tests {

enum class TestLevel {
    Ci,    // for runs under sanitizers, which are ten to twenty times slower
    Usual, // what a developer runs
    Full,  // before a release
};

inline TestLevel test_level()
{
    const char* given = std::getenv("PALIMPSEST_TEST_LEVEL");
    const std::string_view level = given ? given : "";
    return level == "ci" ? TestLevel::Ci : level == "full" ? TestLevel::Full : TestLevel::Usual;
}

inline bool at_ci_level()
{
    return test_level() == TestLevel::Ci;
}

inline bool at_full_level()
{
    return test_level() == TestLevel::Full;
}

// Whether the case with this index runs: every case, but only one in `one_in` at the CI level.
inline bool runs_here(size_t index, size_t one_in)
{
    return !at_ci_level() || index % one_in == 0;
}

} // namespace palimpsest::tests
