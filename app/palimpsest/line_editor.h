// Lines from a person at a terminal, with editing, history and pasting; or from a pipe, as they come.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "app/palimpsest/console.h"

namespace palimpsest::app {

class LineEditor {
public:
    // `history`: a file that keeps what was entered; empty: none.
    LineEditor(Console& console, const std::string& history);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    // The next line without its end; nothing at the end of the input, or when `stop` is requested while waiting.
    // Pasted text is one line, whatever ends of lines it holds.
    std::optional<std::string> next(const std::string& prompt, std::stop_token stop);
    bool is_terminal() const;

private:
    struct Terminal;
    Console& console_;
    std::unique_ptr<Terminal> terminal_; // none in a pipe
};

} // namespace palimpsest::app
