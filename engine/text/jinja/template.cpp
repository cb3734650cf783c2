#include "engine/text/jinja/template.h"

#include "engine/text/jinja/interpreter.h"
#include "engine/text/jinja/parser.h"
#include "engine/text/unicode/utf8_cleaner.h"

namespace palimpsest::engine::jinja {
namespace {

// The bytes of all strings in a value, shared ones counted at each occurrence. The cost limits grow with it.
uint64_t text_bytes(const Value& value)
{
    uint64_t bytes = 8;
    if (value.is(Value::Kind::String)) bytes += value.text().size();
    if (value.is(Value::Kind::Sequence))
        for (const Value& item : value.items())
            bytes += text_bytes(item);
    if (value.is(Value::Kind::Dict))
        for (const auto& item : value.dict().items())
            bytes += text_bytes(item.first) + text_bytes(item.second);
    return bytes;
}

} // namespace

Template::Template(std::string_view source) : body_(parse(clean_utf8(source))) {}

std::string Template::render(const Dict& context, const std::tm& date) const
{
    return Interpreter(body_, context, Meter(text_bytes(Value(context))), date).run();
}

} // namespace palimpsest::engine::jinja
