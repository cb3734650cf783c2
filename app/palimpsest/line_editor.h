// Reads lines: at a terminal with editing, history and paste support, otherwise unchanged from the input stream.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/palimpsest/console.h"

namespace palimpsest::app {

class LineEditor {
public:
    // `history`: file that stores the entered lines; empty: none.
    LineEditor(Console& console, const std::string& history);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    // Returns the next line without its line end; nullopt at the end of the input or if `stop` is requested while
    // waiting. Pasted text counts as one line, even if it contains line ends.
    std::optional<std::string> next(const std::string& prompt, std::stop_token stop);
    bool is_terminal() const;

private:
    struct Terminal;
    Console& console_;
    std::unique_ptr<Terminal> terminal_; // null if the input is not a terminal
};

} // namespace palimpsest::app
