#include "app/palimpsest/library_document.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "engine/policy/named/nearest.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::app {
namespace {

using storage::DocumentInfo;

Text subject_of(const std::string& name)
{
    return Text("document '{0}'", printable(name));
}

[[noreturn]] void refuse_unknown(const std::vector<DocumentInfo>& all, const std::string& name)
{
    std::vector<std::string> titles;
    titles.reserve(all.size());
    for (const DocumentInfo& document : all)
        titles.push_back(document.title);
    const std::string near = engine::nearest(name, titles);
    throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, subject_of(name), Text("it is not there"),
                near.empty() ? Text(Step::ListDocuments) : Text("did you mean '{0}'?", printable(near)));
}

// Copies with the ids of several models have it.
bool has_same_source(const DocumentInfo& a, const DocumentInfo& b)
{
    return a.source_bytes >= 0 && a.source_bytes == b.source_bytes && a.source_hash == b.source_hash;
}

// nullopt if none has it.
std::optional<DocumentInfo> with_title(const std::vector<DocumentInfo>& all, const std::string& title)
{
    const auto has_it = [&](const DocumentInfo& document) { return document.title == title; };
    auto found = std::ranges::find_if(all, has_it);
    if (found == all.end()) return std::nullopt;
    const auto is_other = [&](const DocumentInfo& document) {
        return has_it(document) && !has_same_source(document, *found);
    };
    const auto other = std::find_if(std::next(found), all.end(), is_other);
    if (found->kept_ms == 0) // the one in the library stands for its copies
        if (const auto kept =
                std::find_if(found, all.end(), [&](const DocumentInfo& d) { return has_it(d) && d.kept_ms > 0; });
            kept != all.end())
            found = kept;
    if (other != all.end())
        throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, subject_of(title),
                    Text("several documents have this title, such as numbers {0} and {1}", found->id, other->id),
                    Text("give the number"));
    return *found;
}

} // namespace

DocumentInfo library_document(storage::Library& library, const std::string& name)
{
    const std::vector<DocumentInfo> all = library.list();
    int64_t number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = failed == std::errc() && end == name.data() + name.size();
    const auto numbered = std::ranges::find(all, number, &DocumentInfo::id);
    const auto titled = with_title(all, name);
    if (is_number && numbered != all.end()) {
        if (titled && titled->id != number)
            throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, subject_of(name),
                        Text("it is the number of '{0}' and the title of number {1}", printable(numbered->title),
                             titled->id),
                        Text("give the path of its file"));
        return *numbered;
    }
    if (titled) return *titled;
    const std::string path = std::filesystem::absolute(name).lexically_normal().string();
    for (const DocumentInfo& document : all)
        for (const std::string& source : library.sources(document.id))
            if (source == path) return document;
    refuse_unknown(all, name);
}

} // namespace palimpsest::app
