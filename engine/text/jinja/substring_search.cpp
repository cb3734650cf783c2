#include "engine/text/jinja/substring_search.h"

namespace palimpsest::engine::jinja {

SubstringSearch::SubstringSearch(std::string_view wanted, Meter& meter, Direction direction)
    : wanted_(wanted), is_backward_(direction == Direction::Backward)
{
    meter.make(wanted.size() * sizeof(uint32_t));
    borders_.reserve(wanted.size());
    for (size_t i = 0, border = 0; i < wanted.size(); ++i) {
        if (i > 0) border = next(border, wanted_at(i));
        borders_.push_back(static_cast<uint32_t>(border));
    }
}

size_t SubstringSearch::next(size_t matched, char byte) const
{
    while (matched > 0 && wanted_at(matched) != byte)
        matched = borders_[matched - 1];
    return wanted_at(matched) == byte ? matched + 1 : 0;
}

size_t SubstringSearch::first(std::string_view text, size_t from) const
{
    if (wanted_.empty()) return from;
    size_t matched = 0;
    for (size_t at = from; at < text.size(); ++at) {
        matched = next(matched, text[at]);
        if (matched == wanted_.size()) return at + 1 - matched;
    }
    return std::string_view::npos;
}

size_t SubstringSearch::last(std::string_view text) const
{
    if (wanted_.empty()) return text.size();
    size_t matched = 0;
    for (size_t at = text.size(); at-- > 0;) {
        matched = next(matched, text[at]);
        if (matched == wanted_.size()) return at;
    }
    return std::string_view::npos;
}

} // namespace palimpsest::engine::jinja
