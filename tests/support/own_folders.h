// What a user of this machine has configured or installed must not change what a test sees.
#pragma once

#include <cstdlib>

namespace palimpsest::test {

// config.json and the models folder are looked for where nothing is, so that the default model is the shipped one.
// To be called before threads begin.
inline void use_own_folders()
{
    constexpr const char* folder = PALIMPSEST_BINARY_DIR "/tests/own-folders";
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("XDG_DATA_HOME", folder, 1);
    unsetenv("PALIMPSEST_MODEL");
}

} // namespace palimpsest::test
