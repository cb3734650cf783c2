#include "engine/text/unicode/display_width.h"

#include <algorithm>
#include <utf8proc.h>

namespace palimpsest::engine {
namespace {

constexpr utf8proc_int32_t emoji_presentation = 0xFE0F;

struct CodePoint {
    utf8proc_int32_t code = -1; // -1: an invalid byte
    size_t bytes = 1;

    int boundary_class() const { return utf8proc_get_property(code)->boundclass; }
    // Terminals give a spacing mark, such as a vowel sign of Hindi, a column of its own.
    size_t columns() const
    {
        const bool is_spacing_mark = utf8proc_category(code) == UTF8PROC_CATEGORY_MC;
        return is_spacing_mark ? 1 : static_cast<size_t>(utf8proc_charwidth(code));
    }
};

CodePoint first_code_point(std::string_view text)
{
    CodePoint first;
    const auto bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                        static_cast<utf8proc_ssize_t>(text.size()), &first.code);
    if (bytes > 0) first.bytes = static_cast<size_t>(bytes);
    return first;
}

// Adds up the columns of the code points of a cluster.
class ClusterWidth {
public:
    explicit ClusterWidth(const CodePoint& first)
        : is_emoji_(first.boundary_class() == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC),
          is_flag_(first.boundary_class() == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR), columns_(first.columns())
    {
    }

    void add(const CodePoint& next)
    {
        const int kind = next.boundary_class();
        const bool joins_syllable =
            kind == UTF8PROC_BOUNDCLASS_V || kind == UTF8PROC_BOUNDCLASS_T || kind == UTF8PROC_BOUNDCLASS_L;
        if (next.code == emoji_presentation || is_flag_)
            columns_ = std::max<size_t>(columns_, 2);
        else if (is_emoji_) // a skin tone is wide, also behind a sign that is narrow alone
            columns_ = std::max(columns_, next.columns());
        else if (!joins_syllable)
            columns_ += next.columns();
    }

    size_t columns() const { return columns_; }

private:
    bool is_emoji_, is_flag_;
    size_t columns_;
};

} // namespace

GraphemeCluster first_cluster(std::string_view text)
{
    CodePoint last = first_code_point(text);
    if (last.code < 0) return {1, 1};
    GraphemeCluster cluster{last.bytes, 0};
    ClusterWidth width(last);
    utf8proc_int32_t state = 0;
    while (cluster.bytes < text.size()) {
        const CodePoint next = first_code_point(text.substr(cluster.bytes));
        if (next.code < 0 || utf8proc_grapheme_break_stateful(last.code, next.code, &state)) break;
        width.add(next);
        cluster.bytes += next.bytes;
        last = next;
    }
    cluster.columns = width.columns();
    return cluster;
}

size_t display_width(std::string_view text)
{
    size_t columns = 0;
    while (!text.empty()) {
        const GraphemeCluster cluster = first_cluster(text);
        columns += cluster.columns;
        text.remove_prefix(cluster.bytes);
    }
    return columns;
}

std::string_view within_width(std::string_view text, size_t columns)
{
    size_t bytes = 0;
    while (bytes < text.size()) {
        const GraphemeCluster cluster = first_cluster(text.substr(bytes));
        if (cluster.columns > columns) break;
        columns -= cluster.columns;
        bytes += cluster.bytes;
    }
    return text.substr(0, bytes);
}

std::string padded(std::string_view text, size_t columns)
{
    return std::string(text) + std::string(columns - std::min(columns, display_width(text)), ' ');
}

} // namespace palimpsest::engine
