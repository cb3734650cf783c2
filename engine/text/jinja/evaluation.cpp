// Evaluates expressions.

#include "engine/text/jinja/arithmetic.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/interpreter.h"
#include "engine/text/jinja/printing.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {

using namespace syntax;

Value Interpreter::evaluate(const Expression& expression)
{
    const Meter::Level level(runtime_.meter);
    return std::visit([this](const auto& content) { return this->evaluate(content); }, expression.content);
}

Value Interpreter::evaluate(const Name& name)
{
    for (const Scope* scope = scope_; scope; scope = scope->parent) {
        runtime_.meter.step();
        if (const auto found = scope->names.find(name.name); found != scope->names.end()) return found->second;
    }
    if (const Value* given = context_.find(std::string_view(name.name))) return *given;
    if (const Native native = find_function(name.name))
        return std::make_shared<Function>(Function{.name = name.name, .native = native});
    return Value::undefined(Text("'{0}' is undefined", printable(name.name)));
}

Value Interpreter::evaluate(const ListLiteral& list)
{
    runtime_.meter.make(list.items.size() * sizeof(Value));
    std::vector<Value> items;
    items.reserve(list.items.size());
    for (const ExpressionPtr& item : list.items)
        items.push_back(evaluate(*item));
    return list.is_tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value Interpreter::evaluate(const DictLiteral& literal)
{
    runtime_.meter.make(literal.items.size() * 4 * sizeof(Value));
    Dict dict;
    for (const auto& [key, value] : literal.items) {
        Value name = evaluate(*key);
        dict.set(std::move(name), evaluate(*value), runtime_.meter);
    }
    return dict;
}

Value Interpreter::evaluate(const Attribute& attribute)
{
    return get_attribute(runtime_, evaluate(*attribute.object), attribute.name);
}

Value Interpreter::evaluate(const Item& item)
{
    const Value object = evaluate(*item.object);
    return get_item(runtime_, object, evaluate(*item.index));
}

Value Interpreter::evaluate(const Slice& slice)
{
    const Value object = evaluate(*slice.object);
    const auto part = [&](const ExpressionPtr& expression) {
        return expression ? evaluate(*expression) : Value(None{});
    };
    const Value first = part(slice.first), last = part(slice.last), step = part(slice.step);
    return get_slice(runtime_, object, first, last, step);
}

CallArguments Interpreter::evaluate(const Arguments& arguments)
{
    CallArguments values;
    for (const ExpressionPtr& each : arguments.positional)
        values.positional.push_back(evaluate(*each));
    for (const auto& [name, value] : arguments.named)
        values.named.emplace_back(name, evaluate(*value));
    if (arguments.list)
        for (Value& item : iterate(evaluate(*arguments.list), runtime_.meter))
            values.positional.push_back(std::move(item));
    if (!arguments.mapping) return values;
    const Value mapping = evaluate(*arguments.mapping);
    if (!mapping.is(Value::Kind::Dict)) fail_run(Text("{0} needs a dict, not {1}", "'**'", mapping.type_name()));
    for (const auto& [name, value] : mapping.dict().items())
        values.named.emplace_back(to_text(name, runtime_.meter), value);
    return values;
}

Value Interpreter::evaluate(const Call& expression)
{
    const Value callee = evaluate(*expression.callee);
    return call(callee, evaluate(expression.arguments));
}

Value Interpreter::evaluate(const Filter& filter)
{
    if (!filter.input) runtime_.meter.make(input_->size());
    const Value input = filter.input ? evaluate(*filter.input) : Value(*input_);
    return apply_filter(runtime_, filter.name, input, evaluate(filter.arguments));
}

Value Interpreter::evaluate(const Test& test)
{
    const Value input = evaluate(*test.input);
    return apply_test(runtime_, test.name, input, evaluate(test.arguments));
}

Value Interpreter::evaluate(const Unary& unary)
{
    Value operand = evaluate(*unary.operand);
    if (unary.operation == UnaryOperator::Not) return !operand.truth();
    if (unary.operation == UnaryOperator::Minus) return negative(operand);
    if (!operand.is_number()) fail_run(Text("'{0}' is not supported for {1}", "+", operand.type_name()));
    return operand;
}

Value Interpreter::evaluate(const Binary& binary)
{
    Value left = evaluate(*binary.left);
    if (binary.operation == BinaryOperator::Or) return left.truth() ? left : evaluate(*binary.right);
    if (binary.operation == BinaryOperator::And) return left.truth() ? evaluate(*binary.right) : left;
    return calculate(binary.operation, left, evaluate(*binary.right), runtime_.meter);
}

Value Interpreter::evaluate(const Concatenation& concatenation)
{
    std::string text;
    for (const ExpressionPtr& part : concatenation.parts) {
        const std::string more = to_text(evaluate(*part), runtime_.meter);
        runtime_.meter.make(more.size());
        text += more;
    }
    return text;
}

bool Interpreter::holds(Relation relation, const Value& a, const Value& b)
{
    Meter& meter = runtime_.meter;
    switch (relation) {
    case Relation::Equal:
        return equal(a, b, meter);
    case Relation::NotEqual:
        return !equal(a, b, meter);
    case Relation::Less:
        return less(a, b, meter);
    case Relation::LessOrEqual:
        return less(a, b, meter) || equal(a, b, meter);
    case Relation::Greater:
        return less(b, a, meter);
    case Relation::GreaterOrEqual:
        return less(b, a, meter) || equal(a, b, meter);
    case Relation::In:
        return contains(b, a, meter);
    case Relation::NotIn:
        return !contains(b, a, meter);
    }
    return false;
}

Value Interpreter::evaluate(const Comparison& comparison)
{
    Value left = evaluate(*comparison.first);
    for (const auto& [relation, operand] : comparison.rest) {
        Value right = evaluate(*operand);
        if (!holds(relation, left, right)) return false;
        left = std::move(right);
    }
    return true;
}

Value Interpreter::evaluate(const Conditional& conditional)
{
    if (evaluate(*conditional.condition).truth()) return evaluate(*conditional.then);
    if (conditional.otherwise) return evaluate(*conditional.otherwise);
    return Value::undefined(Text("the condition of an inline 'if' without 'else' is false"));
}

} // namespace palimpsest::engine::jinja
