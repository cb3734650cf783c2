// A parsed HTML file. Its nodes are gumbo's.
#pragma once

#include <gumbo.h>
#include <memory>
#include <string>
#include <string_view>

namespace palimpsest::reader {

class HtmlTree {
public:
    // `html` is UTF-8. Throws Problem if elements are nested more than 256 deep.
    explicit HtmlTree(std::string html);
    ~HtmlTree();
    HtmlTree(const HtmlTree&) = delete;
    HtmlTree& operator=(const HtmlTree&) = delete;

    const GumboNode& root() const;

private:
    struct Memory; // what gumbo has allocated: its own destructor would call itself for every level
    std::string html_;
    std::unique_ptr<Memory> memory_;
    GumboOutput* output_ = nullptr;
};

// The value of an attribute; empty if the node has none.
std::string_view attribute(const GumboNode& node, const char* name);
bool is_element(const GumboNode& node);
const GumboVector& children(const GumboNode& node); // of an element
// The element's name, which gumbo knows for those of HTML only.
std::string_view element_name(const GumboNode& node);

// An XHTML file as HTML of the same meaning: <title/> as <title></title>, CDATA as text, without a DOCTYPE and what
// it declares.
std::string xhtml_as_html(std::string_view xhtml);

} // namespace palimpsest::reader
