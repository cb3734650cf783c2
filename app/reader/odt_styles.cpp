#include "app/reader/odt_styles.h"

#include <algorithm>
#include <cctype>

#include "app/reader/xml_document.h"

namespace palimpsest::reader {
namespace {

constexpr int longest_style_chain = 16; // styles may be based on each other in a circle

std::string key_of(std::string_view family, std::string_view name)
{
    return std::string(family) + "/" + std::string(name);
}

bool names_subtitle(std::string name)
{
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.find("subtitle") != name.npos;
}

} // namespace

void OdtStyles::read(const pugi::xml_node& root)
{
    for (const char* part : {"styles", "automatic-styles"})
        for (const pugi::xml_node& node : child_named(root, part).children()) {
            if (local_name(node) != "style") continue;
            const std::string_view family = attribute_named(node, "family"),
                                   parent = attribute_named(node, "parent-style-name"),
                                   display = attribute_named(child_named(node, "text-properties"), "display");
            styles_.insert_or_assign(
                key_of(family, attribute_named(node, "name")),
                Style{.parent = parent.empty() ? "" : key_of(family, parent),
                      .is_hidden = display.empty() ? std::nullopt : std::optional(display == "none")});
        }
}

bool OdtStyles::is_title(std::string_view style) const
{
    return is_based_on(style, "Title");
}

bool OdtStyles::is_preformatted(std::string_view style) const
{
    return is_based_on(style, "Preformatted_20_Text");
}

bool OdtStyles::is_based_on(std::string_view style, std::string_view other) const
{
    const std::string wanted = key_of("paragraph", other);
    std::string key = key_of("paragraph", style);
    for (int i = 0; i < longest_style_chain && !names_subtitle(key); ++i) {
        if (key == wanted) return true;
        const auto found = styles_.find(key);
        if (found == styles_.end()) return false;
        key = found->second.parent;
    }
    return false;
}

std::optional<bool> OdtStyles::is_hidden(std::string_view family, std::string_view style) const
{
    std::string key = key_of(family, style);
    for (int i = 0; i < longest_style_chain; ++i) {
        const auto found = styles_.find(key);
        if (found == styles_.end()) return std::nullopt;
        if (found->second.is_hidden) return found->second.is_hidden;
        key = found->second.parent;
    }
    return std::nullopt;
}

} // namespace palimpsest::reader
