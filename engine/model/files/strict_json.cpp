#include "engine/model/files/strict_json.h"

#include <string>
#include <vector>

namespace palimpsest::engine {
namespace {

using nlohmann::json;

// Builds the value from the parser's events; returning false ends the parse.
class Builder : public nlohmann::json_sax<json> {
public:
    explicit Builder(JsonLimits limits) : limits_(limits) {}

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return reject(Text("binary data")); }
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override
    {
        const auto [at, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(std::move(name));
        if (!is_new) return reject(Text("the key {0} comes twice", in_quotes(at->first)));
        member_ = &at->second;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override
    {
        return reject(Text("not valid JSON at byte {0}", position));
    }

    json take() { return std::move(root_); }
    const Text& complaint() const { return complaint_; }

private:
    bool reject(Text complaint)
    {
        complaint_ = std::move(complaint);
        return false;
    }

    json* place(json value)
    {
        if (open_.empty()) return &(root_ = std::move(value));
        if (open_.back()->is_object()) return &(*member_ = std::move(value));
        auto& array = open_.back()->get_ref<json::array_t&>();
        array.push_back(std::move(value));
        return &array.back();
    }

    bool add(json value)
    {
        if (++values_ > limits_.values) return reject(Text("more than {0} values", limits_.values));
        place(std::move(value));
        return true;
    }

    bool open(json container)
    {
        if (++values_ > limits_.values) return reject(Text("more than {0} values", limits_.values));
        if (open_.size() >= static_cast<size_t>(limits_.depth))
            return reject(Text("nested deeper than {0} levels", limits_.depth));
        open_.push_back(place(std::move(container)));
        return true;
    }

    bool close()
    {
        open_.pop_back();
        return true;
    }

    JsonLimits limits_;
    json root_;
    std::vector<json*> open_; // stays valid: a container grows only while none of its children is open
    json* member_ = nullptr;  // the value of the last key
    size_t values_ = 0;
    Text complaint_;
};

} // namespace

json parse_strict_json(std::string_view text, JsonLimits limits, const Refusal& refuse, ErrorCode rule)
{
    // The library would treat a NUL as the end of the text, and skip a byte order mark.
    if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
        refuse.fail(rule, Text("not valid JSON at byte {0}: a NUL byte", nul));
    if (text.starts_with("\xEF\xBB\xBF"))
        refuse.fail(rule, Text("it begins with a byte order mark instead of JSON"));
    Builder builder(limits);
    if (!json::sax_parse(text, &builder)) refuse.fail(rule, builder.complaint());
    return builder.take();
}

} // namespace palimpsest::engine
