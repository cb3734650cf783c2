// The syntax tree of a template. Immutable after parsing; its depth is bounded (meter.h), so it can be traversed
// recursively.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/text/jinja/value.h"

namespace palimpsest::engine::jinja::syntax {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Arguments {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr list, mapping; // *list, **mapping; null: none
};

struct Literal {
    Value value;
};
struct Name {
    std::string name;
};
struct ListLiteral {
    std::vector<ExpressionPtr> items;
    bool is_tuple;
};
struct DictLiteral {
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};
struct Attribute {
    ExpressionPtr object;
    std::string name;
};
struct Item {
    ExpressionPtr object, index;
};
struct Slice {
    ExpressionPtr object, first, last, step; // null: omitted; object is never null
};
struct Call {
    ExpressionPtr callee;
    Arguments arguments;
};
struct Filter {
    ExpressionPtr input; // null: the text of a filter block
    std::string name;
    Arguments arguments;
};
struct Test {
    ExpressionPtr input;
    std::string name;
    Arguments arguments;
};
enum class UnaryOperator { Not, Minus, Plus };
struct Unary {
    UnaryOperator operation;
    ExpressionPtr operand;
};
enum class BinaryOperator { Or, And, Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Power };
struct Binary {
    BinaryOperator operation;
    ExpressionPtr left, right;
};
struct Concatenation {
    std::vector<ExpressionPtr> parts;
};
enum class Relation { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, In, NotIn };
struct Comparison { // a < b < c: each relation has the previous operand on its left
    ExpressionPtr first;
    std::vector<std::pair<Relation, ExpressionPtr>> rest;
};
struct Conditional {
    ExpressionPtr condition, then, otherwise; // otherwise null: undefined
};

struct Expression {
    std::variant<Literal, Name, ListLiteral, DictLiteral, Attribute, Item, Slice, Call, Filter, Test, Unary, Binary,
                 Concatenation, Comparison, Conditional>
        content;
    size_t depth = 1;
};

struct Statement;
using Block = std::vector<Statement>;

struct Target { // of an assignment: a name, an attribute of a namespace, or a tuple of these
    std::string name;
    std::string attribute;     // empty: none
    std::vector<Target> parts; // of a tuple; name is then empty
};

struct Data {
    std::string text;
};
struct Print {
    ExpressionPtr value;
};
struct If {
    std::vector<std::pair<ExpressionPtr, Block>> branches;
    Block otherwise;
};
struct For {
    Target target;
    ExpressionPtr iterable, condition; // condition null: all items
    Block body, otherwise;
};
struct Set {
    Target target;
    ExpressionPtr value;
};
struct SetBlock {
    Target target;
    ExpressionPtr filter; // a chain of filters on the block's text; null: none
    Block body;
};
struct Parameter {
    std::string name;
    ExpressionPtr fallback; // null: none
};
struct Macro {
    std::string name;
    std::vector<Parameter> parameters;
    Block body;
};
struct CallBlock {
    Macro caller;
    ExpressionPtr call;
};
struct FilterBlock {
    ExpressionPtr filter;
    Block body;
};
struct With {
    std::vector<std::pair<Target, ExpressionPtr>> values;
    Block body; // {% generation %} is a With without values
};
struct Break {};
struct Continue {};

struct Statement {
    std::variant<Data, Print, If, For, Set, SetBlock, Macro, CallBlock, FilterBlock, With, Break, Continue> content;
};

} // namespace palimpsest::engine::jinja::syntax
