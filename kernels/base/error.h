// The project's only exception type: a problem in the outside world, with a sentence that the user can act on.
//
// Thrown for damaged files, missing files or sessions, insufficient memory and wrong options. Bugs stop at an
// assertion near their cause, and expected outcomes are return values.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest {

// Determines the exit code of the command.
enum class ErrorKind {
    Failed = 1,    // a document, model, snapshot or database cannot be used
    Usage = 2,     // the command line is invalid
    NotFound = 3,  // a session, model or document does not exist
    Resources = 4, // not enough memory, disk space or GPU memory
    Busy = 5,      // another process owns the database
    Internal = 70, // always a bug
};

class Error : public std::exception {
public:
    // `code` is stable ("PAL-MODEL-10"); `subject` names the file, option or other thing concerned; `what` states
    // the problem and `remedy` what to do about it. Text that comes from a file must have passed through
    // printable().
    Error(ErrorKind kind, std::string code, std::string subject, std::string what, std::string remedy,
          std::optional<uint64_t> offset = std::nullopt);

    ErrorKind kind() const { return kind_; }
    const std::string& code() const { return code_; }
    const std::string& subject() const { return subject_; }
    const std::string& text() const { return text_; }
    const std::string& remedy() const { return remedy_; }
    std::optional<uint64_t> offset() const { return offset_; }

    // "SUBJECT: what; remedy [CODE]"
    const char* what() const noexcept override { return sentence_.c_str(); }

private:
    ErrorKind kind_;
    std::string code_, subject_, text_, remedy_, sentence_;
    std::optional<uint64_t> offset_;
};

// Makes untrusted text safe to show in a message: escapes control characters, invisible characters and invalid
// UTF-8, and truncates to 80 bytes.
std::string printable(std::string_view foreign);

} // namespace palimpsest
