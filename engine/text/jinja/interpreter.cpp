// Executes statements.
#include "engine/text/jinja/interpreter.h"

#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/printing.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {

using namespace syntax;

// Enters a new scope within `parent`; the destructor returns to the scope before it.
class Interpreter::ScopeGuard {
public:
    ScopeGuard(Interpreter& interpreter, Scope* parent) : interpreter_(interpreter), outside_(interpreter.scope_)
    {
        interpreter_.runtime_.meter.make(sizeof(Scope));
        interpreter_.scopes_.push_back(std::make_unique<Scope>(Scope{{}, parent}));
        interpreter_.scope_ = interpreter_.scopes_.back().get();
    }
    ~ScopeGuard()
    {
        Scope* const scope = interpreter_.scope_;
        interpreter_.scope_ = outside_;
        if (!scope->is_captured && interpreter_.scopes_.back().get() == scope) interpreter_.scopes_.pop_back();
    }
    ScopeGuard(const ScopeGuard&) = delete;
    ScopeGuard& operator=(const ScopeGuard&) = delete;

private:
    Interpreter& interpreter_;
    Scope* outside_;
};

// Collects the output that is printed during its lifetime.
class Interpreter::Capture {
public:
    explicit Capture(Interpreter& interpreter) : interpreter_(interpreter), outside_(interpreter.out_)
    {
        interpreter_.out_ = &text;
    }
    ~Capture() { interpreter_.out_ = outside_; }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    std::string text;

private:
    Interpreter& interpreter_;
    std::string* outside_;
};

std::string Interpreter::run()
{
    const ScopeGuard scope(*this, nullptr);
    execute(body_);
    return std::move(output_);
}

void Interpreter::print(std::string_view text)
{
    runtime_.meter.make(text.size());
    if (out_ == &output_) runtime_.meter.output(text.size());
    out_->append(text);
}

Interpreter::Flow Interpreter::execute(const Block& block)
{
    const Meter::Level level(runtime_.meter);
    for (const Statement& statement : block) {
        runtime_.meter.step();
        const Flow flow =
            std::visit([this](const auto& content) { return this->execute(content); }, statement.content);
        if (flow != Flow::Next) return flow;
    }
    return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Data& data)
{
    print(data.text);
    return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Print& statement)
{
    print(to_text(evaluate(*statement.value), runtime_.meter));
    return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const If& branches)
{
    for (const auto& [condition, body] : branches.branches)
        if (evaluate(*condition).truth()) return execute(body);
    return execute(branches.otherwise);
}

void Interpreter::assign(const Target& target, const Value& value)
{
    if (!target.parts.empty()) {
        const std::vector<Value> values = iterate(value, runtime_.meter);
        if (values.size() != target.parts.size())
            fail_run(Text("{0} values are assigned to {1} names", values.size(), target.parts.size()));
        for (size_t i = 0; i < values.size(); ++i)
            assign(target.parts[i], values[i]);
        return;
    }
    runtime_.meter.make(sizeof(Value));
    if (target.attribute.empty()) {
        scope_->names.insert_or_assign(target.name, value);
        return;
    }
    const Value object = evaluate(Name{target.name});
    if (!object.is(Value::Kind::Namespace))
        fail_run(Text("it sets an attribute of '{0}', which is no namespace", printable(target.name)));
    object.name_space()->attributes.insert_or_assign(target.attribute, value);
}

// The items that a loop visits: those for which its condition is true.
std::vector<Value> Interpreter::loop_items(const For& loop)
{
    const Value iterable = evaluate(*loop.iterable);
    std::vector<Value> items = iterate(iterable, runtime_.meter);
    if (!loop.condition) return items;
    std::vector<Value> kept;
    for (Value& item : items) {
        const ScopeGuard scope(*this, scope_);
        assign(loop.target, item);
        if (evaluate(*loop.condition).truth()) kept.push_back(std::move(item));
    }
    return kept;
}

Interpreter::Flow Interpreter::execute(const For& loop)
{
    const auto state = std::make_shared<LoopState>(loop_items(loop));
    if (state->items.empty()) {
        const ScopeGuard scope(*this, scope_);
        return execute(loop.otherwise);
    }
    state->loop_depth = ++loop_depth_;
    for (; state->index < state->items.size(); ++state->index) {
        const ScopeGuard scope(*this, scope_);
        scope_->names["loop"] = Value(state);
        assign(loop.target, state->items[state->index]);
        if (execute(loop.body) == Flow::Break) break;
    }
    --loop_depth_;
    return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const Set& set)
{
    assign(set.target, evaluate(*set.value));
    return Flow::Next;
}

