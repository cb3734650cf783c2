// The hyper-parameters of a file, read by the key that its format uses: GGUF metadata or config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/config/model_config.h"
#include "kernels/base/text.h"

namespace palimpsest::engine {

// The key of one value in both formats; null where a format lacks it. GGUF keys omit the architecture prefix.
struct ConfigKey {
    const char* gguf = nullptr;
    const char* hf = nullptr;
};

class ConfigFields {
public:
    virtual ~ConfigFields() = default;

    virtual bool is_gguf() const = 0;
    // Empty if the file lacks the value and the family has no default; a value of another type is refused.
    virtual std::optional<uint64_t> integer(ConfigKey key) const = 0;
    virtual std::optional<double> number(ConfigKey key) const = 0;
    virtual std::optional<bool> boolean(ConfigKey key) const = 0;
    // A list in config.json; empty if absent. Always empty for GGUF.
    virtual std::vector<uint64_t> integers(ConfigKey key) const = 0;
    // Which layers use a sliding window, if the file lists them per layer. Refused unless the list has `layers`
    // entries.
    virtual std::optional<std::vector<bool>> listed_windows(int32_t layers) const = 0;

    // Returns the key as the model file spells it, in quotes, for messages.
    virtual std::string name(ConfigKey key) const = 0;
    // Refuses the model because a value is out of range, or because the engine does not support it.
    [[noreturn]] virtual void refuse_value(const Text& what) const = 0;
    [[noreturn]] virtual void refuse_unsupported(const Text& what) const = 0;
};

} // namespace palimpsest::engine
