// Sizes of texts, budgets and answers under a sanitizer, where a token takes some twenty times as long.
#pragma once

#include "kernels/base/sanitized.h"

namespace palimpsest::ui::test {

using palimpsest::is_sanitized;

// Reduces the size of a text, budget or answer under a sanitizer.
template<class Size>
constexpr Size sized(Size size)
{
    return is_sanitized ? size / 6 : size;
}

} // namespace palimpsest::ui::test
