// Isolates tests from the configuration and the models of the user who runs them.
#pragma once

#include "tests/support/project_folders.h"

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace palimpsest::test {

// Sets the variables that name the folders of settings, sessions and models, of this program and of others, to a
// folder that does not exist, so that only the shipped model is found. REQUIRES: no other threads yet.
inline void use_own_folders()
{
    const std::string folder = palimpsest::tests::build_file("tests/own-folders");
    for (const char* variable : {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS"})
        setenv(variable, folder.c_str(), 1);
    for (const char* variable : {"PALIMPSEST_MODEL", "HF_HUB_CACHE", "HF_HOME"})
        unsetenv(variable);
}

} // namespace palimpsest::test
