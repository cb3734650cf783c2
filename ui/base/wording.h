// How the window words errors and notices of the engine and the storage: settings are its fields, and steps are
// what to do in the window.
#pragma once

#include <QString>
#include <exception>
#include <string>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace palimpsest::engine {
class Catalogue;
}

namespace palimpsest::ui {

class WindowWording final : public Wording {
public:
    // In the language of the window's translation, or in `language`: "de"; any other is English.
    WindowWording();
    explicit WindowWording(const std::string& language);

    std::string pattern(std::string_view english) const override;
    std::string setting(Setting setting) const override;
    std::string step(Step step) const override;

private:
    const engine::Catalogue* catalogue_;
};

// In the language of the window's translation. Thread-safe.
QString shown(const Text& text);
// "SUBJECT: what; remedy [CODE]"
QString shown(const Error& error);
// The sentence of an Error, or what() of any other exception.
QString shown(const std::exception& error);

} // namespace palimpsest::ui
