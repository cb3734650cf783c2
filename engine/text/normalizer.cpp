#include "engine/text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>
#include <vector>

#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {

void OffsetMap::add(uint64_t position, uint64_t source)
{
    const uint64_t expected =
        anchors_.empty() ? position : anchors_.back().source + (position - anchors_.back().position);
    if (source != expected) anchors_.push_back({position, source});
}

uint64_t OffsetMap::source(uint64_t position) const
{
    const auto next = std::upper_bound(anchors_.begin(), anchors_.end(), position,
                                       [](uint64_t p, const Anchor& anchor) { return p < anchor.position; });
    const uint64_t here =
        next == anchors_.begin() ? position : std::prev(next)->source + (position - std::prev(next)->position);
    return next == anchors_.end() ? here : std::min(here, next->source);
}

void OffsetMap::forget(uint64_t position)
{
    while (anchors_.size() > 1 && anchors_[1].position <= position)
        anchors_.pop_front();
}

namespace {

struct Character {
    char32_t code;
    // In the source. If several characters replace one, all but the first have an empty range at the end of that
    // one.
    uint64_t begin, end;
};

constexpr char32_t en_dash = 0x2013;
constexpr char32_t ellipsis = 0x2026;
constexpr char32_t gone = 0x110000;
constexpr size_t longest_sequence = 32;
constexpr size_t longest_decomposition = 4; // characters; the maximum in Unicode

// NFC neither changes nor combines characters below U+0300.
constexpr char32_t first_combining = 0x300;

bool is_dash(char32_t code)
{
    return code >= 0x2012 && code <= 0x2015;
}

bool is_digit(char32_t code)
{
    if (code < 0x80) return code >= '0' && code <= '9';
    return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ND;
}

// Maps characters whose replacement does not depend on their context.
char32_t mapped(char32_t code)
{
    if (code < 0x80) return code == '\t' ? U' ' : code == '`' ? U'\'' : code;
    switch (code) {
    case 0xB4:
    case 0x2BC:
    case 0x2018:
    case 0x2019:
    case 0x201A:
    case 0x201B:
    case 0x2032:
    case 0x2035:
    case 0x2039:
    case 0x203A:
        return '\'';
    case 0xAB:
    case 0xBB:
    case 0x201C:
    case 0x201D:
    case 0x201E:
    case 0x201F:
    case 0x2033:
    case 0x2036:
        return '"';
    case 0x2010:
    case 0x2011:
    case 0x2043:
    case 0x2212:
    case 0xFE63:
    case 0xFF0D:
        return '-';
    case 0xAD:
    case 0x200B:
    case 0x200C:
    case 0x200D:
    case 0x200E:
    case 0x200F:
    case 0x2060:
    case 0xFEFF:
        return gone;
    case 0xA0:
    case 0x1680:
    case 0x202F:
    case 0x205F:
    case 0x3000:
        return ' ';
    case 0x17F:
        return 's';
    default:
        return code >= 0x2000 && code <= 0x200A ? U' ' : code;
    }
}

// The spelling of a ligature; null for other characters.
const char* letters(char32_t code)
{
    static constexpr std::array<const char*, 7> ligatures = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
    return code >= 0xFB00 && code <= 0xFB06 ? ligatures[code - 0xFB00] : nullptr;
}

// Whether a character may combine with the preceding one. In Unicode these are only marks and the vowels and final
// consonants of Hangul.
bool may_combine(char32_t code)
{
    if (code < first_combining) return false;
    if (code >= 0x1160 && code <= 0x11FF) return true;
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
}

bool has_decomposition(char32_t code)
{
    return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->decomp_seqindex != UINT16_MAX;
}

} // namespace

// A chain of stages, each of which passes characters to the next. A stage holds back at most a few characters, or
// the source range of a run. The stages have the order of the passes of `normalize` in recipe/corpus.py.
class Normalizer::Stages { // NOLINT(clang-analyzer-optin.performance.Padding): members are grouped by stage
public:
    explicit Stages(bool only_composes) : only_composes_(only_composes) {}

    void push(std::string_view bytes, std::string& out, OffsetMap& map)
    {
        bind(out, map);
        for (char byte : bytes)
            decoder_.push(static_cast<unsigned char>(byte),
                          [&](char32_t code, size_t size, bool) { take(code, size); });
    }

    void finish(std::string& out, OffsetMap& map)
    {
        bind(out, map);
        decoder_.finish([&](char32_t code, size_t size, bool) { take(code, size); });
        if (std::exchange(has_range_dash_, false)) join_dashes(range_dash_);
        flush_dash();
        flush_spaces_before_dash();
        flush_dots();
        if (std::exchange(has_space_, false)) compose(space_);
        flush_sequence();
    }

private:
    void bind(std::string& out, OffsetMap& map)
    {
        out_ = &out;
        map_ = &map;
    }

