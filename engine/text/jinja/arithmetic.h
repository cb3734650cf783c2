// Python's operators + - * / // % **, as used in templates.
#pragma once

#include <string>

#include "engine/text/jinja/syntax.h"
#include "engine/text/jinja/value.h"

namespace palimpsest::engine::jinja {

// REQUIRES: neither Or nor And. Throws Error (Failed, PAL-TEMPLATE-03) for kinds that Python refuses, a division by
// zero, and integers of more than 64 bits.
Value calculate(syntax::BinaryOperator operation, const Value& a, const Value& b, Meter& meter);
Value negative(const Value& value);

std::string escaped(const std::string& text); // for HTML, as in the filter "escape"
// Python's "format % values", with %s %r %d %i %x %X %o %f %e %g and %%, flags, width and precision.
std::string format_percent(const std::string& format, const std::vector<Value>& values, Meter& meter);

} // namespace palimpsest::engine::jinja
