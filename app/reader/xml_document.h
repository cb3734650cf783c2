// An XML part of a document, for pugixml, which fetches nothing and knows the five built-in entities alone.
#pragma once

#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace palimpsest::reader {

// Throws Problem if the XML is not well formed, declares entities, or is beyond the limits: 256 levels, 256
// attributes of an element. `name`: of the part, for the sentence.
void load_xml(std::string_view bytes, const std::string& name, pugi::xml_document& document);

// The same of a part that a document can be read without: nothing is loaded if it is missing or not as it should
// be.
void load_optional_xml(const std::optional<std::string>& bytes, const std::string& name,
                       pugi::xml_document& document);

// The name without its prefix: "p" of "w:p". Files choose prefixes as they like.
std::string_view local_name(const pugi::xml_node& node);
pugi::xml_node child_named(const pugi::xml_node& node, std::string_view local);
// The value of an attribute, by its name without prefix; empty if there is none.
std::string_view attribute_named(const pugi::xml_node& node, std::string_view local);
// All text below the node.
std::string text_of(const pugi::xml_node& node);

// Visits a node and what is below it in document order, without recursion: `enter` returns whether to go into the
// node, and `leave` is then called after its children.
template<class Enter, class Leave>
void walk_xml(const pugi::xml_node& root, const Enter& enter, const Leave& leave)
{
    pugi::xml_node node = root;
    while (true) {
        const bool goes_in = enter(node);
        if (goes_in && node.first_child()) {
            node = node.first_child();
            continue;
        }
        if (goes_in) leave(node);
        while (node != root && !node.next_sibling()) {
            node = node.parent();
            leave(node);
        }
        if (node == root) return;
        node = node.next_sibling();
    }
}

} // namespace palimpsest::reader
