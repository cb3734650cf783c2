#include "storage/models/model_folders.h"

#include <cstdlib>
#include <string>

#include "storage/user_folders.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

// An empty variable counts as unset.
fs::path folder_in(const char* variable)
{
    const char* value = std::getenv(variable);
    return value ? value : "";
}

fs::path first_set(std::initializer_list<fs::path> folders)
{
    for (const fs::path& folder : folders)
        if (!folder.empty()) return folder;
    return {};
}

fs::path below(const fs::path& folder, const char* rest)
{
    return folder.empty() ? fs::path() : folder / rest;
}

} // namespace

fs::path models_folder()
{
    return fs::path(data_folder()) / "models";
}

fs::path encoder_folder()
{
    return models_folder() / "all-MiniLM-L6-v2";
}

ModelFolders model_folders()
{
    const fs::path home = folder_in("HOME");
    ModelFolders folders;
    folders.own = models_folder();
    if (!home.empty()) folders.lm_studio = {home / ".lmstudio/models", home / ".cache/lm-studio/models"};
    if (const fs::path set = folder_in("OLLAMA_MODELS"); !set.empty()) {
        folders.ollama = {set};
    } else {
        if (!home.empty()) folders.ollama.push_back(home / ".ollama/models");
        // Ollama's installer creates a system user with this home folder.
        folders.ollama.push_back("/usr/share/ollama/.ollama/models");
    }
    const fs::path hub =
        first_set({folder_in("HF_HUB_CACHE"), below(folder_in("HF_HOME"), "hub"),
                   below(folder_in("XDG_CACHE_HOME"), "huggingface/hub"), below(home, ".cache/huggingface/hub")});
    if (!hub.empty()) folders.hugging_face.push_back(hub);
    return folders;
}

} // namespace palimpsest::storage
