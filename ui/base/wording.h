// Words errors and notices of the engine and the storage for the window: a Setting gets the name of its field, and
// a Step (a remedy) says what to do in the window.
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
    // Uses the language of the window's translation, or `language`: "de" is German, any other English.
    WindowWording();
    explicit WindowWording(const std::string& language);

    std::string pattern(std::string_view english) const override;
    std::string setting(Setting setting) const override;
    std::string step(Step step) const override;

private:
    const engine::Catalogue* catalogue_;
};

// Returns the text in the language of the window's translation. Thread-safe.
QString shown(const Text& text);
// Returns "SUBJECT: problem; remedy [CODE]".
QString shown(const Error& error);
// Returns the sentence of an Error, as above, or what() of any other exception.
QString shown(const std::exception& error);

} // namespace palimpsest::ui
