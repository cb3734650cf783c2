// Says whether the program is built with a sanitizer. Then a token takes some twenty times as long, and times mean
// nothing.
#pragma once

namespace palimpsest::ui::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// Reduces the size of a text, budget or answer under a sanitizer.
template<class Size>
constexpr Size sized(Size size)
{
    return is_sanitized ? size / 6 : size;
}

} // namespace palimpsest::ui::test
