// Titles, preformatted and hidden text, from the styles of an OpenDocument text.
#pragma once

#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace palimpsest::reader {

class OdtStyles {
public:
    // `root`: of styles.xml or content.xml, in this order: styles replace those of the same name.
    void read(const pugi::xml_node& root);

    // `style`: the name of a paragraph style.
    bool is_title(std::string_view style) const;
    bool is_preformatted(std::string_view style) const; // each line is a paragraph
    // `family`: "paragraph", or "text" for a span. Nothing if the text is hidden where the text around it is.
    std::optional<bool> is_hidden(std::string_view family, std::string_view style) const;

private:
    struct Style {
        std::string parent; // key; empty: none
        std::optional<bool> is_hidden;
    };

    bool is_based_on(std::string_view style, std::string_view other) const;

    std::unordered_map<std::string, Style> styles_; // by family and name
};

} // namespace palimpsest::reader
