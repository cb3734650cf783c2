// The text of an HTML file as a reader would see it: paragraphs, headings, lists, tables and preformatted text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/reader/css_list_styles.h"
#include "app/reader/html_tree.h"
#include "app/reader/text_writer.h"

namespace palimpsest::reader {

struct HtmlOptions {
    // Leave out what stands around the main text: navigation, side matter and footers.
    bool main_text_only = false;
    bool without_navigation = false;            // leave out <nav> alone
    const CssListStyles* list_styles = nullptr; // of the style sheets
    // Sections that begin at the elements with these ids, unless a heading is there.
    const std::unordered_map<std::string, SectionMark>* sections = nullptr;
    // A section that begins with the file, unless a heading is there; no title: none.
    SectionMark first_section{};
};

// Writes the text of the file.
void write_html_text(const HtmlTree& tree, const HtmlOptions& options, TextWriter& writer);

// Whether the text of the file is links and <nav>, but for a title.
bool is_list_of_links(const HtmlTree& tree);

// A link of the table of contents in a nav document of EPUB 3.
struct LinkInNav {
    int level = 1; // of the list that it is in
    std::string title, target;
};
std::vector<LinkInNav> links_in_nav(const HtmlTree& tree);

// A web page or another HTML file: its metadata and main text.
void parse_html(std::string_view bytes, TextWriter& writer);

} // namespace palimpsest::reader
