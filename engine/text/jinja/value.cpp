#include "engine/text/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/substring_search.h"

namespace palimpsest::engine::jinja {
namespace {

size_t depth_with(size_t depth)
{
    if (depth >= limits::value_depth)
        fail_limit(Text("it nests lists and dicts more than {0} deep", limits::value_depth));
    return depth + 1;
}

size_t depth_around(const std::vector<Value>& items)
{
    size_t depth = 0;
    for (const Value& item : items)
        depth = std::max(depth, item.depth());
    return depth_with(depth);
}

Sequence sequence(std::vector<Value> items, bool is_tuple)
{
    const size_t depth = depth_around(items);
    return {std::move(items), is_tuple, depth};
}

constexpr size_t longest_key = 65536; // bytes; every lookup copies the key

void check_key(size_t bytes)
{
    if (bytes > longest_key) fail_limit(Text("it uses a text of more than {0} bytes as a key", longest_key));
}

// Returns one text for all keys that Python considers equal; empty for unhashable keys.
std::optional<std::string> key_text(const Value& key)
{
    if (key.is(Value::Kind::String)) {
        check_key(key.text().size());
        return "s" + key.text();
    }
    if (key.is(Value::Kind::None)) return "n";
    if (key.is_integer()) return "i" + std::to_string(key.integer());
    if (key.is(Value::Kind::Float)) {
        const double number = key.number();
        if (number == std::floor(number) && std::abs(number) < 1e15)
            return "i" + std::to_string(static_cast<int64_t>(number));
        char digits[32];
        const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
        return "f" + std::string(std::begin(digits), end);
    }
    if (!key.is(Value::Kind::Sequence) || !key.is_tuple()) return std::nullopt;
    std::string text = "t";
    for (const Value& item : key.items()) {
        const auto part = item.is(Value::Kind::Sequence) ? std::nullopt : key_text(item);
        if (!part) return std::nullopt;
        text += std::to_string(part->size()) + ":" + *part;
        check_key(text.size());
    }
    return text;
}

} // namespace

Value Value::list(std::vector<Value> items)
{
    return {Kind::Sequence, std::make_shared<Sequence>(sequence(std::move(items), false))};
}

Value Value::tuple(std::vector<Value> items)
{
    return {Kind::Sequence, std::make_shared<Sequence>(sequence(std::move(items), true))};
}

Value::Value(Dict dict) : kind_(Kind::Dict), shared_(std::make_shared<Dict>(std::move(dict))) {}
Value::Value(std::shared_ptr<Function> function) : kind_(Kind::Function), shared_(std::move(function)) {}
Value::Value(std::shared_ptr<LoopState> loop) : kind_(Kind::Loop), shared_(std::move(loop)) {}

Value Value::undefined(Text why)
{
    return {Kind::Undefined, std::make_shared<Text>(std::move(why))};
}

const std::vector<Value>& Value::items() const
{
    return static_cast<const Sequence*>(shared_.get())->items;
}

bool Value::is_tuple() const
{
    return is(Kind::Sequence) && static_cast<const Sequence*>(shared_.get())->is_tuple;
}

const Dict& Value::dict() const
{
    return *static_cast<const Dict*>(shared_.get());
}

const Function& Value::function() const
{
    return *static_cast<const Function*>(shared_.get());
}

LoopState& Value::loop() const
{
    return *static_cast<LoopState*>(shared_.get());
}

bool Value::truth() const
{
    switch (kind()) {
    case Kind::Undefined:
    case Kind::None:
        return false;
    case Kind::Boolean:
        return boolean();
    case Kind::Integer:
        return integer() != 0;
    case Kind::Float:
        return number() != 0;
    case Kind::String:
        return !text().empty();
    case Kind::Sequence:
        return !items().empty();
    case Kind::Dict:
        return dict().size() > 0;
    case Kind::Function:
    case Kind::Namespace:
        return true;
    case Kind::Loop:
        return !loop().items.empty();
    }
    return false;
}

Text Value::why_undefined() const
{
    return shared_ ? *static_cast<const Text*>(shared_.get()) : Text("a value is undefined");
}

std::string Value::type_name() const
{
    constexpr const char* names[] = {"Undefined", "NoneType", "bool",     "int",       "float",      "str",
                                     "list",      "dict",     "function", "Namespace", "LoopContext"};
    return is_tuple() ? "tuple" : names[static_cast<size_t>(kind())];
}

size_t Value::depth() const
{
    if (is(Kind::Sequence)) return static_cast<const Sequence*>(shared_.get())->depth;
    if (is(Kind::Dict)) return dict().depth();
    if (is(Kind::Function)) return function().self.depth() + 1;
    return is(Kind::Loop) ? loop().value_depth : 0;
}

LoopState::LoopState(std::vector<Value> all) : items(std::move(all)), value_depth(depth_around(items)) {}

void Dict::set(Value key, Value value)
{
    auto text = key_text(key);
    if (!text) fail_run(Text("a {0} cannot be a dict's key", key.type_name()));
    set_text(*std::move(text), std::move(key), std::move(value));
}

void Dict::set(Value key, Value value, Meter& meter)
{
    auto text = key_text(key);
    if (!text) fail_run(Text("a {0} cannot be a dict's key", key.type_name()));
    meter.make(text->size());
    set_text(*std::move(text), std::move(key), std::move(value));
}

void Dict::set_text(std::string text, Value key, Value value)
{
    depth_ = std::max(depth_, depth_with(value.depth()));
    const size_t bytes = text.size();
    const auto [at, is_new] = index_.try_emplace(std::move(text), items_.size());
    if (is_new) {
        items_.emplace_back(std::move(key), std::move(value));
        key_bytes_ += bytes;
    } else {
        items_[at->second].second = std::move(value);
    }
}

const Value* Dict::find(const Value& key, Meter& meter) const
{
    const auto text = key_text(key);
    if (!text) return nullptr;
    meter.step(text->size() / 64);
    const auto found = index_.find(*text);
    return found == index_.end() ? nullptr : &items_[found->second].second;
}

const Value* Dict::find(std::string_view key) const
{
    const auto found = index_.find("s" + std::string(key));
    return found == index_.end() ? nullptr : &items_[found->second].second;
}

namespace {

bool equal_dicts(const Dict& a, const Dict& b, Meter& meter)
{
    if (a.size() != b.size()) return false;
    return std::all_of(a.items().begin(), a.items().end(), [&](const auto& item) {
        const Value* other = b.find(item.first, meter);
        return other && equal(item.second, *other, meter);
    });
}

[[noreturn]] void no_order(const Value& a, const Value& b)
{
    fail_run(Text("'{0}' is not supported between {1} and {2}", "<", a.type_name(), b.type_name()));
}

} // namespace

bool equal(const Value& a, const Value& b, Meter& meter)
{
    meter.step();
    if (a.is_number() && b.is_number()) {
        if (a.is_integer() && b.is_integer()) return a.integer() == b.integer();
        return a.number() == b.number();
    }
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
    case Value::Kind::Undefined:
    case Value::Kind::None:
        return true;
    case Value::Kind::String:
        meter.step(a.text().size() / 64);
        return a.text() == b.text();
    case Value::Kind::Sequence:
        return a.is_tuple() == b.is_tuple() &&
               std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                          [&](const Value& x, const Value& y) { return equal(x, y, meter); });
    case Value::Kind::Dict:
        return equal_dicts(a.dict(), b.dict(), meter);
    case Value::Kind::Function:
        return &a.function() == &b.function();
    case Value::Kind::Namespace:
        return a.name_space() == b.name_space();
    case Value::Kind::Loop:
        return &a.loop() == &b.loop();
    default:
        return false; // numbers are handled above
    }
}

