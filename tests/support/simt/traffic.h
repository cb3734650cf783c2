// Counters of the emulated device: launches, host waits, and copies between host and device.
#pragma once

#include <cstdint>

namespace simt {

struct Traffic {
    uint64_t launches = 0;    // kernels, fills, copies within the device, and graphs
    uint64_t graph_nodes = 0; // nodes run by graphs
    uint64_t waits = 0;       // host waits
    uint64_t idle = 0;        // host waits after which the device was idle
    uint64_t copies_up = 0, copies_down = 0;
    uint64_t bytes_up = 0, bytes_down = 0;
    uint64_t pageable = 0; // copies from or to pageable memory, for each of which the host waits

    Traffic operator-(const Traffic& before) const
    {
        return {.launches = launches - before.launches,
                .graph_nodes = graph_nodes - before.graph_nodes,
                .waits = waits - before.waits,
                .idle = idle - before.idle,
                .copies_up = copies_up - before.copies_up,
                .copies_down = copies_down - before.copies_down,
                .bytes_up = bytes_up - before.bytes_up,
                .bytes_down = bytes_down - before.bytes_down,
                .pageable = pageable - before.pageable};
    }
    bool operator==(const Traffic&) const = default;
};

inline Traffic& device_traffic() // since the program started
{
    static Traffic all;
    return all;
}

} // namespace simt
