#include <sys/stat.h>
#include <unistd.h>

#include "app/palimpsest/application.h"
#include "app/palimpsest/interrupt.h"
#include "app/palimpsest/window.h"

int main(int argc, char** argv)
{
    umask(077); // created files are readable by their owner only
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (palimpsest::app::wants_window(arguments)) return palimpsest::app::run_window(argc, argv, arguments);
    std::stop_source stop;
    palimpsest::app::watch_interrupts(stop);
    std::ios::sync_with_stdio(false);
    palimpsest::app::Console console{std::cin,
                                     std::cout,
                                     std::cerr,
                                     isatty(STDOUT_FILENO) != 0,
                                     isatty(STDERR_FILENO) != 0,
                                     stop.get_token(),
                                     palimpsest::app::CommandWording(palimpsest::app::language_of_environment())};
    return palimpsest::app::run(arguments, console, palimpsest::app::interrupted_exit_code);
}
