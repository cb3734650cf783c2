// The values of a template: Python's, to the extent that chat templates use them. Integers have 64 bits.
//
// Values are immutable, except for the attributes of a namespace, which the interpreter owns; copies share their
// contents. Functions that traverse nested values take the meter: a small value may contain another one many times.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/jinja/meter.h"
#include "kernels/base/text.h"

namespace palimpsest::engine::jinja {

namespace syntax {
struct Macro;
}
class ArgumentReader;
class Dict;
class Value;
struct Function;
struct LoopState;
struct Namespace;
struct Runtime;
struct Scope;
struct Sequence;

struct None {};
struct String {
    std::string text;
    bool markup = false; // set by the filters safe and escape: "+" then escapes the other operand
};

class Value {
public:
    enum class Kind { Undefined, None, Boolean, Integer, Float, String, Sequence, Dict, Function, Namespace, Loop };

    Value() = default; // undefined
    Value(None) : kind_(Kind::None) {}
    Value(bool value) : kind_(Kind::Boolean), integer_(value ? 1 : 0) {}
    Value(int64_t value) : kind_(Kind::Integer), integer_(value) {}
    Value(double value) : kind_(Kind::Float), number_(value) {}
    Value(std::string text, bool markup = false)
        : kind_(Kind::String), shared_(std::make_shared<String>(String{std::move(text), markup}))
    {
    }
    Value(const char* text) : Value(std::string(text)) {}
    Value(std::string_view text) : Value(std::string(text)) {}
    // Throw Error (PAL-TEMPLATE-04) if containers would be nested too deeply.
    static Value list(std::vector<Value> items);
    static Value tuple(std::vector<Value> items);
    Value(Dict dict);
    Value(std::shared_ptr<Function> function);
    Value(Namespace* owned_by_interpreter) : kind_(Kind::Namespace), name_space_(owned_by_interpreter) {}
    Value(std::shared_ptr<LoopState> loop);
    static Value undefined(Text why);

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool is_number() const { return is(Kind::Integer) || is(Kind::Float) || is(Kind::Boolean); }
    bool is_integer() const { return is(Kind::Integer) || is(Kind::Boolean); } // as in Python's arithmetic

    // REQUIRES: the value is of the kind that the function's name says.
    bool boolean() const { return integer_ != 0; }
    int64_t integer() const { return integer_; } // also of a boolean
    double number() const { return is(Kind::Float) ? number_ : static_cast<double>(integer_); }
    const std::string& text() const { return static_cast<const String*>(shared_.get())->text; }
    bool is_markup() const { return is(Kind::String) && static_cast<const String*>(shared_.get())->markup; }
    const std::vector<Value>& items() const;
    bool is_tuple() const;
    const Dict& dict() const;
    const Function& function() const;
    Namespace* name_space() const { return name_space_; }
    LoopState& loop() const;

    bool truth() const;
    // The error message for an undefined value.
    Text why_undefined() const;
    std::string type_name() const; // as in Python: "str", "list"
    size_t depth() const;          // 0 unless it is a container

private:
    Value(Kind kind, std::shared_ptr<void> shared) : kind_(kind), shared_(std::move(shared)) {}

    Kind kind_ = Kind::Undefined;
    int64_t integer_ = 0;
    double number_ = 0;
    Namespace* name_space_ = nullptr;
    // By kind: String, Sequence, Dict, Function, LoopState; if undefined, the reason (Text) or null.
    std::shared_ptr<void> shared_;
};

struct Sequence {
    std::vector<Value> items;
    bool is_tuple = false;
    size_t depth = 1;
};

// In insertion order. Keys are values that Python can hash: 1, 1.0 and true are the same key.
class Dict {
public:
    // Throws Error (PAL-TEMPLATE-03) for an unhashable key, -04 for one that is too long. With `meter`, charges for
    // the stored copy of the key.
    void set(Value key, Value value);
    void set(Value key, Value value, Meter& meter);
    const Value* find(const Value& key, Meter& meter) const; // null: absent
    const Value* find(std::string_view key) const;
    const std::vector<std::pair<Value, Value>>& items() const { return items_; }
    size_t size() const { return items_.size(); }
    size_t depth() const { return depth_; }
    uint64_t key_bytes() const { return key_bytes_; } // bytes of the stored copies of keys

private:
    void set_text(std::string text, Value key, Value value);

    std::vector<std::pair<Value, Value>> items_;
    std::map<std::string, size_t, std::less<>> index_; // by the key's kind and text
    size_t depth_ = 1;
    uint64_t key_bytes_ = 0;
};

using Native = Value (*)(Runtime& runtime, const Value& self, ArgumentReader& arguments);

// A callable: a native function, a method bound to `self`, or a macro with the scope in which it was defined.
struct Function {
    std::string name{};
    Native native = nullptr;
    Value self{};
    const syntax::Macro* macro = nullptr;
    Scope* scope = nullptr;
};

struct Namespace {
    std::map<std::string, Value, std::less<>> attributes;
};

// The state of a for loop, visible as its variable `loop`.
struct LoopState {
    // Throws Error (PAL-TEMPLATE-04) if the items are nested too deeply.
    explicit LoopState(std::vector<Value> items);

    std::vector<Value> items;
    size_t index = 0;
    size_t loop_depth = 1;
    size_t value_depth;
};

// Python's ==, < and `in`. less and contains throw Error (PAL-TEMPLATE-03) for kinds without such an operation.
bool equal(const Value& a, const Value& b, Meter& meter);
bool less(const Value& a, const Value& b, Meter& meter);
bool contains(const Value& container, const Value& item, Meter& meter);
// The items of Python's iteration: characters of a string, keys of a dict.
std::vector<Value> iterate(const Value& value, Meter& meter);
int64_t length(const Value& value);

} // namespace palimpsest::engine::jinja
