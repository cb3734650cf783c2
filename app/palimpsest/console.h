// Where a command reads and writes. Results go to `out` and nothing else does; progress, warnings and receipts go
// to `err`. Tests put string streams here.
#pragma once

#include <iostream>
#include <stop_token>

namespace palimpsest::app {

struct Console {
    std::istream& in;
    std::ostream& out;
    std::ostream& err;
    bool out_is_terminal = false;
    bool err_is_terminal = false; // a progress line may be redrawn
    std::stop_token stop;         // Ctrl-C or SIGTERM
};

} // namespace palimpsest::app
