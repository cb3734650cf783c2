// The errors of a template, each one sentence about "chat template".
#pragma once

#include <string>

#include "kernels/base/error.h"

namespace palimpsest::engine::jinja {

// Text of the template in `what` must have passed through printable().
[[noreturn]] void fail_syntax(int line, const Text& what); // it cannot be parsed
[[noreturn]] void fail_unsupported(const Text& what);      // an unsupported filter, test, tag...
[[noreturn]] void fail_run(const Text& what);              // an operation that Python refuses, too
[[noreturn]] void fail_limit(const Text& what);            // too many steps, too much text, too deep
// The template called raise_exception; `message` is made printable here.
[[noreturn]] void fail_raised(const std::string& message);

} // namespace palimpsest::engine::jinja
