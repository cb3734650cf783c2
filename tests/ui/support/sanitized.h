// Whether the program runs under a sanitizer, where a token costs some twenty times as much and no time means anything.
#pragma once

namespace palimpsest::ui::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// Of texts, budgets and answers: what a sanitizer leaves time for.
template<class Size>
constexpr Size sized(Size size)
{
    return is_sanitized ? size / 6 : size;
}

} // namespace palimpsest::ui::test
