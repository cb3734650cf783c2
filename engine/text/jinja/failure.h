// The errors of a template, each one sentence about "chat template".
#pragma once

#include <string>

#include "kernels/base/error.h"

namespace palimpsest::engine::jinja {

inline constexpr const char* syntax_code = "PAL-TEMPLATE-01";      // it cannot be parsed
inline constexpr const char* unsupported_code = "PAL-TEMPLATE-02"; // an unsupported filter, test, tag...
inline constexpr const char* run_code = "PAL-TEMPLATE-03";         // an operation that Python refuses, too
inline constexpr const char* limit_code = "PAL-TEMPLATE-04";       // too many steps, too much text, too deep
inline constexpr const char* raised_code = "PAL-TEMPLATE-05";      // the template called raise_exception

// `what` may contain text of the template; it is made printable here.
[[noreturn]] void fail_syntax(int line, const std::string& what);
[[noreturn]] void fail_unsupported(const std::string& kind, const std::string& name); // "filter", "urlize"
[[noreturn]] void fail_run(const std::string& what);
[[noreturn]] void fail_limit(const std::string& what);
[[noreturn]] void fail_raised(const std::string& message);

} // namespace palimpsest::engine::jinja
