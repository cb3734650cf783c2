// Throws the errors of a template. Their subject is "chat template"; `what` completes the sentence.
#pragma once

#include <string>

#include "kernels/base/error.h"

namespace palimpsest::engine::jinja {

// REQUIRES: text that `what` quotes from the template has passed through printable().
[[noreturn]] void fail_syntax(int line, const Text& what); // the template cannot be parsed
[[noreturn]] void fail_unsupported(const Text& what);      // an unsupported filter, test, tag...
[[noreturn]] void fail_run(const Text& what);              // an operation that Python refuses, too
[[noreturn]] void fail_limit(const Text& what);            // too many steps, too much text, too deep
// The template called raise_exception; `message` is made printable here.
[[noreturn]] void fail_raised(const std::string& message);

} // namespace palimpsest::engine::jinja
