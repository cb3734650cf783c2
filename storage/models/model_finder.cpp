#include "storage/models/model_finder.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/policy/named/nearest.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/models/model_listing.h"
#include "storage/models/shipped_model.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string_view text)
{
    std::string out(text);
    for (char& c : out)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::string last_part(const std::string& name)
{
    return name.substr(name.rfind('/') + 1);
}

// How well a name matches, best first.
enum class Match { Whole, Part, Beginning, None };

Match match(const FoundModel& model, const std::string& wanted)
{
    const std::string whole = lower(model.name), part = last_part(whole);
    if (whole == wanted) return Match::Whole;
    if (part == wanted || lower(model.path.filename().string()) == wanted) return Match::Part;
    if (model.source == ModelSource::Ollama && (whole == wanted + ":latest" || part == wanted + ":latest"))
        return Match::Part;
    return whole.starts_with(wanted) || part.starts_with(wanted) ? Match::Beginning : Match::None;
}

// Two links to one file are the same model.
bool same_file(const FoundModel& a, const FoundModel& b)
{
    std::error_code unknown;
    return a.path == b.path || fs::equivalent(a.path, b.path, unknown);
}

[[noreturn]] void refuse_several(const std::string& name, const std::vector<const FoundModel*>& found)
{
    constexpr size_t listed = 6;
    std::vector<Text> models;
    for (size_t i = 0; i < std::min(found.size(), listed); ++i)
        models.push_back(Text("{0} ({1})", printable(found[i]->name), source_name(found[i]->source)));
    const Text list = joined(models, ", ");
    throw Error(ErrorKind::Usage, ErrorCode::AmbiguousModel, Text::escaped(name),
                found.size() > listed
                    ? Text("several models are called so: {0} and {1} more", list, found.size() - listed)
                    : Text("several models are called so: {0}", list),
                Text("give more of the name, or the path"));
}

} // namespace

FoundModels find_models(const ModelFolders& folders, FindDetail detail)
{
    ModelListing listing(folders.max_entries);
    std::error_code ignored;
    if (fs::is_regular_file(shipped_model(), ignored))
        listing.add({model_name(shipped_model()), ModelSource::Shipped, shipped_model(), 0});
    list_own_models(folders.own, listing);
    for (const fs::path& folder : folders.lm_studio)
        list_lm_studio_models(folder, listing);
    for (const fs::path& folder : folders.ollama)
        list_ollama_models(folder, listing);
    for (const fs::path& folder : folders.hugging_face)
        list_hub_models(folder, listing);
    if (detail == FindDetail::Headers) listing.read_headers();
    return listing.take();
}

const FoundModel& choose_model(const std::vector<FoundModel>& models, const std::string& name)
{
    const std::string wanted = lower(name);
    std::vector<const FoundModel*> best;
    Match best_match = Match::None;
    for (const FoundModel& model : models) {
        const Match found = wanted.empty() ? Match::None : match(model, wanted);
        if (found == Match::None || found > best_match) continue;
        if (found < best_match) best.clear();
        best_match = found;
        const bool known = std::any_of(best.begin(), best.end(), [&](auto* b) { return same_file(*b, model); });
        if (!known) best.push_back(&model);
    }
    if (best.size() == 1) return *best[0];
    if (best.size() > 1) refuse_several(name, best);
    std::vector<std::string> known;
    for (const FoundModel& model : models) {
        known.push_back(model.name);
        if (const std::string part = last_part(model.name); part != model.name) known.push_back(part);
    }
    const std::string near = engine::nearest(name, known);
    throw Error(ErrorKind::NotFound, ErrorCode::ModelNotFound, Text::escaped(name),
                Text("there is no such file or folder, and no model of this name on this machine"),
                near.empty()
                    ? Text("{0}, or give the path of a .gguf file or a Hugging Face folder", Step::ListModels)
                    : Text("did you mean '{0}'?", printable(near)));
}

std::string model_name(const fs::path& path)
{
    if (const auto name = hub_name(path)) return *name;
    if (is_ollama_blob(path)) {
        constexpr size_t prefix = 7, digits = 12; // length of "sha256-"; Ollama, too, shows 12 digits
        return ollama_name(path).value_or("Ollama model " + path.filename().string().substr(prefix, digits));
    }
    return path.extension() == ".gguf" ? whole_stem(path) : path.filename().string();
}

} // namespace palimpsest::storage
