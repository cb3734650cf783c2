#include "app/reader/xml_document.h"

#include "app/reader/charset.h"
#include "app/reader/text_writer.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentProblem;

constexpr size_t deepest = 256; // docs/validation.md, L11

[[noreturn]] void refuse(const std::string& name)
{
    throw Problem{DocumentProblem::Damaged,
                  Text("it is damaged: {0} in it is not well formed", Text::escaped(name)),
                  Text("get it again, or open it in the program that made it and save it anew")};
}

void check_doctype(const pugi::xml_document& document, const std::string& name)
{
    for (const pugi::xml_node& node : document.children())
        if (node.type() == pugi::node_doctype && std::string_view(node.value()).find('[') != std::string_view::npos)
            throw Problem{DocumentProblem::Unsupported,
                          Text("{0} in it declares entities of its own, which is not allowed", Text::escaped(name)),
                          Text("get it from another place")};
}

void check_depth(const pugi::xml_document& document, const std::string& name)
{
    size_t depth = 0;
    walk_xml(
        document,
        [&](const pugi::xml_node&) {
            if (++depth > deepest + 1) // the document itself is one
                throw Problem{
                    DocumentProblem::TooLarge,
                    Text("{0} in it is nested more than {1} deep, the limit", Text::escaped(name), deepest),
                    Text("convert it to plain text or Markdown")};
            return true;
        },
        [&](const pugi::xml_node&) { --depth; });
}

} // namespace

void load_xml(std::string_view bytes, const std::string& name, pugi::xml_document& document)
{
    const DecodedText decoded = decoded_text(bytes, declared_charset(bytes));
    const auto loaded = document.load_buffer(decoded.text.data(), decoded.text.size(),
                                             pugi::parse_default | pugi::parse_ws_pcdata | pugi::parse_doctype,
                                             pugi::encoding_utf8);
    if (loaded.status == pugi::status_out_of_memory) throw std::bad_alloc();
    if (!loaded || !document.document_element()) refuse(name);
    check_doctype(document, name);
    check_depth(document, name);
}

void load_optional_xml(const std::optional<std::string>& bytes, const std::string& name,
                       pugi::xml_document& document)
{
    try {
        if (bytes) load_xml(*bytes, name, document);
    } catch (const Problem&) {
        document.reset();
    }
}

std::string_view local_name(const pugi::xml_node& node)
{
    const std::string_view name = node.name();
    const size_t colon = name.find(':');
    return colon == name.npos ? name : name.substr(colon + 1);
}

pugi::xml_node child_named(const pugi::xml_node& node, std::string_view local)
{
    for (const pugi::xml_node& child : node.children())
        if (local_name(child) == local) return child;
    return {};
}

std::string_view attribute_named(const pugi::xml_node& node, std::string_view local)
{
    for (const pugi::xml_attribute& attribute : node.attributes()) {
        const std::string_view name = attribute.name();
        const size_t colon = name.find(':');
        if ((colon == name.npos ? name : name.substr(colon + 1)) == local) return attribute.value();
    }
    return {};
}

std::string text_of(const pugi::xml_node& node)
{
    std::string text;
    walk_xml(
        node,
        [&](const pugi::xml_node& at) {
            if (at.type() == pugi::node_pcdata || at.type() == pugi::node_cdata) text += at.value();
            return true;
        },
        [](const pugi::xml_node&) {});
    return text;
}

} // namespace palimpsest::reader
