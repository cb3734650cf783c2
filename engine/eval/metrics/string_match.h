// Whether right answers stand in a generated one, apart from case.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace palimpsest::engine {

// The share of the right answers that stand in it. As string_match_all of RULER (arXiv:2404.06654). REQUIRES: there
// is a right answer.
double string_match_all(std::string_view said, std::span<const std::string> right);

} // namespace palimpsest::engine
