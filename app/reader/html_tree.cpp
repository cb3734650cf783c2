#include "app/reader/html_tree.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "app/reader/text_writer.h"

namespace palimpsest::reader {
namespace {

constexpr size_t deepest = 256; // docs/validation.md, L11

constexpr std::array void_elements = {"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                      "input", "link", "meta", "param", "source", "track", "wbr"};

void check_depth(const GumboNode& root)
{
    std::vector<std::pair<const GumboNode*, size_t>> open{{&root, 1}};
    while (!open.empty()) {
        const auto [node, depth] = open.back();
        open.pop_back();
        if (depth > deepest)
            throw Problem{storage::DocumentProblem::TooLarge,
                          Text("its elements are nested more than {0} deep, the limit", deepest),
                          Text("convert it to plain text or Markdown")};
        if (!is_element(*node)) continue;
        const GumboVector& nodes = children(*node);
        for (unsigned i = 0; i < nodes.length; ++i)
            open.emplace_back(static_cast<const GumboNode*>(nodes.data[i]), depth + 1);
    }
}

bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' || c == '-' ||
           c == '_' || c == '.';
}

// The end of a tag, after its '>'; a '>' in a quoted value does not end it.
size_t end_of_tag(std::string_view text, size_t at)
{
    char quote = 0;
    for (; at < text.size(); ++at) {
        if (quote != 0)
            quote = text[at] == quote ? '\0' : quote;
        else if (text[at] == '"' || text[at] == '\'')
            quote = text[at];
        else if (text[at] == '>')
            return at + 1;
    }
    return text.size();
}

// The end of a DOCTYPE, with the declarations in it.
size_t end_of_doctype(std::string_view text, size_t at)
{
    int open = 0;
    for (; at < text.size(); ++at) {
        open += text[at] == '[';
        open -= text[at] == ']';
        if (text[at] == '>' && open <= 0) return at + 1;
    }
    return text.size();
}

void append_escaped(std::string_view text, std::string& out)
{
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else
            out += c;
    }
}

} // namespace

struct HtmlTree::Memory {
    // Before every block; in a list, so that all are freed in the end.
    struct alignas(std::max_align_t) Block {
        Block* before;
        Block* after;
    };

    Block all{&all, &all};

    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory()
    {
        while (all.after != &all)
            release(all.after);
    }

    static void release(Block* block)
    {
        block->before->after = block->after;
        block->after->before = block->before;
        std::free(block);
    }
    static void* allocate(void* memory, size_t bytes)
    {
        Block& first = static_cast<Memory*>(memory)->all;
        auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + bytes));
        if (!block) throw std::bad_alloc();
        *block = {&first, first.after};
        first.after->before = block;
        first.after = block;
        return block + 1;
    }
    static void deallocate(void* /*memory*/, void* block)
    {
        if (block) release(static_cast<Block*>(block) - 1);
    }
};

HtmlTree::HtmlTree(std::string html) : html_(std::move(html)), memory_(std::make_unique<Memory>())
{
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = Memory::allocate;
    options.deallocator = Memory::deallocate;
    options.userdata = memory_.get();
    options.max_errors = 0;
    output_ = gumbo_parse_with_options(&options, html_.data(), html_.size());
    check_depth(root());
}

HtmlTree::~HtmlTree() = default;

const GumboNode& HtmlTree::root() const
{
    return *output_->root;
}

std::string_view attribute(const GumboNode& node, const char* name)
{
    if (!is_element(node)) return {};
    const GumboAttribute* found = gumbo_get_attribute(&node.v.element.attributes, name);
    return found ? std::string_view(found->value) : std::string_view();
}

bool is_element(const GumboNode& node)
{
    return node.type == GUMBO_NODE_ELEMENT || node.type == GUMBO_NODE_TEMPLATE;
}

const GumboVector& children(const GumboNode& node)
{
    return node.v.element.children;
}

std::string_view element_name(const GumboNode& node)
{
    return gumbo_normalized_tagname(node.v.element.tag);
}

std::string xhtml_as_html(std::string_view xhtml)
{
    std::string out;
    out.reserve(xhtml.size());
    const auto skip_to = [&](size_t at, std::string_view end) {
        const size_t found = xhtml.find(end, at);
        return found == xhtml.npos ? xhtml.size() : found + end.size();
    };
    for (size_t at = 0; at < xhtml.size();) {
        const std::string_view rest = xhtml.substr(at);
        constexpr std::string_view cdata = "<![CDATA[", cdata_end = "]]>";
        if (rest.starts_with("<!--")) {
            at = skip_to(at + 4, "-->");
        } else if (rest.starts_with(cdata)) {
            const size_t end = std::min(xhtml.find(cdata_end, at), xhtml.size());
            append_escaped(xhtml.substr(at + cdata.size(), end - at - cdata.size()), out);
            at = std::min(end + cdata_end.size(), xhtml.size());
        } else if (rest.starts_with("<?")) {
            at = skip_to(at, "?>");
        } else if (rest.starts_with("<!")) {
            at = end_of_doctype(xhtml, at);
        } else if (rest.starts_with('<') && rest.size() > 1 && is_name_character(rest[1])) {
            const size_t end = end_of_tag(xhtml, at);
            const std::string_view tag = xhtml.substr(at, end - at);
            at = end;
            const size_t name_end =
                static_cast<size_t>(std::find_if_not(tag.begin() + 1, tag.end(), is_name_character) - tag.begin());
            const std::string_view name = tag.substr(1, name_end - 1);
            const bool is_closed =
                tag.ends_with("/>") && std::ranges::find(void_elements, name) == void_elements.end();
            if (is_closed)
                out.append(tag.substr(0, tag.size() - 2)).append("></").append(name).append(">");
            else
                out += tag;
        } else {
            const size_t end = std::min(xhtml.find('<', at + 1), xhtml.size());
            out += xhtml.substr(at, end - at);
            at = end;
        }
    }
    return out;
}

} // namespace palimpsest::reader
