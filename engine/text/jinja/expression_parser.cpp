#include "engine/text/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/text/jinja/failure.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {

using namespace syntax;

namespace {

[[noreturn]] void too_deep()
{
    fail_limit(Text("it nests expressions more than {0} deep", limits::expression_depth));
}

size_t depth_of(const ExpressionPtr& expression)
{
    return expression ? expression->depth : 0;
}

size_t depth_of(const Arguments& arguments)
{
    size_t depth = std::max(depth_of(arguments.list), depth_of(arguments.mapping));
    for (const ExpressionPtr& each : arguments.positional)
        depth = std::max(depth, each->depth);
    for (const auto& [name, value] : arguments.named)
        depth = std::max(depth, value->depth);
    return depth;
}

} // namespace

// Limits the recursion of the parser itself.
class ExpressionParser::Depth {
public:
    explicit Depth(ExpressionParser& parser) : parser_(parser)
    {
        if (parser_.depth_ >= limits::expression_depth) too_deep();
        ++parser_.depth_;
    }
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

private:
    ExpressionParser& parser_;
};

template<class Content>
ExpressionPtr ExpressionParser::make(Content content, size_t depth_of_children) const
{
    if (depth_of_children >= limits::expression_depth) too_deep();
    return std::make_unique<Expression>(Expression{std::move(content), depth_of_children + 1});
}

ExpressionPtr ExpressionParser::binary(BinaryOperator operation, ExpressionPtr left, ExpressionPtr right) const
{
    const size_t depth = std::max(left->depth, right->depth);
    return make(Binary{operation, std::move(left), std::move(right)}, depth);
}

ExpressionPtr ExpressionParser::expression()
{
    const Depth depth(*this);
    ExpressionPtr value = disjunction();
    while (tokens_.take_if_name("if")) {
        ExpressionPtr condition = disjunction();
        ExpressionPtr otherwise = tokens_.take_if_name("else") ? expression() : nullptr;
        const size_t children = std::max({value->depth, condition->depth, depth_of(otherwise)});
        value = make(Conditional{std::move(condition), std::move(value), std::move(otherwise)}, children);
    }
    return value;
}

bool ExpressionParser::ends_tuple() const
{
    const Token& token = tokens_.current();
    return token.is(Token::Kind::PrintEnd) || token.is(Token::Kind::BlockEnd) || token.is_operator(")");
}

ExpressionPtr ExpressionParser::tuple(bool conditional)
{
    std::vector<ExpressionPtr> items;
    size_t children = 0;
    bool is_tuple = false;
    do {
        if (is_tuple && ends_tuple()) break;
        items.push_back(conditional ? expression() : disjunction());
        children = std::max(children, items.back()->depth);
        is_tuple = is_tuple || tokens_.current().is_operator(",");
    } while (tokens_.take_if_operator(","));
    if (!is_tuple) return std::move(items.front());
    return make(ListLiteral{std::move(items), true}, children);
}

Target ExpressionParser::simple_target(bool with_namespace)
{
    Target target{tokens_.expect_name(), {}, {}};
    if (with_namespace && tokens_.take_if_operator(".")) target.attribute = tokens_.expect_name();
    return target;
}

Target ExpressionParser::target(bool with_namespace)
{
    const bool in_parentheses = tokens_.take_if_operator("(");
    Target first = simple_target(with_namespace);
    if (tokens_.current().is_operator(",")) {
        Target all;
        all.parts.push_back(std::move(first));
        while (tokens_.take_if_operator(","))
            if (tokens_.current().is(Token::Kind::Name) && !tokens_.current().is_name("in"))
                all.parts.push_back(simple_target(with_namespace));
        first = std::move(all);
    }
    if (in_parentheses) tokens_.expect_operator(")");
    return first;
}

ExpressionPtr ExpressionParser::disjunction()
{
    const Depth depth(*this);
    ExpressionPtr left = conjunction();
    while (tokens_.take_if_name("or"))
        left = binary(BinaryOperator::Or, std::move(left), conjunction());
    return left;
}