// Applies the filters of a block to its text.
std::string Interpreter::filtered(const ExpressionPtr& filter, std::string text)
{
    if (!filter) return text;
    const std::string* const outside = std::exchange(input_, &text);
    const Value result = evaluate(*filter);
    input_ = outside;
    return to_text(result, runtime_.meter);
}

Interpreter::Flow Interpreter::execute(const SetBlock& set)
{
    std::string text;
    {
        Capture capture(*this);
        const ScopeGuard scope(*this, scope_);
        if (const Flow flow = execute(set.body); flow != Flow::Next) return flow;
        text = std::move(capture.text);
    }
    assign(set.target, Value(filtered(set.filter, std::move(text))));
    return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const FilterBlock& filter)
{
    std::string text;
    {
        Capture capture(*this);
        const ScopeGuard scope(*this, scope_);
        if (const Flow flow = execute(filter.body); flow != Flow::Next) return flow;
        text = std::move(capture.text);
    }
    print(filtered(filter.filter, std::move(text)));
    return Flow::Next;
}

Value Interpreter::make_macro(const Macro& macro)
{
    runtime_.meter.make(sizeof(Scope) + sizeof(Function));
    for (Scope* scope = scope_; scope && !scope->is_captured; scope = scope->parent)
        scope->is_captured = true;
    return std::make_shared<Function>(Function{.name = macro.name, .macro = &macro, .scope = scope_});
}

Interpreter::Flow Interpreter::execute(const Macro& macro)
{
    scope_->names.insert_or_assign(macro.name, make_macro(macro));
    return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const CallBlock& block)
{
    const auto& called = std::get<Call>(block.call->content);
    const Value callee = evaluate(*called.callee);
    CallArguments arguments = evaluate(called.arguments);
    arguments.named.emplace_back("caller", make_macro(block.caller));
    print(to_text(call(callee, std::move(arguments)), runtime_.meter));
    return Flow::Next;
}

Interpreter::Flow Interpreter::execute(const With& with)
{
    std::vector<Value> values; // evaluated outside of the new scope
    for (const auto& [target, value] : with.values)
        values.push_back(evaluate(*value));
    const ScopeGuard scope(*this, scope_);
    for (size_t i = 0; i < values.size(); ++i)
        assign(with.values[i].first, values[i]);
    return execute(with.body);
}

Value Interpreter::call(const Value& callee, CallArguments arguments)
{
    if (callee.is(Value::Kind::Undefined)) fail_run(callee.why_undefined());
    if (!callee.is(Value::Kind::Function)) fail_run(Text("a {0} cannot be called", callee.type_name()));
    const Function& function = callee.function();
    if (function.macro) return call_macro(function, std::move(arguments));
    if (function.self.is(Value::Kind::String)) runtime_.meter.step(function.self.text().size() / 16);
    ArgumentReader reader(Text::verbatim("'" + function.name + "'"), std::move(arguments), runtime_.meter);
    Value result = function.native(runtime_, function.self, reader);
    reader.finish();
    return result;
}

void Interpreter::bind_parameters(const Macro& macro, CallArguments arguments)
{
    ArgumentReader reader(Text("macro '{0}'", printable(macro.name)), std::move(arguments), runtime_.meter);
    if (auto caller = reader.named("caller")) scope_->names["caller"] = *std::move(caller);
    for (const Parameter& parameter : macro.parameters) {
        auto value = reader.next(parameter.name);
        if (!value && parameter.fallback) value = evaluate(*parameter.fallback);
        if (!value) value = Value::undefined(Text("the parameter '{0}' was not given", printable(parameter.name)));
        scope_->names.insert_or_assign(parameter.name, *std::move(value));
    }
    Dict named;
    for (auto& [name, value] : reader.all_named())
        named.set(Value(name), std::move(value), runtime_.meter);
    if (reader.has_positional()) scope_->names["varargs"] = Value::tuple(reader.rest());
    if (named.size() > 0) scope_->names["kwargs"] = Value(std::move(named));
}

Value Interpreter::call_macro(const Function& function, CallArguments arguments)
{
    const Meter::Level level(runtime_.meter);
    Capture capture(*this);
    const ScopeGuard scope(*this, function.scope);
    bind_parameters(*function.macro, std::move(arguments));
    const size_t outside = std::exchange(loop_depth_, 0);
    execute(function.macro->body);
    loop_depth_ = outside;
    return std::move(capture.text);
}

} // namespace palimpsest::engine::jinja
