// Streams of a command. Only results go to `out`; progress, warnings and receipts go to `err`. Tests use string
// streams.
#pragma once

#include <iostream>
#include <stop_token>

#include "app/palimpsest/wording.h"

namespace palimpsest::app {

struct Console {
    std::istream& in;
    std::ostream& out;
    std::ostream& err;
    bool out_is_terminal = false;
    bool err_is_terminal = false; // a progress line can be redrawn
    std::stop_token stop;         // requested by SIGINT or SIGTERM
    CommandWording wording{};     // of all that is for people; English unless given
};

} // namespace palimpsest::app
