// The hyper-parameters of a file, under the name that its format has for them: GGUF metadata or config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/model_config.h"

namespace palimpsest::engine {

// One value in both formats; null where a format does not have it. GGUF names go without the architecture's prefix.
struct ConfigKey {
    const char* gguf = nullptr;
    const char* hf = nullptr;
};

class ConfigFields {
public:
    virtual ~ConfigFields() = default;

    virtual bool is_gguf() const = 0;
    // Nothing if the file has no such value and the family no default; another type is refused.
    virtual std::optional<uint64_t> integer(ConfigKey key) const = 0;
    virtual std::optional<double> number(ConfigKey key) const = 0;
    virtual std::optional<bool> boolean(ConfigKey key) const = 0;
    // A list in config.json; empty where there is none. GGUF files have no such lists.
    virtual std::vector<uint64_t> integers(ConfigKey key) const = 0;
    // Which layers see only a window, where the file lists them one by one. Refused unless there are `layers`.
    virtual std::optional<std::vector<bool>> listed_windows(int32_t layers) const = 0;

    // The value's name in this file, quoted.
    virtual std::string name(ConfigKey key) const = 0;
    // Refuses the model for a value that is out of range, and for something that cannot be computed.
    [[noreturn]] virtual void refuse_value(const std::string& what) const = 0;
    [[noreturn]] virtual void refuse_unsupported(const std::string& what) const = 0;
};

} // namespace palimpsest::engine
