#include "storage/models/model_listing.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/model/config/limits.h"
#include "engine/model/files/gguf_summary.h"
#include "engine/model/files/mapped_file.h"
#include "engine/model/files/strict_json.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;
namespace limits = engine::limits;

// One file of a model in parts: "STEM-00002-of-00003.gguf" has number 2 and count 3.
struct Part {
    std::string stem;
    unsigned number = 1, count = 1;
};

std::optional<unsigned> five_digits(std::string_view text)
{
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.size() != 5 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

Part part_of(const fs::path& file)
{
    constexpr size_t suffix = 15; // "-00001-of-00003"
    const std::string stem = file.stem().string();
    if (stem.size() <= suffix) return {stem};
    const std::string_view tail = std::string_view(stem).substr(stem.size() - suffix);
    const auto number = five_digits(tail.substr(1, 5)), count = five_digits(tail.substr(10, 5));
    if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count || *number == 0 || *number > *count)
        return {stem};
    return {stem.substr(0, stem.size() - suffix), *number, *count};
}

fs::path part_path(const fs::path& file, const Part& part, unsigned number)
{
    char suffix[32];
    std::snprintf(suffix, sizeof suffix, "-%05u-of-%05u.gguf", number, part.count);
    return file.parent_path() / (part.stem + suffix);
}

// Returns the end of a long path, which says more than its beginning.
std::string end_of(const fs::path& path)
{
    constexpr size_t room = 72;
    std::string end = path.filename().string();
    for (fs::path above = path.parent_path(); above.has_relative_path(); above = above.parent_path()) {
        const std::string longer = (above.filename() / end).string();
        if (longer.size() > room) return ".../" + printable(end);
        end = longer;
    }
    return "/" + printable(end);
}

bool is_weights(const fs::path& file)
{
    return file.extension() == ".safetensors";
}

uint64_t size_of(const fs::path& file)
{
    std::error_code unknown;
    const uint64_t bytes = fs::file_size(file, unknown);
    return unknown ? 0 : bytes;
}

uint64_t weight_bytes(const fs::path& folder)
{
    uint64_t bytes = 0;
    for (const FolderEntry& entry : entries_below(folder, 1))
        if (is_weights(entry.path)) bytes += size_of(entry.path);
    return bytes;
}

std::string text_at(const nlohmann::json& object, const char* key)
{
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? printable(at->get<std::string>()) : std::string();
}

std::string upper_type(const std::string& type) // e.g. "bfloat16" -> "BF16"
{
    if (type == "bfloat16") return "BF16";
    if (type == "float16") return "F16";
    return type == "float32" ? "F32" : type;
}

// Returns false if there are more than `most` entries.
bool walk(const fs::path& folder, int depth, size_t most, std::vector<FolderEntry>& entries)
{
    std::error_code failed;
    std::vector<FolderEntry> here;
    bool is_whole = true;
    for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed), end;
         !failed && at != end; at.increment(failed)) {
        is_whole = entries.size() + here.size() < most;
        if (!is_whole) break;
        std::error_code unknown;
        here.push_back({at->path(), at->is_directory(unknown)});
    }
    std::sort(here.begin(), here.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    for (const FolderEntry& entry : here) {
        entries.push_back(entry);
        if (entry.is_folder && depth > 1 && !walk(entry.path, depth - 1, most, entries)) is_whole = false;
    }
    return is_whole;
}

} // namespace

std::vector<FolderEntry> entries_below(const fs::path& folder, int depth)
{
    std::vector<FolderEntry> entries;
    if (!folder.empty()) walk(folder, depth, most_folder_entries, entries);
    return entries;
}

std::vector<FolderEntry> ModelListing::entries_below(const fs::path& folder, int depth)
{
    std::vector<FolderEntry> entries;
    if (!folder.empty() && !walk(folder, depth, most_entries_, entries))
        found_.notes.push_back(Text("{0} has more than {1} files and folders: models beyond these are not listed",
                                    end_of(folder), format_count(most_entries_)));
    return entries;
}

bool is_model_folder(const fs::path& folder)
{
    const auto has = [&](const char* name) {
        std::error_code ignored;
        return fs::exists(folder / name, ignored);
    };
    const bool is_encoder = has("sentence_bert_config.json") || has("modules.json");
    return !is_encoder && has("config.json") && (has("model.safetensors") || has("model.safetensors.index.json"));
}

bool is_gguf_model(const fs::path& file)
{
    return file.extension() == ".gguf" && file.filename().string().find("mmproj") == std::string::npos;
}

std::string whole_stem(const fs::path& gguf)
{
    return part_of(gguf).stem;
}

void ModelListing::note(const fs::path& path, const Text& what)
{
    found_.notes.push_back(Text("{0} is left out: {1}", end_of(path), what));
}

void ModelListing::add(FoundModel model)
{
    std::error_code unknown;
    if (fs::is_directory(model.path, unknown)) {
        model.bytes = weight_bytes(model.path);
        found_.models.push_back(std::move(model));
        return;
    }
    const Part part = model.path.extension() == ".gguf" ? part_of(model.path) : Part{};
    if (part.number > 1) return;
    for (unsigned number = 1; number <= part.count; ++number) {
        const fs::path file = part.count > 1 ? part_path(model.path, part, number) : model.path;
        if (!fs::is_regular_file(file, unknown)) {
            return note(model.path, part.count > 1 ? Text("its part {0} of {1} is missing", number, part.count)
                                                   : Text("it is a link to a file that is missing"));
        }
        model.bytes += size_of(file);
    }
    found_.models.push_back(std::move(model));
}

bool ModelListing::read_header(FoundModel& model)
try {
    std::error_code unknown;
    if (fs::is_directory(model.path, unknown)) {
        const fs::path path = model.path / "config.json";
        const auto file = engine::MappedFile::open(path, limits::config_bytes, ErrorCode::ModelC1);
        const auto config = engine::parse_strict_json(file->text(), {limits::json_depth, limits::json_values},
                                                      engine::Refusal(path.string()), ErrorCode::ModelC1);
        model.architecture = text_at(config, "model_type");
        model.type = upper_type(text_at(config, config.contains("dtype") ? "dtype" : "torch_dtype"));
        return true;
    }
    const auto file = engine::MappedFile::open(model.path, limits::file_bytes, ErrorCode::ModelG1);
    const auto summary = engine::summarize_gguf(file->bytes());
    if (!summary) {
        note(model.path, Text("it is no GGUF file, or its header is damaged"));
        return false;
    }
    model.architecture = summary->architecture;
    model.type = summary->type;
    return summary->is_language_model();
} catch (const Error& error) {
    note(model.path, error.text());
    return false;
}

void ModelListing::read_headers()
{
    std::erase_if(found_.models, [this](FoundModel& model) { return !read_header(model); });
}

FoundModels ModelListing::take()
{
    std::stable_sort(found_.models.begin(), found_.models.end(), [](const FoundModel& a, const FoundModel& b) {
        return a.source != b.source ? a.source < b.source : a.name < b.name;
    });
    return std::move(found_);
}

} // namespace palimpsest::storage
