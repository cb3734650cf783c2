#include "app/reader/docx_styles.h"

#include <algorithm>

#include "app/reader/number.h"
#include "app/reader/xml_document.h"

namespace palimpsest::reader {
namespace {

constexpr int most_levels = 9;

std::string value_of(const pugi::xml_node& node, std::string_view child)
{
    return std::string(attribute_named(child_named(node, child), "val"));
}

// The number of a style that Word has several of, from 1. Word stores their names in English whatever its language.
std::optional<int> number_after(std::string_view prefix, std::string_view name)
{
    if (!name.starts_with(prefix)) return std::nullopt;
    const int level = number_in(name.substr(prefix.size()), 0);
    return level >= 1 && level <= most_levels ? std::optional(level) : std::nullopt;
}

// "heading 2" is 2, "Title" is 1.
std::optional<int> level_of_name(std::string_view name)
{
    return name == "title" ? 1 : number_after("heading ", name);
}

// "List Bullet 2" and "List Number 2" are lists of their own, which look like the second level of one.
std::optional<int> depth_of_name(std::string_view name)
{
    for (const std::string_view prefix : {"list bullet ", "list number "})
        if (const auto number = number_after(prefix, name)) return *number - 1;
    return std::nullopt;
}

std::string lower_case(std::string name)
{
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return name;
}

// The outline level of paragraph properties: 0 is the first, 9 is the body.
std::optional<int> outline_level(const pugi::xml_node& properties)
{
    const pugi::xml_node outline = child_named(properties, "outlineLvl");
    if (!outline) return std::nullopt;
    const int level = number_in(attribute_named(outline, "val"), most_levels);
    return level < most_levels ? level + 1 : 0;
}

std::optional<NumberingOf> numbering_in(const pugi::xml_node& properties)
{
    const pugi::xml_node numbering = child_named(properties, "numPr");
    if (!numbering) return std::nullopt;
    const int level = std::min(number_in(value_of(numbering, "ilvl"), 0), most_levels - 1);
    return NumberingOf{.list = value_of(numbering, "numId"), .level = level, .depth = level};
}

std::optional<bool> hidden_in(const pugi::xml_node& properties)
{
    const pugi::xml_node vanish = child_named(properties, "vanish");
    if (!vanish) return std::nullopt;
    const std::string_view value = attribute_named(vanish, "val");
    return value != "0" && value != "false" && value != "off";
}

pugi::xml_node paragraph_of(pugi::xml_node run)
{
    while (run && local_name(run) != "p")
        run = run.parent();
    return run;
}

NumberStyle style_of(std::string_view format)
{
    if (format == "bullet") return NumberStyle::Bullet;
    if (format == "none") return NumberStyle::None;
    if (format == "lowerLetter") return NumberStyle::LowerLetter;
    if (format == "upperLetter") return NumberStyle::UpperLetter;
    if (format == "lowerRoman") return NumberStyle::LowerRoman;
    if (format == "upperRoman") return NumberStyle::UpperRoman;
    return NumberStyle::Arabic;
}

} // namespace

DocxStyles::DocxStyles(const pugi::xml_node& styles, const pugi::xml_node& numbering)
{
    read_styles(styles);
    read_numbering(numbering);
}

void DocxStyles::read_styles(const pugi::xml_node& styles)
{
    for (const pugi::xml_node& node : styles.children()) {
        const std::string_view type = attribute_named(node, "type");
        if (local_name(node) != "style" || (type != "paragraph" && type != "character")) continue;
        const pugi::xml_node properties = child_named(node, "pPr");
        const std::string name = lower_case(value_of(node, "name"));
        Style style{.based_on = value_of(node, "basedOn"),
                    .heading_level = level_of_name(name),
                    .list_depth = depth_of_name(name),
                    .numbering = numbering_in(properties),
                    .is_hidden = hidden_in(child_named(node, "rPr"))};
        if (!style.heading_level) style.heading_level = outline_level(properties);
        styles_.emplace(attribute_named(node, "styleId"), std::move(style));
    }
}

void DocxStyles::read_numbering(const pugi::xml_node& numbering)
{
    std::unordered_map<std::string, std::map<int, Level>> abstract_lists;
    const auto read_level = [](const pugi::xml_node& node, Level& level) {
        if (child_named(node, "numFmt")) level.style = style_of(value_of(node, "numFmt"));
        if (child_named(node, "lvlText")) level.text = value_of(node, "lvlText");
        if (child_named(node, "start")) level.start = number_in(value_of(node, "start"), 1);
    };
    const auto index_of = [](const pugi::xml_node& level) {
        return std::min(number_in(attribute_named(level, "ilvl"), 0), most_levels - 1);
    };
    for (const pugi::xml_node& node : numbering.children()) {
        if (local_name(node) != "abstractNum") continue;
        std::map<int, Level>& levels = abstract_lists[std::string(attribute_named(node, "abstractNumId"))];
        for (const pugi::xml_node& level : node.children())
            if (local_name(level) == "lvl") read_level(level, levels[index_of(level)]);
    }
    for (const pugi::xml_node& node : numbering.children()) {
        if (local_name(node) != "num") continue;
        const std::string id(attribute_named(node, "numId")), abstract = value_of(node, "abstractNumId");
        List list{.counts_with = "abstract " + abstract, .levels = abstract_lists[abstract]};
        for (const pugi::xml_node& changed : node.children()) {
            if (local_name(changed) != "lvlOverride") continue;
            Level& level = list.levels[index_of(changed)];
            if (const pugi::xml_node whole = child_named(changed, "lvl")) read_level(whole, level);
            if (!child_named(changed, "startOverride")) continue;
            level.start = number_in(value_of(changed, "startOverride"), 1);
            list.counts_with = "list " + id; // begins anew
        }
        lists_.emplace(id, std::move(list));
    }
}

// From the style, or the one that it is based on, and so on.
template<class Value>
std::optional<Value> DocxStyles::from_style(std::string id, std::optional<Value> Style::*member) const
{
    constexpr int longest_chain = 16; // styles may be based on each other in a circle
    for (int i = 0; i < longest_chain; ++i) {
        const auto style = styles_.find(id);
        if (style == styles_.end()) return std::nullopt;
        if (style->second.*member) return style->second.*member;
        id = style->second.based_on;
    }
    return std::nullopt;
}

int DocxStyles::heading_level(const pugi::xml_node& properties) const
{
    if (const auto own = outline_level(properties)) return *own;
    return from_style(value_of(properties, "pStyle"), &Style::heading_level).value_or(0);
}

bool DocxStyles::is_hidden(const pugi::xml_node& run) const
{
    const pugi::xml_node properties = child_named(run, "rPr");
    if (const auto own = hidden_in(properties)) return *own;
    if (const auto styled = from_style(value_of(properties, "rStyle"), &Style::is_hidden)) return *styled;
    const pugi::xml_node of_paragraph = child_named(paragraph_of(run), "pPr");
    return from_style(value_of(of_paragraph, "pStyle"), &Style::is_hidden).value_or(false);
}

std::optional<NumberingOf> DocxStyles::numbering(const pugi::xml_node& properties) const
{
    auto of = numbering_in(properties);
    if (!of) {
        const std::string style = value_of(properties, "pStyle");
        of = from_style(style, &Style::numbering);
        if (of && of->depth == 0) of->depth = from_style(style, &Style::list_depth).value_or(0);
    }
    if (!of || of->list == "0" || of->list.empty()) return std::nullopt; // 0 takes the style's numbering away
    return of;
}

std::string DocxStyles::next_marker(const NumberingOf& of)
{
    const auto list = lists_.find(of.list);
    if (list == lists_.end()) return "- ";
    const std::map<int, Level>& levels = list->second.levels;
    std::map<int, int>& counts = counts_[list->second.counts_with];
    const auto start_of = [&](int level) { return levels.contains(level) ? levels.at(level).start : 1; };
    counts[of.level] = counts.contains(of.level) ? counts[of.level] + 1 : start_of(of.level);
    counts.erase(counts.upper_bound(of.level), counts.end());
    if (!levels.contains(of.level)) return "- ";
    const Level& level = levels.at(of.level);
    const bool is_blank = level.text.find_first_not_of(' ') == std::string::npos;
    if (level.style == NumberStyle::Bullet) return is_blank ? "" : "- ";
    if (level.style == NumberStyle::None) return "";
    std::string marker;
    for (size_t i = 0; i < level.text.size(); ++i) {
        const bool is_number = level.text[i] == '%' && i + 1 < level.text.size() && level.text[i + 1] >= '1' &&
                               level.text[i + 1] <= '9';
        if (!is_number) {
            marker += level.text[i];
            continue;
        }
        const int of_level = level.text[++i] - '1';
        const int count = counts.contains(of_level) ? counts[of_level] : start_of(of_level);
        marker += list_number(count, levels.contains(of_level) ? levels.at(of_level).style : NumberStyle::Arabic);
    }
    return marker.empty() ? "" : marker + " ";
}

} // namespace palimpsest::reader
