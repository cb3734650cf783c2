// Ollama: manifests/HOST/OWNER/NAME/TAG is a JSON document similar to an OCI image manifest. Its layers reference
// files in blobs/ by digest; one layer is the GGUF file.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "engine/model/config/limits.h"
#include "engine/model/files/mapped_file.h"
#include "engine/model/files/strict_json.h"
#include "kernels/base/error.h"
#include "storage/models/model_listing.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;
namespace limits = engine::limits;

constexpr const char* model_layer = "application/vnd.ollama.image.model";
constexpr const char* adapter_layer = "application/vnd.ollama.image.adapter";

// The name as Ollama shows it: without the host of Ollama's own registry and without the owner "library".
std::string name_of(const fs::path& manifest, const fs::path& manifests)
{
    std::vector<std::string> parts;
    for (const fs::path& part : manifest.lexically_relative(manifests))
        parts.push_back(part.string());
    const std::string tag = parts.back();
    parts.pop_back();
    if (!parts.empty() && parts.front() == "registry.ollama.ai") {
        parts.erase(parts.begin());
        if (parts.size() > 1 && parts.front() == "library") parts.erase(parts.begin());
    }
    std::string name;
    for (const std::string& part : parts)
        name += (name.empty() ? "" : "/") + part;
    return name + ":" + tag;
}

// The hexadecimal digits of "sha256:DIGEST", or of a file name with another separator.
std::optional<std::string> digest_in(const std::string& text, char separator)
{
    const std::string prefix = std::string("sha256") + separator;
    const std::string hex = text.starts_with(prefix) ? text.substr(prefix.size()) : "";
    const bool good = hex.size() == 64 && std::all_of(hex.begin(), hex.end(), [](unsigned char c) {
                          return std::isdigit(c) || (c >= 'a' && c <= 'f');
                      });
    return good ? std::optional(hex) : std::nullopt;
}

// Accepts only SHA-256 digests, because the digest becomes part of a path.
std::optional<std::string> digest_of(const nlohmann::json& layer)
{
    const auto at = layer.find("digest");
    if (at == layer.end() || !at->is_string()) return std::nullopt;
    return digest_in(at->get<std::string>(), ':');
}

// Newer versions of Ollama name the file "sha256-DIGEST", older ones "sha256:DIGEST".
fs::path blob(const fs::path& folder, const std::string& hex)
{
    const fs::path path = folder / "blobs" / ("sha256-" + hex);
    std::error_code unknown;
    return fs::exists(path, unknown) ? path : folder / "blobs" / ("sha256:" + hex);
}

void list_manifest(const fs::path& folder, const fs::path& manifest, ModelListing& listing)
{
    const auto file = engine::MappedFile::open(manifest, limits::config_bytes, ErrorCode::ModelC1);
    const auto document = engine::parse_strict_json(file->text(), {limits::json_depth, limits::json_values},
                                                    engine::Refusal(manifest.string()), ErrorCode::ModelC1);
    const auto layers = document.is_object() ? document.find("layers") : document.end();
    if (layers == document.end() || !layers->is_array())
        return listing.note(manifest, Text("it has no list of layers"));
    const nlohmann::json* model = nullptr;
    for (const nlohmann::json& layer : *layers) {
        if (!layer.is_object()) continue;
        const auto type = layer.find("mediaType");
        if (type == layer.end()) continue;
        if (*type == adapter_layer)
            return listing.note(manifest, Text("it needs an adapter, which is not supported"));
        if (*type == model_layer && !model) model = &layer;
    }
    if (!model) return listing.note(manifest, Text("it has no layer with a GGUF file"));
    const auto hex = digest_of(*model);
    if (!hex) return listing.note(manifest, Text("the digest of its model is no SHA-256"));
    const fs::path path = blob(folder, *hex);
    std::error_code unknown;
    if (!fs::is_regular_file(path, unknown))
        return listing.note(manifest, Text("its file {0} is missing", path.filename().string()));
    listing.add({name_of(manifest, folder / "manifests"), ModelSource::Ollama, path});
}

} // namespace

bool is_ollama_blob(const fs::path& path)
{
    const std::string file = path.filename().string();
    return path.parent_path().filename() == "blobs" && (digest_in(file, '-') || digest_in(file, ':'));
}

std::optional<std::string> ollama_name(const fs::path& path)
{
    if (!is_ollama_blob(path)) return std::nullopt;
    ModelListing listing;
    list_ollama_models(path.parent_path().parent_path(), listing);
    for (const FoundModel& model : listing.take().models)
        if (model.path.filename() == path.filename()) return model.name;
    return std::nullopt;
}

void list_ollama_models(const fs::path& folder, ModelListing& listing)
{
    constexpr int deepest = 6; // HOST/OWNER/NAME/TAG, and registries with longer paths
    for (const FolderEntry& entry : listing.entries_below(folder / "manifests", deepest)) {
        if (entry.is_folder || entry.path.filename().string().starts_with('.')) continue;
        try {
            list_manifest(folder, entry.path, listing);
        } catch (const Error& error) {
            listing.note(entry.path, error.text());
        }
    }
}

} // namespace palimpsest::storage
