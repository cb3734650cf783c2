#include "kernels/base/text.h"

#include "kernels/base/printable.h"

#include <array>
#include <charconv>

namespace palimpsest {
namespace {

constexpr std::array<std::string_view, setting_count> setting_names = {
    "again",          "budget",      "checkpoint seconds",
    "chunk",          "compute",     "database",
    "device",         "KV type",     "min-p",
    "model",          "no-save",     "pin",
    "policy",         "positions",   "question",
    "last question",  "read again",  "repeat last",
    "repeat penalty", "complete",    "seed",
    "session",        "SIMD target", "form of saved caches",
    "system prompt",  "temperature", "threads",
    "token ids",      "top-k",       "top-p",
};
static_assert(!setting_names.back().empty(), "every setting has a name");

constexpr std::array<std::string_view, step_count> step_clauses = {
    "choose another model",     "choose another database",
    "see the list of models",   "set another default model",
    "see the list of sessions", "see the list of documents",
    "see what is left of it",   "export a session first",
    "remove sessions",          "restore the newest backup, which sets it aside",
    "rescue what can be read",  "see the list of policies",
    "read a document",          "finish reading it first",
    "read it as a document",    "read it again as a further document",
    "pin while it is read",     "run the check of the database",
    "start the program again",
};
static_assert(!step_clauses.back().empty(), "every step has a clause");

class PlainWording final : public Wording {
public:
    std::string pattern(std::string_view english) const override { return std::string(english); }
    std::string setting(Setting setting) const override { return std::string(plain_name(setting)); }
    std::string step(Step step) const override { return std::string(step_clauses[static_cast<size_t>(step)]); }
};

bool is_hole(std::string_view text)
{
    return text.size() >= 3 && text[0] == '{' && text[1] >= '0' && text[1] <= '9' && text[2] == '}';
}

// The first byte of a packed Text. Behind it, a setting has its number, a step its number and its values, a
// verbatim text its length and its bytes, and a pattern also its values. Values are packed as their count and the
// packed Texts. Every number ends with a colon.
constexpr char packed_setting = 's', packed_step = 'n', packed_pattern = 'p', packed_verbatim = 'v';

void pack_number(size_t number, std::string& out)
{
    out += std::to_string(number) + ':';
}

// Removes a number and its colon from the front.
std::optional<size_t> take_number(std::string_view& rest)
{
    size_t number = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (problem != std::errc() || end == rest.data() + rest.size() || *end != ':') return std::nullopt;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()) + 1);
    return number;
}

} // namespace

Text Text::verbatim(std::string shown)
{
    Text text;
    text.pattern_ = std::move(shown);
    text.is_verbatim_ = true;
    return text;
}

Text Text::escaped(std::string_view foreign)
{
    return verbatim(printable(foreign));
}

std::string Text::in(const Wording& wording) const
{
    if (is_verbatim_) return pattern_;
    if (setting_) return wording.setting(*setting_);
    if (empty()) return {};
    const std::string pattern = step_ ? wording.step(*step_) : wording.pattern(pattern_);
    std::string out;
    for (std::string_view rest = pattern; !rest.empty();) {
        if (is_hole(rest)) {
            const size_t value = static_cast<size_t>(rest[1] - '0');
            if (value < values_.size()) out += values_[value].in(wording);
            rest.remove_prefix(3);
        } else {
            out += rest[0];
            rest.remove_prefix(1);
        }
    }
    return out;
}

std::string Text::english() const
{
    return in(PlainWording());
}

std::string Text::packed() const
{
    std::string out;
    pack_into(out);
    return out;
}

void Text::pack_into(std::string& out) const
{
    if (setting_) {
        out += packed_setting;
        return pack_number(static_cast<size_t>(*setting_), out);
    }
    if (step_) {
        out += packed_step;
        pack_number(static_cast<size_t>(*step_), out);
    } else {
        out += is_verbatim_ ? packed_verbatim : packed_pattern;
        pack_number(pattern_.size(), out);
        out += pattern_;
        if (is_verbatim_) return;
    }
    pack_number(values_.size(), out);
    for (const Text& value : values_)
        value.pack_into(out);
}

std::optional<Text> Text::unpacked(std::string_view bytes)
{
    std::optional<Text> text = unpack_from(bytes, 0);
    return bytes.empty() ? text : std::nullopt;
}

std::optional<Text> Text::unpack_from(std::string_view& rest, int nested)
{
    if (rest.empty() || nested > most_nested) return std::nullopt;
    const char kind = rest.front();
    rest.remove_prefix(1);
    const std::optional<size_t> number = take_number(rest);
    if (!number) return std::nullopt;
    Text text;
    if (kind == packed_setting) {
        if (*number >= setting_count) return std::nullopt;
        return Text(static_cast<Setting>(*number));
    }
    if (kind == packed_step) {
        if (*number >= step_count) return std::nullopt;
        text.step_ = static_cast<Step>(*number);
    } else {
        text.is_verbatim_ = kind == packed_verbatim;
        if ((kind != packed_pattern && !text.is_verbatim_) || *number > rest.size()) return std::nullopt;
        text.pattern_ = rest.substr(0, *number);
        rest.remove_prefix(*number);
        if (text.is_verbatim_) return text;
    }
    const std::optional<size_t> count = take_number(rest);
    if (!count) return std::nullopt;
    for (size_t i = 0; i < *count; ++i) {
        std::optional<Text> value = unpack_from(rest, nested + 1);
        if (!value) return std::nullopt;
        text.values_.push_back(*std::move(value));
    }
    return text;
}

std::string_view plain_name(Setting setting)
{
    return setting_names[static_cast<size_t>(setting)];
}

Text joined(const std::vector<Text>& parts, std::string_view separator)
{
    Text all;
    for (const Text& part : parts)
        all = all.empty() ? part : Text("{0}{1}{2}", all, separator, part);
    return all;
}

} // namespace palimpsest
