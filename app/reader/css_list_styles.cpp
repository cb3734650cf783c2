#include "app/reader/css_list_styles.h"

#include <algorithm>
#include <utility>

namespace palimpsest::reader {
namespace {

std::string without_comments(std::string_view css)
{
    std::string out;
    for (size_t at = 0; at < css.size();) {
        const size_t comment = std::min(css.find("/*", at), css.size());
        out += css.substr(at, comment - at);
        const size_t end = css.find("*/", std::min(comment + 2, css.size()));
        at = end == css.npos ? css.size() : end + 2;
    }
    return out;
}

// Calls `visit` for the parts between the separators.
template<class Visit>
void for_each_part(std::string_view text, std::string_view separators, const Visit& visit)
{
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find_first_of(separators, at), text.size());
        if (end > at) visit(text.substr(at, end - at));
        at = end + 1;
    }
}

} // namespace

std::optional<NumberStyle> letter_style_in(std::string_view declarations)
{
    constexpr std::pair<std::string_view, NumberStyle> styles[] = {
        {"lower-alpha", NumberStyle::LowerLetter}, {"lower-latin", NumberStyle::LowerLetter},
        {"upper-alpha", NumberStyle::UpperLetter}, {"upper-latin", NumberStyle::UpperLetter},
        {"lower-roman", NumberStyle::LowerRoman},  {"upper-roman", NumberStyle::UpperRoman}};
    std::optional<NumberStyle> found;
    for_each_part(declarations, ";", [&](std::string_view declaration) {
        if (declaration.find("list-style") == declaration.npos) return;
        for (const auto& [name, style] : styles)
            if (declaration.find(name) != declaration.npos) found = style;
    });
    return found;
}

void CssListStyles::read(std::string_view css)
{
    const std::string text = without_comments(css);
    size_t begin = 0;
    for (size_t end = text.find('}'); end != text.npos; end = text.find('}', begin)) {
        const std::string_view rule = std::string_view(text).substr(begin, end - begin);
        begin = end + 1;
        const size_t open = rule.rfind('{'); // one of "@media print {" may be before it
        if (open == rule.npos) continue;
        const std::string_view before = rule.substr(0, open);
        const size_t last = before.find_last_of("{;");
        read_rule(last == before.npos ? before : before.substr(last + 1), rule.substr(open + 1));
    }
}

void CssListStyles::read_rule(std::string_view selectors, std::string_view declarations)
{
    const auto style = letter_style_in(declarations);
    if (!style) return;
    for_each_part(selectors, ",", [&](std::string_view selector) {
        std::string_view element; // that the rule is for, as "ol.letters"
        for_each_part(selector, " \t\r\n\f>+~", [&](std::string_view part) { element = part; });
        const size_t dot = element.find('.');
        if (dot == element.npos) return;
        const std::string_view name = element.substr(dot + 1);
        by_class_.insert_or_assign(std::string(name.substr(0, name.find_first_of(".:#["))), *style);
    });
}

std::optional<NumberStyle> CssListStyles::of(std::string_view classes) const
{
    std::optional<NumberStyle> found;
    for_each_part(classes, " \t\r\n\f", [&](std::string_view name) {
        if (const auto known = by_class_.find(std::string(name)); known != by_class_.end()) found = known->second;
    });
    return found;
}

} // namespace palimpsest::reader
