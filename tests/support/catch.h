// Lets tests use Catch2 version 2 (Debian 12) or 3 (Ubuntu 24.04) under version 2's names.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {
inline auto Contains(const std::string& text)
{
    return Matchers::ContainsSubstring(text);
}
using Matchers::UnorderedEquals;
} // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