ExpressionPtr ExpressionParser::conjunction()
{
    ExpressionPtr left = negation();
    while (tokens_.take_if_name("and"))
        left = binary(BinaryOperator::And, std::move(left), negation());
    return left;
}

ExpressionPtr ExpressionParser::negation()
{
    if (!tokens_.take_if_name("not")) return comparison();
    const Depth depth(*this);
    ExpressionPtr operand = negation();
    const size_t children = operand->depth;
    return make(Unary{UnaryOperator::Not, std::move(operand)}, children);
}

namespace {

std::optional<Relation> take_relation(TokenStream& tokens)
{
    constexpr std::array<std::pair<std::string_view, Relation>, 6> symbols = {{{"==", Relation::Equal},
                                                                               {"!=", Relation::NotEqual},
                                                                               {"<", Relation::Less},
                                                                               {"<=", Relation::LessOrEqual},
                                                                               {">", Relation::Greater},
                                                                               {">=", Relation::GreaterOrEqual}}};
    for (const auto& [symbol, relation] : symbols)
        if (tokens.take_if_operator(symbol)) return relation;
    if (tokens.take_if_name("in")) return Relation::In;
    if (!tokens.current().is_name("not") || !tokens.following().is_name("in")) return std::nullopt;
    tokens.take();
    tokens.take();
    return Relation::NotIn;
}

std::optional<BinaryOperator> take_product_operator(TokenStream& tokens)
{
    if (tokens.take_if_operator("*")) return BinaryOperator::Multiply;
    if (tokens.take_if_operator("/")) return BinaryOperator::Divide;
    if (tokens.take_if_operator("//")) return BinaryOperator::FloorDivide;
    if (tokens.take_if_operator("%")) return BinaryOperator::Modulo;
    return std::nullopt;
}

} // namespace

ExpressionPtr ExpressionParser::comparison()
{
    ExpressionPtr first = sum();
    std::vector<std::pair<Relation, ExpressionPtr>> rest;
    size_t children = first->depth;
    while (const auto relation = take_relation(tokens_)) {
        rest.emplace_back(*relation, sum());
        children = std::max(children, rest.back().second->depth);
    }
    if (rest.empty()) return first;
    return make(Comparison{std::move(first), std::move(rest)}, children);
}

ExpressionPtr ExpressionParser::sum()
{
    ExpressionPtr left = concatenation();
    for (;;) {
        if (tokens_.take_if_operator("+"))
            left = binary(BinaryOperator::Add, std::move(left), concatenation());
        else if (tokens_.take_if_operator("-"))
            left = binary(BinaryOperator::Subtract, std::move(left), concatenation());
        else
            return left;
    }
}

ExpressionPtr ExpressionParser::concatenation()
{
    std::vector<ExpressionPtr> parts;
    size_t children = 0;
    do {
        parts.push_back(product());
        children = std::max(children, parts.back()->depth);
    } while (tokens_.take_if_operator("~"));
    if (parts.size() == 1) return std::move(parts.front());
    return make(Concatenation{std::move(parts)}, children);
}

ExpressionPtr ExpressionParser::product()
{
    ExpressionPtr left = power();
    while (const auto operation = take_product_operator(tokens_))
        left = binary(*operation, std::move(left), power());
    return left;
}

