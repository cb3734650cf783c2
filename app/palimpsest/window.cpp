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

bool is_set(const char* variable)
{
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
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
    if (!is_set("DISPLAY")) return false;
    const std::string display = std::getenv("DISPLAY");
    if (!display.starts_with(':')) return true;
    return answers("/tmp/.X11-unix/X" + display.substr(1, display.find('.') - 1));
}

bool has_wayland_display()
{
    if (!is_set("WAYLAND_DISPLAY")) return false;
    const std::string display = std::getenv("WAYLAND_DISPLAY");
    if (display.starts_with('/')) return answers(display);
    return is_set("XDG_RUNTIME_DIR") && answers(std::getenv("XDG_RUNTIME_DIR") + ("/" + display));
}

// QT_QPA_PLATFORM may name a platform that needs no display.
bool has_display()
{
    return has_wayland_display() || has_x_display() || is_set("QT_QPA_PLATFORM");
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
