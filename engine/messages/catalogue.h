// The translations of the patterns of Text (kernels/base/text.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace palimpsest::engine {

class Catalogue {
public:
    // The catalogue of a language: "de". Any other language has no translations. A catalogue is parsed at its first
    // use. Thread-safe.
    static const Catalogue& of(std::string_view language);

    // The translation of an English pattern, with the same holes; the pattern itself if it has no translation.
    std::string translation(std::string_view english) const;
    const std::map<std::string, std::string, std::less<>>& entries() const { return entries_; }

private:
    Catalogue() = default;
    explicit Catalogue(std::string_view json);

    std::map<std::string, std::string, std::less<>> entries_; // by English pattern
};

} // namespace palimpsest::engine
