// Says which sanitizer the program is built with: GCC defines a macro, Clang has a feature.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PALIMPSEST_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define PALIMPSEST_THREAD_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define PALIMPSEST_ADDRESS_SANITIZER
#endif
#ifdef __SANITIZE_THREAD__
#define PALIMPSEST_THREAD_SANITIZER
#endif

namespace palimpsest {

// Under a sanitizer a program takes several times as long and as much memory, reserves terabytes of addresses, and
// reports to standard error.
#if defined(PALIMPSEST_ADDRESS_SANITIZER) || defined(PALIMPSEST_THREAD_SANITIZER)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

} // namespace palimpsest
