// The arguments of a call to a macro, function, method, filter or test.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/jinja/value.h"

namespace palimpsest::engine::jinja {

struct CallArguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

// Reads arguments in the order of a native function's parameters.
class ArgumentReader {
public:
    // `callee` is for messages: "filter 'join'". The meter is charged for copies and for name lookups.
    ArgumentReader(Text callee, CallArguments arguments, Meter& meter)
        : callee_(std::move(callee)), arguments_(std::move(arguments)), meter_(meter)
    {
    }

    // The next positional argument, or else the argument of this name; empty if neither was passed.
    std::optional<Value> next(std::string_view name);
    Value next_or(std::string_view name, Value fallback) { return next(name).value_or(std::move(fallback)); }
    bool next_flag(std::string_view name, bool fallback) { return next_or(name, fallback).truth(); }
    // Throw Error (Failed, PAL-TEMPLATE-03) if the argument is missing or of another kind.
    Value require(std::string_view name);
    std::string require_text(std::string_view name);
    int64_t next_integer(std::string_view name, int64_t fallback);
    std::vector<Value> rest(); // the remaining positional arguments
    std::optional<Value> named(std::string_view name);
    std::vector<std::pair<std::string, Value>> all_named();
    bool has_positional() const { return at_ < arguments_.positional.size(); }
    // Throws Error (Failed, PAL-TEMPLATE-02) for an argument that was not read.
    void finish() const;
    const Text& callee() const { return callee_; }

private:
    Text callee_;
    CallArguments arguments_;
    Meter& meter_;
    size_t at_ = 0;
};

} // namespace palimpsest::engine::jinja