ExpressionPtr ExpressionParser::power()
{
    ExpressionPtr left = unary(true);
    while (tokens_.take_if_operator("**"))
        left = binary(BinaryOperator::Power, std::move(left), unary(true));
    return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters)
{
    const Depth depth(*this);
    ExpressionPtr value;
    const bool minus = tokens_.current().is_operator("-");
    if (minus || tokens_.current().is_operator("+")) {
        tokens_.take();
        value = unary(false);
        const size_t children = value->depth;
        value = make(Unary{minus ? UnaryOperator::Minus : UnaryOperator::Plus, std::move(value)}, children);
    } else {
        value = primary();
    }
    value = postfix(std::move(value));
    return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::primary()
{
    const Token& token = tokens_.current();
    if (token.is(Token::Kind::Name)) return name_or_constant();
    if (token.is(Token::Kind::String)) return string();
    if (token.is(Token::Kind::Integer) || token.is(Token::Kind::Float)) return number();
    if (token.is_operator("(")) return parenthesised();
    if (token.is_operator("[")) return list();
    if (token.is_operator("{")) return dict();
    tokens_.fail_unexpected();
}

ExpressionPtr ExpressionParser::name_or_constant()
{
    std::string name = tokens_.take().text;
    if (name == "true" || name == "True") return make(Literal{Value(true)}, 0);
    if (name == "false" || name == "False") return make(Literal{Value(false)}, 0);
    if (name == "none" || name == "None") return make(Literal{Value(None{})}, 0);
    return make(Name{std::move(name)}, 0);
}

ExpressionPtr ExpressionParser::string()
{
    std::string text;
    while (tokens_.current().is(Token::Kind::String))
        text += tokens_.take().text;
    return make(Literal{Value(std::move(text))}, 0);
}

ExpressionPtr ExpressionParser::number()
{
    const Token token = tokens_.take();
    const char *begin = token.text.data(), *end = begin + token.text.size();
    if (token.is(Token::Kind::Integer)) {
        int64_t integer = 0;
        if (std::from_chars(begin, end, integer).ec != std::errc())
            fail_syntax(token.line, Text("the number {0} has more than 64 bits", printable(token.text)));
        return make(Literal{Value(integer)}, 0);
    }
    double number = 0;
    if (std::from_chars(begin, end, number).ec != std::errc())
        fail_syntax(token.line, Text("the number {0} is out of range", printable(token.text)));
    return make(Literal{Value(number)}, 0);
}

ExpressionPtr ExpressionParser::parenthesised()
{
    tokens_.expect_operator("(");
    ExpressionPtr inside = tokens_.current().is_operator(")") ? make(ListLiteral{{}, true}, 0) : tuple(true);
    tokens_.expect_operator(")");
    return inside;
}

ExpressionPtr ExpressionParser::list()
{
    tokens_.expect_operator("[");
    std::vector<ExpressionPtr> items;
    size_t children = 0;
    while (!tokens_.current().is_operator("]")) {
        items.push_back(expression());
        children = std::max(children, items.back()->depth);
        if (!tokens_.take_if_operator(",")) break;
    }
    tokens_.expect_operator("]");
    return make(ListLiteral{std::move(items), false}, children);
}

ExpressionPtr ExpressionParser::dict()
{
    tokens_.expect_operator("{");
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
    size_t children = 0;
    while (!tokens_.current().is_operator("}")) {
        ExpressionPtr key = expression();
        tokens_.expect_operator(":");
        items.emplace_back(std::move(key), expression());
        children = std::max({children, items.back().first->depth, items.back().second->depth});
        if (!tokens_.take_if_operator(",")) break;
    }
    tokens_.expect_operator("}");
    return make(DictLiteral{std::move(items)}, children);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr object)
{
    for (;;) {
        if (tokens_.current().is_operator("."))
            object = attribute(std::move(object));
        else if (tokens_.current().is_operator("["))
            object = subscript(std::move(object));
        else if (tokens_.current().is_operator("("))
            object = call(std::move(object));
        else
            return object;
    }
}

ExpressionPtr ExpressionParser::attribute(ExpressionPtr object)
{
    tokens_.expect_operator(".");
    const size_t children = object->depth;
    if (!tokens_.current().is(Token::Kind::Integer))
        return make(Attribute{std::move(object), tokens_.expect_name()}, children);
    return make(Item{std::move(object), number()}, children);
}

bool ExpressionParser::ends_slice_part() const
{
    return tokens_.current().is_operator("]") || tokens_.current().is_operator(":");
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object)
{
    tokens_.expect_operator("[");
    ExpressionPtr index = ends_slice_part() ? nullptr : expression();
    if (tokens_.current().is_operator(":")) return slice(std::move(object), std::move(index));
    if (!index) tokens_.fail_unexpected();
    tokens_.expect_operator("]");
    const size_t children = std::max(object->depth, index->depth);
    return make(Item{std::move(object), std::move(index)}, children);
}

ExpressionPtr ExpressionParser::slice(ExpressionPtr object, ExpressionPtr first)
{
    tokens_.expect_operator(":");
    ExpressionPtr last = ends_slice_part() ? nullptr : expression();
    ExpressionPtr step = tokens_.take_if_operator(":") && !ends_slice_part() ? expression() : nullptr;
    tokens_.expect_operator("]");
    const size_t children = std::max({object->depth, depth_of(first), depth_of(last), depth_of(step)});
    return make(Slice{std::move(object), std::move(first), std::move(last), std::move(step)}, children);
}

ExpressionPtr ExpressionParser::call(ExpressionPtr callee)
{
    Arguments list = arguments();
    const size_t children = std::max(callee->depth, depth_of(list));
    return make(Call{std::move(callee), std::move(list)}, children);
}

Arguments ExpressionParser::arguments()
{
    tokens_.expect_operator("(");
    Arguments list;
    while (!tokens_.current().is_operator(")")) {
        argument(list);
        if (!tokens_.take_if_operator(",")) break;
    }
    tokens_.expect_operator(")");
    return list;
}

void ExpressionParser::argument(Arguments& list)
{
    if (!list.mapping && tokens_.take_if_operator("**")) {
        list.mapping = expression();
    } else if (!list.list && tokens_.take_if_operator("*")) {
        list.list = expression();
    } else if (tokens_.current().is(Token::Kind::Name) && tokens_.following().is_operator("=")) {
        std::string name = tokens_.take().text;
        tokens_.expect_operator("=");
        list.named.emplace_back(std::move(name), expression());
    } else {
        if (!list.named.empty() || list.list || list.mapping) tokens_.fail_unexpected();
        list.positional.push_back(expression());
    }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr input)
{
    for (;;) {
        if (tokens_.current().is_operator("|"))
            input = filters(std::move(input), false);
        else if (tokens_.current().is_name("is"))
            input = test(std::move(input));
        else if (tokens_.current().is_operator("("))
            input = call(std::move(input));
        else
            return input;
    }
}

std::string ExpressionParser::dotted_name()
{
    std::string name = tokens_.expect_name();
    while (tokens_.take_if_operator("."))
        name += "." + tokens_.expect_name();
    return name;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr input, bool starts)
{
    for (bool first = starts; first || tokens_.take_if_operator("|"); first = false) {
        std::string name = dotted_name();
        Arguments list = tokens_.current().is_operator("(") ? arguments() : Arguments();
        const size_t children = std::max(depth_of(input), depth_of(list));
        input = make(Filter{std::move(input), std::move(name), std::move(list)}, children);
    }
    return input;
}

bool ExpressionParser::begins_test_argument() const
{
    const Token& token = tokens_.current();
    if (token.is(Token::Kind::Name)) return !token.is_name("else") && !token.is_name("or") && !token.is_name("and");
    return token.is(Token::Kind::String) || token.is(Token::Kind::Integer) || token.is(Token::Kind::Float) ||
           token.is_operator("[") || token.is_operator("{");
}

ExpressionPtr ExpressionParser::test(ExpressionPtr input)
{
    tokens_.expect_name("is");
    const bool negated = tokens_.take_if_name("not");
    std::string name = dotted_name();
    Arguments list;
    if (tokens_.current().is_operator("(")) {
        list = arguments();
    } else if (begins_test_argument()) {
        if (tokens_.current().is_name("is")) tokens_.fail_unexpected();
        list.positional.push_back(postfix(primary()));
    }
    const size_t children = std::max(input->depth, depth_of(list));
    ExpressionPtr result = make(Test{std::move(input), std::move(name), std::move(list)}, children);
    if (!negated) return result;
    const size_t depth = result->depth;
    return make(Unary{UnaryOperator::Not, std::move(result)}, depth);
}

} // namespace palimpsest::engine::jinja
