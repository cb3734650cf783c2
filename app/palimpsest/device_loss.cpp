#include "app/palimpsest/device_loss.h"

#include "app/palimpsest/output.h"

namespace palimpsest::app {

bool is_device_loss(const Error& error)
{
    return error.code() == "PAL-GPU-03";
}

void tell_device_loss(Console& console, bool events, const std::string& device)
{
    const std::string text = "the graphics card stopped responding; nothing was lost, it goes on without it; start "
                             "palimpsest again to use it again [PAL-GPU-03]";
    if (events)
        write_event(console.err,
                    {{"event", "device_lost"}, {"device", device}, {"goes_on_with", "cpu"}, {"text", text}});
    else
        console.err << "note: " << text << std::endl;
}

} // namespace palimpsest::app
