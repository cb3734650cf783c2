#include "app/reader/xml_document.h"

#include <algorithm>

#include "app/reader/charset.h"
#include "app/reader/text_writer.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentProblem;

constexpr size_t deepest = 256, most_attributes = 256; // docs/validation.md, L11

[[noreturn]] void refuse(const std::string& name)
{
    throw Problem{DocumentProblem::Damaged,
                  Text("it is damaged: {0} in it is not well formed", Text::escaped(name)),
                  Text("get it again, or open it in the program that made it and save it anew")};
}

[[noreturn]] void refuse_depth(const std::string& name)
{
    throw Problem{DocumentProblem::TooLarge,
                  Text("{0} in it is nested more than {1} deep, the limit", Text::escaped(name), deepest),
                  Text("convert it to plain text or Markdown")};
}

// Counts levels and attributes before a tree is built, because a tree is taken down level by level, on the stack.
class Guard {
public:
    Guard(std::string_view text, const std::string& name) : text_(text), name_(name) {}

    void run()
    {
        while (at_ < text_.size()) {
            at_ = text_.find('<', at_);
            if (at_ == text_.npos) return;
            const std::string_view rest = text_.substr(at_);
            if (rest.starts_with("<!--"))
                skip("-->");
            else if (rest.starts_with("<![CDATA["))
                skip("]]>");
            else if (rest.starts_with("<?"))
                skip("?>");
            else if (rest.starts_with("<!"))
                doctype();
            else
                tag(rest.starts_with("</"));
        }
    }

private:
    void skip(std::string_view end)
    {
        const size_t found = text_.find(end, at_);
        if (found == text_.npos) refuse(name_);
        at_ = found + end.size();
    }

    void doctype()
    {
        const size_t end = text_.find_first_of("[>", at_);
        if (end == text_.npos) refuse(name_);
        if (text_[end] == '[')
            throw Problem{
                DocumentProblem::Unsupported,
                Text("{0} in it declares entities of its own, which is not allowed", Text::escaped(name_)),
                Text("get it from another place")};
        at_ = end + 1;
    }

    void tag(bool closes)
    {
        char quote = 0;
        size_t attributes = 0;
        size_t end = at_ + 1;
        for (; end < text_.size() && (quote != 0 || text_[end] != '>'); ++end) {
            const char c = text_[end];
            if (quote != 0)
                quote = c == quote ? '\0' : quote;
            else if (c == '"' || c == '\'')
                quote = c;
            else
                attributes += c == '=';
        }
        if (end == text_.size()) refuse(name_);
        if (attributes > most_attributes) refuse_depth(name_);
        if (closes)
            depth_ -= depth_ > 0;
        else if (text_[end - 1] != '/' && ++depth_ > deepest)
            refuse_depth(name_);
        at_ = end + 1;
    }

    std::string_view text_;
    const std::string& name_;
    size_t at_ = 0, depth_ = 0;
};

} // namespace

void load_xml(std::string_view bytes, const std::string& name, pugi::xml_document& document)
{
    const DecodedText decoded = decoded_text(bytes, declared_charset(bytes));
    Guard(decoded.text, name).run();
    const auto loaded = document.load_buffer(decoded.text.data(), decoded.text.size(),
                                             pugi::parse_default | pugi::parse_ws_pcdata, pugi::encoding_utf8);
    if (loaded.status == pugi::status_out_of_memory) throw std::bad_alloc();
    if (!loaded || !document.document_element()) refuse(name);
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
