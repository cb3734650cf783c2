#include "storage/interior_pages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace palimpsest::storage {
namespace {

using TreePage = std::array<unsigned char, 8192>;
constexpr unsigned char interior = 5, leaf = 13; // types of a table's pages
constexpr size_t interior_header = 12, leaf_header = 8;
constexpr uint32_t mapped_pages = sizeof(TreePage) / 5; // by one page of the pointer map
constexpr int most_depth = 20;                          // as SQLite has it

struct MapEntry {
    enum Kind : unsigned char { Root = 1, Child = 5 };
    unsigned char kind = 0;
    uint32_t parent = 0;
};

uint32_t number_of(const TreePage& page, size_t at, size_t bytes) // big-endian
{
    uint32_t number = 0;
    for (size_t i = 0; i < bytes; ++i)
        number = number << 8 | uint32_t{page[at + i]};
    return number;
}

void put_number(TreePage& page, size_t at, size_t bytes, uint32_t number)
{
    for (size_t i = 0; i < bytes; ++i)
        page[at + i] = static_cast<unsigned char>(number >> (8 * (bytes - 1 - i)));
}

// Reads SQLite's variable-length integer, and moves `at` behind it.
std::optional<uint64_t> take_varint(const TreePage& page, size_t& at)
{
    uint64_t number = 0;
    for (int i = 0; i < 9 && at < page.size(); ++i) {
        const unsigned char byte = page[at++];
        if (i == 8) return number << 8 | uint64_t{byte};
        number = number << 7 | (uint64_t{byte} & 0x7F);
        if (byte < 0x80) return number;
    }
    return std::nullopt;
}

std::vector<unsigned char> varint_of(uint64_t number)
{
    if (number >> 56) { // eight bytes of seven bits, and one of eight
        std::vector<unsigned char> bytes(9, static_cast<unsigned char>(number));
        number >>= 8;
        for (int i = 7; i >= 0; --i, number >>= 7)
            bytes[static_cast<size_t>(i)] = static_cast<unsigned char>(number | 0x80);
        return bytes;
    }
    std::vector<unsigned char> bytes{static_cast<unsigned char>(number & 0x7F)};
    while (number >>= 7)
        bytes.insert(bytes.begin(), static_cast<unsigned char>(number | 0x80));
    return bytes;
}

class TreeFile {
public:
    explicit TreeFile(const std::filesystem::path& file)
        : stream_(file, std::ios::binary | std::ios::in | std::ios::out),
          pages_(static_cast<uint32_t>(std::filesystem::file_size(file) / sizeof(TreePage)))
    {
    }
    uint32_t pages() const { return pages_; }
    TreePage read(uint32_t page)
    {
        TreePage bytes{};
        stream_.clear();
        stream_.seekg(static_cast<std::streamoff>(page - 1) * static_cast<std::streamoff>(sizeof bytes));
        stream_.read(reinterpret_cast<char*>(bytes.data()), sizeof bytes);
        return bytes;
    }
    void write(uint32_t page, const TreePage& bytes)
    {
        stream_.clear();
        stream_.seekp(static_cast<std::streamoff>(page - 1) * static_cast<std::streamoff>(sizeof bytes));
        stream_.write(reinterpret_cast<const char*>(bytes.data()), sizeof bytes);
        stream_.flush();
    }

private:
    std::fstream stream_;
    uint32_t pages_;
};

// By page - 1. Empty if the file has no pointer map: then its second page does not begin with the root of a table.
std::vector<MapEntry> pointer_map(TreeFile& file)
{
    std::vector<MapEntry> map(file.pages());
    for (uint32_t at = 2; at < file.pages(); at += mapped_pages + 1) {
        const TreePage page = file.read(at);
        if (at == 2 && page[0] != MapEntry::Root) return {};
        for (uint32_t i = 0; i < mapped_pages && at + i < file.pages(); ++i)
            map[at + i] = {.kind = page[size_t{5} * i], .parent = number_of(page, size_t{5} * i + 1, 4)};
    }
    return map;
}

bool is_of_tree(unsigned char type)
{
    return type == 2 || type == interior || type == 10 || type == leaf;
}

// The highest rowid below a page; nullopt if it has none or is no page of a table.
std::optional<int64_t> highest_row(TreeFile& file, uint32_t number, int depth = 0)
{
    if (number < 2 || number > file.pages() || depth > most_depth) return std::nullopt;
    const TreePage page = file.read(number);
    if (page[0] == interior) return highest_row(file, number_of(page, 8, 4), depth + 1);
    const uint32_t cells = number_of(page, 3, 2);
    const size_t last = leaf_header + 2 * (size_t{cells} - 1);
    if (page[0] != leaf || cells == 0 || last + 2 > page.size()) return std::nullopt;
    size_t at = number_of(page, last, 2);
    const auto size = take_varint(page, at), row = take_varint(page, at);
    return size && row ? std::optional(static_cast<int64_t>(*row)) : std::nullopt;
}

// An interior page with these children, by their highest rowids; nullopt if they do not fit. REQUIRES: two at
// least.
std::optional<TreePage> interior_page(const std::map<int64_t, uint32_t>& children)
{
    TreePage page{};
    const auto last = std::prev(children.end());
    const size_t cells = children.size() - 1;
    size_t content = page.size(), pointer = interior_header;
    for (auto child = children.begin(); child != last; ++child, pointer += 2) {
        const auto row = varint_of(static_cast<uint64_t>(child->first));
        const size_t bytes = 4 + row.size();
        if (content < interior_header + 2 * cells + bytes) return std::nullopt;
        content -= bytes;
        put_number(page, content, 4, child->second);
        std::copy(row.begin(), row.end(), page.begin() + static_cast<std::ptrdiff_t>(content + 4));
        put_number(page, pointer, 2, static_cast<uint32_t>(content));
    }
    page[0] = interior;
    put_number(page, 3, 2, static_cast<uint32_t>(cells));
    put_number(page, 5, 2, static_cast<uint32_t>(content));
    put_number(page, 8, 4, last->second);
    return page;
}

} // namespace

bool rebuild_interior_pages(const std::filesystem::path& file)
{
    TreeFile pages(file);
    const std::vector<MapEntry> map = pointer_map(pages);
    std::map<uint32_t, std::vector<uint32_t>> children; // of pages that are lost
    std::map<uint32_t, bool> is_lost;
    for (uint32_t page = 3; page <= map.size(); ++page) {
        const MapEntry& entry = map[page - 1];
        if (entry.kind != MapEntry::Child || entry.parent < 3 || entry.parent > map.size()) continue;
        const auto [parent, is_new] = is_lost.try_emplace(entry.parent, false);
        const unsigned char kind = map[entry.parent - 1].kind;
        if (is_new && (kind == MapEntry::Root || kind == MapEntry::Child))
            parent->second = !is_of_tree(pages.read(entry.parent)[0]);
        if (parent->second) children[entry.parent].push_back(page);
    }
    bool wrote = false;
    for (const auto& [lost, below] : children) {
        std::map<int64_t, uint32_t> by_row;
        for (const uint32_t child : below)
            if (const auto row = highest_row(pages, child)) by_row.emplace(*row, child);
        if (by_row.empty()) continue;
        // An interior page has a cell at least.
        const auto page = by_row.size() > 1 ? interior_page(by_row) : pages.read(by_row.begin()->second);
        if (!page) continue;
        pages.write(lost, *page);
        wrote = true;
    }
    return wrote;
}

} // namespace palimpsest::storage
