#include "engine/text/jinja/token_stream.h"

#include "engine/text/jinja/failure.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {

Token TokenStream::take()
{
    Token token = current();
    if (!token.is(Token::Kind::End)) ++at_;
    return token;
}

bool TokenStream::take_if_name(std::string_view name)
{
    const bool is_it = current().is_name(name);
    if (is_it) ++at_;
    return is_it;
}

bool TokenStream::take_if_operator(std::string_view symbol)
{
    const bool is_it = current().is_operator(symbol);
    if (is_it) ++at_;
    return is_it;
}

std::string TokenStream::expect_name()
{
    if (!current().is(Token::Kind::Name)) fail_unexpected();
    return take().text;
}

void TokenStream::expect_name(std::string_view name)
{
    if (!take_if_name(name)) fail_unexpected();
}

void TokenStream::expect_operator(std::string_view symbol)
{
    if (!take_if_operator(symbol)) fail_unexpected();
}

void TokenStream::expect(Token::Kind kind)
{
    if (!current().is(kind)) fail_unexpected();
    take();
}

void TokenStream::fail_unexpected() const
{
    const Token& token = current();
    switch (token.kind) {
    case Token::Kind::End:
        fail_syntax(token.line, Text("the template ends in the middle of a statement"));
    case Token::Kind::BlockEnd:
    case Token::Kind::PrintEnd:
        fail_syntax(token.line, Text("the end of a tag is unexpected"));
    default:
        fail_syntax(token.line, Text("'{0}' is unexpected", printable(token.text)));
    }
}

} // namespace palimpsest::engine::jinja