    void take(char32_t code, size_t size)
    {
        const Character c{code, source_, source_ + size};
        source_ += size;
        if (only_composes_)
            compose(c);
        else
            map_lines(c);
    }

    // Line ends become LF, and so do the line and paragraph separators (two LF for the latter).
    void map_lines(const Character& c)
    {
        const bool after_return = std::exchange(after_return_, c.code == '\r');
        if (c.code == '\n' && after_return) return;
        if (c.code == '\r' || c.code == 0x2028) return map_character({'\n', c.begin, c.end});
        if (c.code != 0x2029) return map_character(c);
        map_character({'\n', c.begin, c.end});
        map_character({'\n', c.end, c.end});
    }

    void map_character(const Character& c)
    {
        const char32_t code = mapped(c.code);
        if (code == gone) return;
        const char* spelled = letters(code);
        if (spelled == nullptr) return join_range({code, c.begin, c.end});
        join_range({static_cast<char32_t>(*spelled), c.begin, c.end});
        while (*++spelled != '\0')
            join_range({static_cast<char32_t>(*spelled), c.end, c.end});
    }

    // An en dash between digits becomes a hyphen: 1914-1918.
    void join_range(const Character& c)
    {
        const bool digit = is_digit(c.code);
        if (std::exchange(has_range_dash_, false)) {
            if (digit) range_dash_.code = '-';
            join_dashes(range_dash_);
        }
        if (c.code == en_dash && after_digit_) {
            has_range_dash_ = true;
            range_dash_ = c;
        } else {
            join_dashes(c);
        }
        after_digit_ = digit;
    }

    // Adjacent dashes (U+2012 to U+2015) become one --, and the spaces around them are dropped: "a —— b" becomes
    // "a--b". With spaces between them, each becomes its own --: "a — — b" becomes "a----b".
    void join_dashes(const Character& c)
    {
        if (is_dash(c.code)) {
            if (has_dash_ && dash_has_space_) flush_dash();
            if (!has_dash_) dash_ = {'-', spaces_ > 0 ? spaces_begin_ : c.begin, c.end};
            has_dash_ = true;
            dash_.end = c.end;
            spaces_ = 0;
        } else if (c.code == ' ' && has_dash_) {
            dash_has_space_ = true;
            dash_.end = c.end;
        } else if (c.code == ' ') {
            if (spaces_++ == 0) spaces_begin_ = c.begin, first_space_end_ = c.end;
            spaces_end_ = c.end;
        } else {
            flush_dash();
            flush_spaces_before_dash();
            spell_ellipsis(c);
        }
    }

    void flush_dash()
    {
        if (!std::exchange(has_dash_, false)) return;
        dash_has_space_ = false;
        spell_ellipsis(dash_);
        spell_ellipsis({'-', dash_.end, dash_.end});
    }

    // Later stages treat any run of two or more spaces alike, so it is passed on as two.
    void flush_spaces_before_dash()
    {
        const uint64_t count = std::exchange(spaces_, 0);
        if (count > 0) spell_ellipsis({' ', spaces_begin_, first_space_end_});
        if (count > 1) spell_ellipsis({' ', first_space_end_, spaces_end_});
    }

    void spell_ellipsis(const Character& c)
    {
        if (c.code != ellipsis) return join_dots(c);
        join_dots({'.', c.begin, c.end});
        join_dots({'.', c.end, c.end});
        join_dots({'.', c.end, c.end});
    }

    // Three or more dots, each separated from the previous one by at most one space, become three.
    void join_dots(const Character& c)
    {
        if (c.code == '.') {
            if (dots_ > 0 && has_gap_) gap_inside_ = gap_;
            if (dots_ < 2) dot_[dots_] = c;
            had_gap_ = has_gap_;
            dots_ = std::min(dots_ + 1, 3);
            dots_end_ = c.end;
            has_gap_ = false;
        } else if (c.code == ' ' && dots_ > 0 && !has_gap_) {
            has_gap_ = true;
            gap_ = c;
        } else {
            flush_dots();
            join_spaces(c);
        }
    }

    void flush_dots()
    {
        const int dots = std::exchange(dots_, 0);
        if (dots == 3) {
            join_spaces({'.', dot_[0].begin, dots_end_});
            join_spaces({'.', dots_end_, dots_end_});
            join_spaces({'.', dots_end_, dots_end_});
        } else if (dots > 0) {
            join_spaces(dot_[0]);
            if (dots == 2 && had_gap_) join_spaces(gap_inside_);
            if (dots == 2) join_spaces(dot_[1]);
        }
        if (std::exchange(has_gap_, false)) join_spaces(gap_);
    }