bool less(const Value& a, const Value& b, Meter& meter)
{
    meter.step();
    if (a.is(Value::Kind::Undefined)) fail_run(a.why_undefined());
    if (b.is(Value::Kind::Undefined)) fail_run(b.why_undefined());
    if (a.is_integer() && b.is_integer()) return a.integer() < b.integer();
    if (a.is_number() && b.is_number()) return a.number() < b.number();
    if (a.kind() != b.kind()) no_order(a, b);
    if (a.is(Value::Kind::String)) {
        meter.step(std::min(a.text().size(), b.text().size()) / 64);
        return a.text() < b.text(); // UTF-8 sorts like code points
    }
    if (!a.is(Value::Kind::Sequence) || a.is_tuple() != b.is_tuple()) no_order(a, b);
    for (size_t i = 0; i < a.items().size() && i < b.items().size(); ++i)
        if (!equal(a.items()[i], b.items()[i], meter)) return less(a.items()[i], b.items()[i], meter);
    return a.items().size() < b.items().size();
}

bool contains(const Value& container, const Value& item, Meter& meter)
{
    switch (container.kind()) {
    case Value::Kind::Undefined:
        return false;
    case Value::Kind::String:
        if (!item.is(Value::Kind::String))
            fail_run(Text("{0} needs a str, not {1}", "'in <str>'", item.type_name()));
        meter.step(container.text().size() / 16);
        if (item.text().size() > container.text().size()) return false;
        return SubstringSearch(item.text(), meter).first(container.text()) != std::string::npos;
    case Value::Kind::Dict:
        return container.dict().find(item, meter) != nullptr;
    case Value::Kind::Sequence:
        return std::any_of(container.items().begin(), container.items().end(),
                           [&](const Value& each) { return equal(each, item, meter); });
    default:
        fail_run(Text("a {0} contains nothing", container.type_name()));
    }
}

std::vector<Value> iterate(const Value& value, Meter& meter)
{
    std::vector<Value> items;
    switch (value.kind()) {
    case Value::Kind::Undefined:
        return items;
    case Value::Kind::Sequence:
        meter.make(value.items().size() * sizeof(Value));
        return value.items();
    case Value::Kind::Dict:
        meter.make(value.dict().size() * sizeof(Value));
        for (const auto& item : value.dict().items())
            items.push_back(item.first);
        return items;
    case Value::Kind::String:
        meter.make(value.text().size() * 64);
        for (size_t at = 0; at < value.text().size();) {
            const size_t begin = at;
            next_code_point(value.text(), at);
            items.emplace_back(value.text().substr(begin, at - begin));
        }
        return items;
    default:
        fail_run(Text("a {0} cannot be iterated over", value.type_name()));
    }
}

int64_t length(const Value& value)
{
    switch (value.kind()) {
    case Value::Kind::Undefined:
        return 0;
    case Value::Kind::String:
        return static_cast<int64_t>(count_code_points(value.text()));
    case Value::Kind::Sequence:
        return static_cast<int64_t>(value.items().size());
    case Value::Kind::Dict:
        return static_cast<int64_t>(value.dict().size());
    case Value::Kind::Loop:
        return static_cast<int64_t>(value.loop().items.size());
    default:
        fail_run(Text("a {0} has no length", value.type_name()));
    }
}

} // namespace palimpsest::engine::jinja
