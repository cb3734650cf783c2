#include "app/palimpsest/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <unistd.h>

#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

// Code point of the 2- or 3-byte character at the front, otherwise -1. visible() escapes no character of 4 bytes.
int short_code_point(std::string_view text)
{
    const auto byte = [&](size_t i) { return static_cast<int>(static_cast<unsigned char>(text[i])); };
    if (text.size() >= 2 && (byte(0) & 0xE0) == 0xC0) return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    if (text.size() >= 3 && (byte(0) & 0xF0) == 0xE0)
        return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    return -1;
}

bool is_hidden(int code)
{
    const bool c1 = code >= 0x80 && code <= 0x9F;
    const bool bidi = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    return c1 || bidi;
}

// Whether standard output is a pipe that nothing reads any more: tells this from other write errors whose errno is
// lost.
bool reader_is_gone()
{
    pollfd standard_output{STDOUT_FILENO, POLLOUT, 0};
    return poll(&standard_output, 1, 0) == 1 && (standard_output.revents & POLLERR) != 0;
}

} // namespace

std::string visible(std::string_view text)
{
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        char escape[16];
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
            std::snprintf(escape, sizeof escape, "\\x%02x", byte);
            out += escape;
        } else if (const int code = short_code_point(text.substr(i)); is_hidden(code)) {
            std::snprintf(escape, sizeof escape, "\\u{%x}", static_cast<unsigned>(code));
            out += escape;
            i += code < 0x800 ? 1 : 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::string row_text(std::string_view text)
{
    std::string line = visible(text);
    std::ranges::replace_if(
        line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return line;
}

std::string utc(int64_t milliseconds)
{
    const std::time_t seconds = milliseconds / 1000;
    std::tm fields{};
    gmtime_r(&seconds, &fields);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &fields);
    return text;
}

void write_json(std::ostream& out, const nlohmann::ordered_json& document)
{
    out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    finish_output(out);
}

void write_event(std::ostream& err, const nlohmann::ordered_json& object)
{
    err << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n' << std::flush;
}

void finish_output(std::ostream& out)
{
    errno = 0;
    out.flush();
    if (out.good()) return;
    if (errno == EPIPE || reader_is_gone()) throw PipeClosed{};
    throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text("standard output"),
                errno ? Text("the result could not be written ({0})", std::strerror(errno))
                      : Text("the result could not be written"),
                Text("free space or write elsewhere"));
}

} // namespace palimpsest::app
