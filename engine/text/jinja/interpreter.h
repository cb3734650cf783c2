// Executes a syntax tree.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja/runtime.h"
#include "engine/text/jinja/syntax.h"

namespace palimpsest::engine::jinja {

// The names set by a template, a loop iteration or a macro call.
struct Scope {
    std::map<std::string_view, Value> names; // keys point into the syntax tree or native code
    Scope* parent = nullptr;
    bool is_captured = false; // a macro defined in it may be called later
};

// Renders a template once.
class Interpreter {
public:
    // `body` and `context` must outlive this.
    Interpreter(const syntax::Block& body, const Dict& context, Meter meter, const std::tm& date)
        : body_(body), context_(context), runtime_{meter, date}
    {
    }
    // Throws Error (Failed): PAL-TEMPLATE-02 to -05.
    std::string run();

private:
    enum class Flow { Next, Break, Continue };
    class ScopeGuard;
    class Capture;

    Flow execute(const syntax::Block& block);
    Flow execute(const syntax::Data& data);
    Flow execute(const syntax::Print& print);
    Flow execute(const syntax::If& branches);
    Flow execute(const syntax::For& loop);
    Flow execute(const syntax::Set& set);
    Flow execute(const syntax::SetBlock& set);
    Flow execute(const syntax::Macro& macro);
    Flow execute(const syntax::CallBlock& call);
    Flow execute(const syntax::FilterBlock& filter);
    Flow execute(const syntax::With& with);
    Flow execute(const syntax::Break&) const { return Flow::Break; }
    Flow execute(const syntax::Continue&) const { return Flow::Continue; }

    Value evaluate(const syntax::Expression& expression);
    Value evaluate(const syntax::Literal& literal) const { return literal.value; }
    Value evaluate(const syntax::Name& name);
    Value evaluate(const syntax::ListLiteral& list);
    Value evaluate(const syntax::DictLiteral& dict);
    Value evaluate(const syntax::Attribute& attribute);
    Value evaluate(const syntax::Item& item);
    Value evaluate(const syntax::Slice& slice);
    Value evaluate(const syntax::Call& call);
    Value evaluate(const syntax::Filter& filter);
    Value evaluate(const syntax::Test& test);
    Value evaluate(const syntax::Unary& unary);
    Value evaluate(const syntax::Binary& binary);
    Value evaluate(const syntax::Concatenation& concatenation);
    Value evaluate(const syntax::Comparison& comparison);
    Value evaluate(const syntax::Conditional& conditional);

    CallArguments evaluate(const syntax::Arguments& arguments);
    bool holds(syntax::Relation relation, const Value& a, const Value& b);
    Value call(const Value& callee, CallArguments arguments);
    Value call_macro(const Function& function, CallArguments arguments);
    void bind_parameters(const syntax::Macro& macro, CallArguments arguments);
    Value make_macro(const syntax::Macro& macro);
    std::string filtered(const syntax::ExpressionPtr& filter, std::string text);
    void assign(const syntax::Target& target, const Value& value);
    std::vector<Value> loop_items(const syntax::For& loop);
    void print(std::string_view text);

    const syntax::Block& body_;
    const Dict& context_;
    Runtime runtime_;
    std::string output_;
    std::string* out_ = &output_;        // redirected while a block's text is captured
    const std::string* input_ = nullptr; // the block's text that its filters are applied to
    size_t loop_depth_ = 0;
    std::vector<std::unique_ptr<Scope>> scopes_; // captured scopes are kept until rendering ends
    Scope* scope_ = nullptr;
};

} // namespace palimpsest::engine::jinja
