#include "engine/text/jinja/parser.h"

#include <algorithm>
#include <array>

#include "engine/text/jinja/expression_parser.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/lexer.h"
#include "engine/text/jinja/token_stream.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {

using namespace syntax;

namespace {

[[noreturn]] void unsupported_tag(const std::string& name)
{
    fail_unsupported(Text("it uses tag '{0}', which is not supported", printable(name)));
}

class Parser {
public:
    explicit Parser(std::string_view source) : tokens_(tokenize(source)), expressions_(tokens_) {}

    Block run()
    {
        Block body = block({});
        if (!tokens_.current().is(Token::Kind::End)) tokens_.fail_unexpected();
        return body;
    }

private:
    using Ends = std::initializer_list<std::string_view>;

    // Parses up to the end, or up to a tag with one of these names, which is not consumed.
    Block block(Ends ends)
    {
        if (depth_ >= limits::statement_depth)
            fail_limit(Text("it nests statements more than {0} deep", limits::statement_depth));
        ++depth_;
        Block body;
        while (!tokens_.current().is(Token::Kind::End)) {
            if (tokens_.current().is(Token::Kind::Data)) {
                body.push_back({Data{tokens_.take().text}});
            } else if (tokens_.current().is(Token::Kind::PrintBegin)) {
                tokens_.take();
                body.push_back({Print{expressions_.tuple(true)}});
                tokens_.expect(Token::Kind::PrintEnd);
            } else {
                tokens_.expect(Token::Kind::BlockBegin);
                const Token& name = tokens_.current();
                if (std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.is_name(end); }))
                    break;
                body.push_back(statement());
                tokens_.expect(Token::Kind::BlockEnd);
            }
        }
        --depth_;
        return body;
    }
    // Parses the body of a tag, from the end of that tag to the closing tag.
    Block body_until(std::string_view end)
    {
        tokens_.expect(Token::Kind::BlockEnd);
        Block body = block({end});
        tokens_.expect_name(end);
        return body;
    }

    Statement statement()
    {
        const int line = tokens_.current().line;
        const std::string name = tokens_.expect_name();
        if (name == "if") return {conditional()};
        if (name == "for") return {loop()};
        if (name == "set") return set();
        if (name == "macro") return {macro()};
        if (name == "call") return {call_block()};
        if (name == "filter") return {filter_block()};
        if (name == "with") return {with()};
        if (name == "generation") return {With{{}, body_until("endgeneration")}};
        if (name == "break" || name == "continue") return jump(name, line);
        constexpr std::array known = {"autoescape", "block", "extends", "from",  "import",
                                      "include",    "do",    "debug",   "print", "trans"};
        if (std::find(known.begin(), known.end(), name) != known.end()) unsupported_tag(name);
        fail_syntax(line, Text("the tag '{0}' is unknown or unexpected", printable(name)));
    }

    Statement jump(const std::string& name, int line) const
    {
        if (loops_ == 0) fail_syntax(line, Text("'{0}' is outside of a loop", name));
        if (name == "break") return {Break{}};
        return {Continue{}};
    }

    If conditional()
    {
        If result;
        for (;;) {
            ExpressionPtr condition = expressions_.tuple(false);
            tokens_.expect(Token::Kind::BlockEnd);
            result.branches.emplace_back(std::move(condition), block({"elif", "else", "endif"}));
            if (!tokens_.take_if_name("elif")) break;
        }
        if (tokens_.take_if_name("else"))
            result.otherwise = body_until("endif");
        else
            tokens_.expect_name("endif");
        return result;
    }

    For loop()
    {
        For result;
        result.target = expressions_.target(false);
        tokens_.expect_name("in");
        result.iterable = expressions_.tuple(false);
        if (tokens_.take_if_name("if")) result.condition = expressions_.expression();
        if (tokens_.current().is_name("recursive")) unsupported_tag("for ... recursive");
        tokens_.expect(Token::Kind::BlockEnd);
        ++loops_;
        result.body = block({"else", "endfor"});
        --loops_;
        if (tokens_.take_if_name("else"))
            result.otherwise = body_until("endfor");
        else
            tokens_.expect_name("endfor");
        return result;
    }

    Statement set()
    {
        Target target = expressions_.target(true);
        if (tokens_.take_if_operator("=")) return {Set{std::move(target), expressions_.tuple(true)}};
        ExpressionPtr filter = tokens_.current().is_operator("|") ? expressions_.filters(nullptr, false) : nullptr;
        return {SetBlock{std::move(target), std::move(filter), body_until("endset")}};
    }

    std::vector<Parameter> parameters()
    {
        std::vector<Parameter> list;
        tokens_.expect_operator("(");
        while (!tokens_.current().is_operator(")")) {
            Parameter parameter{tokens_.expect_name(), nullptr};
            if (tokens_.take_if_operator("="))
                parameter.fallback = expressions_.expression();
            else if (!list.empty() && list.back().fallback)
                tokens_.fail_unexpected();
            list.push_back(std::move(parameter));
            if (!tokens_.take_if_operator(",")) break;
        }
        tokens_.expect_operator(")");
        return list;
    }

    // Parses the body of a macro. A break in it cannot end a loop outside of the macro.
    Block macro_body(std::string_view end)
    {
        const int outside = loops_;
        loops_ = 0;
        Block body = body_until(end);
        loops_ = outside;
        return body;
    }
    Macro macro()
    {
        Macro result;
        result.name = tokens_.expect_name();
        result.parameters = parameters();
        result.body = macro_body("endmacro");
        return result;
    }
    CallBlock call_block()
    {
        CallBlock result;
        result.caller.name = "caller";
        if (tokens_.current().is_operator("(")) result.caller.parameters = parameters();
        result.call = expressions_.expression();
        if (!std::holds_alternative<Call>(result.call->content)) tokens_.fail_unexpected();
        result.caller.body = macro_body("endcall");
        return result;
    }
    FilterBlock filter_block()
    {
        ExpressionPtr filter = expressions_.filters(nullptr, true);
        return {std::move(filter), body_until("endfilter")};
    }
    With with()
    {
        With result;
        while (!tokens_.current().is(Token::Kind::BlockEnd)) {
            if (!result.values.empty()) tokens_.expect_operator(",");
            Target target{tokens_.expect_name(), {}, {}};
            tokens_.expect_operator("=");
            result.values.emplace_back(std::move(target), expressions_.expression());
        }
        result.body = body_until("endwith");
        return result;
    }

    TokenStream tokens_;
    ExpressionParser expressions_;
    size_t depth_ = 0;
    int loops_ = 0;
};

} // namespace

syntax::Block parse(std::string_view source)
{
    return Parser(source).run();
}

} // namespace palimpsest::engine::jinja
