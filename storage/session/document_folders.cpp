#include "storage/session/document_folders.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "storage/session/document.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Takes the number, or else the character, that the text begins with.
std::string_view take_piece(std::string_view& text)
{
    size_t end = 1;
    while (is_digit(text.front()) && end < text.size() && is_digit(text[end]))
        ++end;
    const std::string_view piece = text.substr(0, end);
    text.remove_prefix(end);
    return piece;
}

std::string_view without_zeros(std::string_view number)
{
    return number.substr(std::min(number.find_first_not_of('0'), number.size()));
}

bool comes_before(std::string_view a, std::string_view b)
{
    while (!a.empty() && !b.empty()) {
        std::string_view one = take_piece(a), other = take_piece(b);
        if (is_digit(one.front()) && is_digit(other.front())) {
            one = without_zeros(one);
            other = without_zeros(other);
            if (one.size() != other.size()) return one.size() < other.size();
        }
        if (one != other) return one < other;
    }
    return a.empty() && !b.empty();
}

class FolderSearch {
public:
    explicit FolderSearch(const std::stop_token& stop) : stop_(stop) {}

    void look_into(const fs::path& folder)
    {
        std::error_code failed;
        std::vector<fs::directory_entry> entries;
        for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
            if (!entry->path().filename().string().starts_with('.')) entries.push_back(*entry);
        if (failed) found_.unreadable.push_back(folder.string());
        std::ranges::sort(entries, [](const fs::directory_entry& a, const fs::directory_entry& b) {
            return comes_before(a.path().filename().string(), b.path().filename().string());
        });
        for (const fs::directory_entry& entry : entries) {
            if (stop_.stop_requested()) return;
            if (entry.is_directory(failed)) {
                if (!entry.is_symlink(failed)) look_into(entry.path());
            } else if (entry.is_regular_file(failed)) {
                take(entry.path());
            }
        }
    }
    void take_as_it_is(const std::string& name) { found_.files.push_back(name); }
    FoundDocuments result() { return std::move(found_); }

private:
    void take(const fs::path& file)
    {
        std::string ending = file.extension().string();
        std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
        if (std::ranges::find(endings_, ending) != endings_.end())
            found_.files.push_back(file.string());
        else
            ++found_.other_files;
    }

    const std::stop_token& stop_;
    const std::vector<std::string> endings_ = document_endings();
    FoundDocuments found_;
};

} // namespace

FoundDocuments find_documents(const std::vector<std::string>& names, const std::stop_token& stop)
{
    FolderSearch search(stop);
    std::error_code failed;
    for (const std::string& name : names)
        if (fs::is_directory(name, failed))
            search.look_into(name);
        else
            search.take_as_it_is(name);
    return search.result();
}

} // namespace palimpsest::storage
