#include "app/palimpsest/window.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef PALIMPSEST_WITH_UI
#include "app/palimpsest/wording.h"
#include "ui/desktop/open_window.h"
#endif

namespace palimpsest::app {

#ifdef PALIMPSEST_WITH_UI
namespace {

// Empty if it is not set.
std::string variable(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool answers(const std::string& socket_path)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path) return false;
    std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
    const int there = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (there < 0) return false;
    const bool connected = connect(there, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(there);
    return connected;
}

// Checks the X socket first, because Qt ends the process if it cannot connect. Displays of other hosts are assumed
// to exist.
bool has_x_display()
{
    const std::string display = variable("DISPLAY");
    if (display.empty()) return false;
    if (!display.starts_with(':')) return true;
    return answers("/tmp/.X11-unix/X" + display.substr(1, display.find('.') - 1));
}

bool has_wayland_display()
{
    const std::string display = variable("WAYLAND_DISPLAY"), folder = variable("XDG_RUNTIME_DIR");
    if (display.empty()) return false;
    if (display.starts_with('/')) return answers(display);
    return !folder.empty() && answers(folder + "/" + display);
}

// QT_QPA_PLATFORM may name a platform that needs no display.
bool has_display()
{
    return has_wayland_display() || has_x_display() || !variable("QT_QPA_PLATFORM").empty();
}

bool is_path(const std::string& argument)
{
    std::error_code ignored;
    return argument.find('/') != std::string::npos && std::filesystem::exists(argument, ignored);
}

std::vector<std::string> files_of(const std::vector<std::string>& arguments)
{
    std::vector<std::string> files = arguments;
    if (!files.empty() && files.front() == "--") files.erase(files.begin());
    return files;
}

} // namespace

bool wants_window(const std::vector<std::string>& arguments)
{
    const std::vector<std::string> files = files_of(arguments);
    return has_display() && std::all_of(files.begin(), files.end(), is_path);
}

int run_window(int argc, char** argv, const std::vector<std::string>& arguments)
{
    QStringList files;
    for (const std::string& file : files_of(arguments))
        files.append(QString::fromStdString(file));
    const int code = ui::open_window(argc, argv, QStringLiteral(PALIMPSEST_VERSION), files);
    if (code > 128)
        std::cerr << "palimpsest: " << CommandWording(language_of_environment()).of(Text("stopped")) << std::endl;
    return code;
}

#else

bool wants_window(const std::vector<std::string>&)
{
    return false;
}

int run_window(int, char**, const std::vector<std::string>&)
{
    return EXIT_FAILURE;
}

#endif

} // namespace palimpsest::app
