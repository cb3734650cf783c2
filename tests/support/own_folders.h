// Keeps tests independent of the configuration and the models of the user who runs them.
#pragma once

#include <cstdlib>
#include <initializer_list>

namespace palimpsest::test {

// Names folders that do not exist for config.json, sessions and models, our own and those of other programs, so
// that the shipped model is the only one there is. To be called before threads begin.
inline void use_own_folders()
{
    constexpr const char* folder = PALIMPSEST_BINARY_DIR "/tests/own-folders";
    for (const char* variable : {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS"})
        setenv(variable, folder, 1);
    for (const char* variable : {"PALIMPSEST_MODEL", "HF_HUB_CACHE", "HF_HOME"})
        unsetenv(variable);
}

} // namespace palimpsest::test
