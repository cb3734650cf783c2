// Splits a template's source into tokens, by the rules of Jinja's lexer with trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine::jinja {

struct Token {
    enum class Kind {
        Data, // text between tags
        BlockBegin,
        BlockEnd,
        PrintBegin,
        PrintEnd,
        Name,
        String,
        Integer,
        Float,
        Operator,
        End
    };
    Kind kind = Kind::End;
    std::string text; // strings: escapes replaced; numbers: without underscores
    int line = 1;

    bool is(Kind k) const { return kind == k; }
    bool is_name(std::string_view name) const { return kind == Kind::Name && text == name; }
    bool is_operator(std::string_view symbol) const { return kind == Kind::Operator && text == symbol; }
};

// The last token is End. REQUIRES: valid UTF-8. Throws Error (Failed, PAL-TEMPLATE-01).
std::vector<Token> tokenize(std::string_view source);

} // namespace palimpsest::engine::jinja
