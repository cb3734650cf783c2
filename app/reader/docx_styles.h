// Heading levels and list numbers of paragraphs, from the styles and the numbering of a Word document.
#pragma once

#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/reader/list_numbers.h"

namespace palimpsest::reader {

struct NumberingOf {  // a paragraph
    std::string list; // 0: none
    int level = 0;
};

class DocxStyles {
public:
    // Either may be null. REQUIRES: both outlive this.
    DocxStyles(const pugi::xml_node& styles, const pugi::xml_node& numbering);

    // `properties`: the element w:pPr of the paragraph.
    int heading_level(const pugi::xml_node& properties) const; // 0: no heading
    std::optional<NumberingOf> numbering(const pugi::xml_node& properties) const;
    // Counts the item, and returns its marker: "- ", "2.1 ".
    std::string next_marker(const NumberingOf& of);

private:
    struct Style {
        std::string based_on;
        std::optional<int> heading_level;
        std::optional<NumberingOf> numbering;
    };
    struct Level {
        NumberStyle style = NumberStyle::Bullet;
        std::string text = "-"; // of a number: "%1.%2"
        int start = 1;
    };
    struct List {
        std::string counts_with{}; // lists of one abstract list go on counting
        std::map<int, Level> levels{};
    };

    void read_styles(const pugi::xml_node& styles);
    void read_numbering(const pugi::xml_node& numbering);
    template<class Value>
    std::optional<Value> from_style(const pugi::xml_node& properties, std::optional<Value> Style::*member) const;

    std::unordered_map<std::string, Style> styles_;
    std::unordered_map<std::string, List> lists_;
    std::unordered_map<std::string, std::map<int, int>> counts_; // by abstract list: the last number of each level
};

} // namespace palimpsest::reader
