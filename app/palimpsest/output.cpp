#include "app/palimpsest/output.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <unistd.h>

#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

// Whether standard output is a pipe that nothing reads any more: tells this from other write errors whose errno is
// lost.
bool reader_is_gone()
{
    pollfd standard_output{STDOUT_FILENO, POLLOUT, 0};
    return poll(&standard_output, 1, 0) == 1 && (standard_output.revents & POLLERR) != 0;
}

} // namespace

std::string row_text(std::string_view text, bool for_people)
{
    std::string line = engine::visible_line(text);
    return for_people ? engine::isolated(std::move(line)) : line;
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
