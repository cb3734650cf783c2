#include "engine/encoder/bert_normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

constexpr char32_t capital_i_with_dot = 0x130, dot_above = 0x307;

utf8proc_category_t category(char32_t code)
{
    return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_removed(char32_t code)
{
    if (code == 0 || code == replacement_character) return true;
    if (code == '\t' || code == '\n' || code == '\r') return false;
    const auto found = category(code);
    return found == UTF8PROC_CATEGORY_CC || found == UTF8PROC_CATEGORY_CF || found == UTF8PROC_CATEGORY_CO;
}

// The ranges of BERT's own tokenizer; they leave out some of the ideographs that Unicode has.
bool is_bert_ideograph(char32_t code)
{
    struct Range {
        char32_t first, last;
    };
    static constexpr Range ranges[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                       {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                       {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [code](const Range& range) { return code >= range.first && code <= range.last; });
}

class CharacterNormalizer {
public:
    explicit CharacterNormalizer(const BertNormalization& settings) : settings_(settings) {}

    NormalizedCharacters normalize(char32_t code)
    {
        if (settings_.clean_text) {
            if (is_removed(code)) return out_;
            if (is_bert_space(code)) code = ' ';
        }
        const bool is_spaced = settings_.spaces_ideographs && is_bert_ideograph(code);
        if (is_spaced) write(' ');
        if (settings_.strip_accents)
            decompose(code);
        else
            lower(code);
        if (is_spaced) write(' ');
        return out_;
    }

private:
    // Marks with a combining class that are not nonspacing keep their order, which NFD might change between
    // characters; no vocabulary has them.
    void decompose(char32_t code)
    {
        std::array<utf8proc_int32_t, 8> parts;
        int last_class = 0;
        const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                                   std::ssize(parts), UTF8PROC_DECOMPOSE, &last_class);
        for (utf8proc_ssize_t i = 0; i < count; ++i)
            if (utf8proc_category(parts[static_cast<size_t>(i)]) != UTF8PROC_CATEGORY_MN)
                lower(static_cast<char32_t>(parts[static_cast<size_t>(i)]));
    }

    void lower(char32_t code)
    {
        if (!settings_.lowercase) return write(code);
        if (code == capital_i_with_dot) { // the only character whose lower case has two
            write('i');
            return write(dot_above);
        }
        write(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
    }

    void write(char32_t code) { out_.codes[static_cast<size_t>(out_.count++)] = code; }

    const BertNormalization& settings_;
    NormalizedCharacters out_;
};

} // namespace

NormalizedCharacters normalize_for_bert(char32_t code, const BertNormalization& settings)
{
    return CharacterNormalizer(settings).normalize(code);
}

bool is_bert_space(char32_t code)
{
    if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_bert_punctuation(char32_t code)
{
    if (code < 0x80)
        return (code > ' ' && code < '0') || (code > '9' && code < 'A') || (code > 'Z' && code < 'a') ||
               (code > 'z' && code < 0x7F);
    const auto found = category(code);
    return found >= UTF8PROC_CATEGORY_PC && found <= UTF8PROC_CATEGORY_PO;
}

} // namespace palimpsest::engine
