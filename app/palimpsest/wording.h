// How the command words what it prints for people: settings are its options, and steps are its subcommands.
#pragma once

#include <string>

#include "kernels/base/text.h"

namespace palimpsest::engine {
class Catalogue;
}

namespace palimpsest::app {

// The language of the user: "de", or "en" for every other one. The first of LC_ALL, LC_MESSAGES and LANG that is
// set and not empty decides.
std::string language_of_environment();

class CommandWording final : public Wording {
public:
    explicit CommandWording(const std::string& language = "en");

    std::string of(const Text& text) const { return text.in(*this); }

    std::string pattern(std::string_view english) const override;
    std::string setting(Setting setting) const override;
    std::string step(Step step) const override;

private:
    const engine::Catalogue* catalogue_;
};

// Returns the text as --json and --events write it: in English, whatever the user's language is.
std::string for_scripts(const Text& text);

} // namespace palimpsest::app
