// Parses the expressions of a template, by Jinja's grammar.
#pragma once

#include <initializer_list>
#include <string_view>

#include "engine/text/jinja/syntax.h"
#include "engine/text/jinja/token_stream.h"

namespace palimpsest::engine::jinja {

class ExpressionParser {
public:
    explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

    // Throw Error (Failed): PAL-TEMPLATE-01; PAL-TEMPLATE-04 if the tree is too deep.
    syntax::ExpressionPtr expression(); // including "A if B else C"
    // One expression, or a tuple: several, separated by commas. Without `conditional`, an "if" ends it.
    syntax::ExpressionPtr tuple(bool conditional);
    syntax::ExpressionPtr without_conditional() { return disjunction(); }
    // A name, or several; with namespaces also "name.attribute".
    syntax::Target target(bool with_namespace);
    // Parses one or more filters, as in "| name(...) | name", and applies them to `input` (null: the text of a
    // block). `starts`: no "|" precedes the first filter.
    syntax::ExpressionPtr filters(syntax::ExpressionPtr input, bool starts);

private:
    class Depth;
    template<class Content>
    syntax::ExpressionPtr make(Content content, size_t depth_of_children) const;

    syntax::ExpressionPtr disjunction();
    syntax::ExpressionPtr conjunction();
    syntax::ExpressionPtr negation();
    syntax::ExpressionPtr comparison();
    syntax::ExpressionPtr sum();
    syntax::ExpressionPtr concatenation();
    syntax::ExpressionPtr product();
    syntax::ExpressionPtr power();
    syntax::ExpressionPtr unary(bool with_filters);
    syntax::ExpressionPtr primary();
    syntax::ExpressionPtr name_or_constant();
    syntax::ExpressionPtr string();
    syntax::ExpressionPtr number();
    syntax::ExpressionPtr parenthesised();
    syntax::ExpressionPtr list();
    syntax::ExpressionPtr dict();
    syntax::ExpressionPtr postfix(syntax::ExpressionPtr object);
    syntax::ExpressionPtr attribute(syntax::ExpressionPtr object);
    syntax::ExpressionPtr subscript(syntax::ExpressionPtr object);
    syntax::ExpressionPtr slice(syntax::ExpressionPtr object, syntax::ExpressionPtr first);
    syntax::ExpressionPtr call(syntax::ExpressionPtr callee);
    syntax::ExpressionPtr filters_and_tests(syntax::ExpressionPtr input);
    syntax::ExpressionPtr test(syntax::ExpressionPtr input);
    syntax::ExpressionPtr binary(syntax::BinaryOperator operation, syntax::ExpressionPtr left,
                                 syntax::ExpressionPtr right) const;
    syntax::Arguments arguments();
    void argument(syntax::Arguments& list);
    bool ends_slice_part() const;
    bool ends_tuple() const;
    bool begins_test_argument() const;
    std::string dotted_name();
    syntax::Target simple_target(bool with_namespace);

    TokenStream& tokens_;
    size_t depth_ = 0; // of the parser's recursion
};

} // namespace palimpsest::engine::jinja
