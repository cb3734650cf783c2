// The one error type of the project: what the world did wrong, said once, in words a user can act on.
//
// Thrown for damaged files, missing things, short memory and wrong options; never for our own bugs (those stop at
// a check near the cause) and never for expected outcomes (those are values).
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest {

// Decides the exit code of the command (cli.md).
enum class ErrorKind {
    Failed = 1,    // a document, model, snapshot or database cannot be used
    Usage = 2,     // the command line is wrong
    NotFound = 3,  // a session, model or document is not there
    Resources = 4, // not enough memory, disk space or GPU memory
    Busy = 5,      // another process owns the database
    Internal = 70, // always a bug
};

class Error : public std::exception {
public:
    // `code` is stable ("PAL-MODEL-10"); `subject` names the thing (a file, an option); `what` says what is wrong;
    // `remedy` what to do. Text that comes from a file must have gone through printable().
    Error(ErrorKind kind, std::string code, std::string subject, std::string what, std::string remedy,
          std::optional<uint64_t> offset = std::nullopt);

    ErrorKind kind() const { return kind_; }
    const std::string& code() const { return code_; }
    const std::string& subject() const { return subject_; }
    const std::string& text() const { return text_; }
    const std::string& remedy() const { return remedy_; }
    std::optional<uint64_t> offset() const { return offset_; }

    // "SUBJECT: what: remedy [CODE]"
    const char* what() const noexcept override { return sentence_.c_str(); }

private:
    ErrorKind kind_;
    std::string code_, subject_, text_, remedy_, sentence_;
    std::optional<uint64_t> offset_;
};

// Foreign text made fit for a message: control and hidden characters and what is no UTF-8 escaped, cut to 80 bytes.
std::string printable(std::string_view foreign);

} // namespace palimpsest
