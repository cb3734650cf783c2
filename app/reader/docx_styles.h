// Heading levels, list numbers and hidden text, from the styles and the numbering of a Word document.
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
    int level = 0;    // of the list, where its number is counted
    int depth = 0;    // in other lists, the list itself included; from 0
};

class DocxStyles {
public:
    // Either may be null. REQUIRES: both outlive this.
    DocxStyles(const pugi::xml_node& styles, const pugi::xml_node& numbering);

    // `properties`: the element w:pPr of the paragraph.
    int heading_level(const pugi::xml_node& properties) const; // 0: no heading
    std::optional<NumberingOf> numbering(const pugi::xml_node& properties) const;
    bool is_hidden(const pugi::xml_node& run) const; // by its own properties or those of its styles
    // Counts the item, and returns its marker: "- ", "2.1 ".
    std::string next_marker(const NumberingOf& of);

private:
    struct Style {
        std::string based_on;
        std::optional<int> heading_level, list_depth;
        std::optional<NumberingOf> numbering;
        std::optional<bool> is_hidden;
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
    std::optional<Value> from_style(std::string id, std::optional<Value> Style::*member) const;

    std::unordered_map<std::string, Style> styles_;
    std::unordered_map<std::string, List> lists_;
    std::unordered_map<std::string, std::map<int, int>> counts_; // by abstract list: the last number of each level
};

} // namespace palimpsest::reader