    void join_spaces(const Character& c)
    {
        if (c.code == ' ') {
            if (!has_space_) space_ = c;
            has_space_ = true;
            space_.end = c.end;
            return;
        }
        if (std::exchange(has_space_, false)) compose(space_);
        compose(c);
    }

    // Applies NFC to one sequence at a time: a character and those that may combine with it.
    void compose(const Character& c)
    {
        if (!may_combine(c.code) || sequence_.size() == longest_sequence) flush_sequence();
        sequence_.push_back(c);
    }

    void flush_sequence()
    {
        if (sequence_.empty()) return;
        const Character& first = sequence_.front();
        if (sequence_.size() == 1 && (first.code < first_combining || !has_decomposition(first.code)))
            write(first);
        else
            write_composed(first.begin, sequence_.back().end);
        sequence_.clear();
    }

    void write_composed(uint64_t begin, uint64_t end)
    {
        std::string text;
        for (const Character& c : sequence_)
            append_utf8(c.code, text);
        constexpr auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
        std::array<utf8proc_int32_t, longest_sequence * longest_decomposition> codes;
        const auto parts = utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                              std::ssize(text), codes.data(), std::ssize(codes), options);
        assert(parts >= 0 && parts <= std::ssize(codes));
        const auto count = utf8proc_normalize_utf32(codes.data(), parts, options);
        const std::span<const utf8proc_int32_t> composed(codes.data(), static_cast<size_t>(count));
        if (is_unchanged(composed)) {
            for (const Character& c : sequence_)
                write(c);
            return;
        }
        for (size_t i = 0; i < composed.size(); ++i)
            write({static_cast<char32_t>(composed[i]), i == 0 ? begin : end, end});
    }

    bool is_unchanged(std::span<const utf8proc_int32_t> codes) const
    {
        return std::equal(
            codes.begin(), codes.end(), sequence_.begin(), sequence_.end(),
            [](utf8proc_int32_t code, const Character& c) { return static_cast<char32_t>(code) == c.code; });
    }

    void write(const Character& c)
    {
        map_->add(written_, c.begin);
        append_utf8(c.code, *out_);
        written_ += static_cast<uint64_t>(utf8_length(c.code));
        map_->add(written_, c.end);
    }

    bool only_composes_; // skips every stage except the last
    std::string* out_ = nullptr;
    OffsetMap* map_ = nullptr;
    Utf8Decoder decoder_;
    uint64_t source_ = 0;
    bool after_return_ = false;

    bool after_digit_ = false;
    bool has_range_dash_ = false;
    Character range_dash_{};

    uint64_t spaces_ = 0; // pending, before a character that may be a dash
    uint64_t spaces_begin_ = 0, first_space_end_ = 0, spaces_end_ = 0;
    bool has_dash_ = false, dash_has_space_ = false;
    Character dash_{};

    int dots_ = 0; // 3: three or more
    std::array<Character, 2> dot_{};
    uint64_t dots_end_ = 0;
    bool has_gap_ = false, had_gap_ = false; // a space follows the last dot; a space precedes it
    Character gap_{}, gap_inside_{};

    bool has_space_ = false;
    Character space_{};

    std::vector<Character> sequence_;
    uint64_t written_ = 0;
};

Normalizer::Normalizer(std::string_view name)
{
    if (name.empty()) return;
    if (name != "books-1" && name != "nfc")
        throw Error(ErrorKind::Failed, ErrorCode::ModelG13, Text("normalizer '{0}'", printable(name)),
                    Text("the model names a text mapping that this version does not know (it knows 'books-1' and "
                         "'nfc')"),
                    Text("update Palimpsest or use another model"));
    stages_ = std::make_unique<Stages>(name == "nfc");
}

Normalizer::Normalizer(Normalizer&&) noexcept = default;
Normalizer& Normalizer::operator=(Normalizer&&) noexcept = default;
Normalizer::~Normalizer() = default;

void Normalizer::push(std::string_view bytes, std::string& out, OffsetMap& map)
{
    if (stages_)
        stages_->push(bytes, out, map);
    else
        out += bytes;
}

void Normalizer::finish(std::string& out, OffsetMap& map)
{
    if (stages_) stages_->finish(out, map);
}

std::string normalize(std::string_view name, std::string_view text)
{
    std::string out;
    OffsetMap map;
    Normalizer normalizer(name);
    normalizer.push(text, out, map);
    normalizer.finish(out, map);
    return out;
}

} // namespace palimpsest::engine
