// The project's only exception type: a problem in the outside world, with a sentence that the user can act on.
//
// It is thrown for damaged files, missing files or sessions, insufficient memory and wrong options. Bugs stop at an
// assertion near their cause, and expected outcomes are return values.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/error_code.h"
#include "kernels/base/text.h"

namespace palimpsest {

// The command has an exit code for each kind (app/palimpsest/exit_code.h).
enum class ErrorKind {
    Failed,    // a document, model, snapshot or database cannot be used
    Usage,     // the command line is invalid
    NotFound,  // a session, model or document does not exist
    Resources, // not enough memory, disk space or GPU memory
    Busy,      // another process owns the database
    Internal,  // always a bug
};

class Error : public std::exception {
public:
    // `code` says what went wrong; `subject` names the file, setting or other thing concerned; `what` states the
    // problem and `remedy` what to do about it. Text that comes from a file must have passed through printable().
    Error(ErrorKind kind, ErrorCode code, Text subject, Text what, Text remedy,
          std::optional<uint64_t> offset = std::nullopt);

    ErrorKind kind() const { return kind_; }
    ErrorCode code() const { return code_; }
    const Text& subject() const { return subject_; }
    const Text& text() const { return text_; }
    const Text& remedy() const { return remedy_; }
    std::optional<uint64_t> offset() const { return offset_; } // in the file, in bytes

    // "SUBJECT: what; remedy [CODE]", as the command or the window words it.
    std::string sentence(const Wording& wording) const;

    // The sentence in English. Settings and steps have general names, not those of the command or the window.
    const char* what() const noexcept override { return sentence_.c_str(); }

private:
    ErrorKind kind_;
    ErrorCode code_;
    Text subject_, text_, remedy_;
    std::string sentence_;
    std::optional<uint64_t> offset_;
};

// The sentence of an error, as a Text.
Text sentence_of(const Error& error);

} // namespace palimpsest
