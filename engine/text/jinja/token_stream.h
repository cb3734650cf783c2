// The tokens of a template, consumed one by one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja/lexer.h"

namespace palimpsest::engine::jinja {

class TokenStream {
public:
    // REQUIRES: the last token is End.
    explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    const Token& current() const { return tokens_[at_]; }
    const Token& following() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
    Token take(); // does not advance past End
    bool take_if_name(std::string_view name);
    bool take_if_operator(std::string_view symbol);
    // Throw Error (Failed, PAL-TEMPLATE-01) if the current token differs.
    std::string expect_name();
    void expect_name(std::string_view name);
    void expect_operator(std::string_view symbol);
    void expect(Token::Kind kind);
    [[noreturn]] void fail_unexpected() const;

private:
    std::vector<Token> tokens_;
    size_t at_ = 0;
};

} // namespace palimpsest::engine::jinja
