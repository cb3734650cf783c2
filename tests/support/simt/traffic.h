// What a program asks of the emulated device beside arithmetic: launches, waiting, and bytes between host and
// device.
#pragma once

#include <cstdint>

namespace simt {

struct Traffic {
    uint64_t launches = 0;    // of kernels, fills and copies within the device; of a graph one
    uint64_t graph_nodes = 0; // that graphs ran
    uint64_t waits = 0;       // of the host for the device
    uint64_t idle = 0;        // of these, those after which the device had nothing left to do
    uint64_t copies_up = 0, copies_down = 0;
    uint64_t bytes_up = 0, bytes_down = 0;
    uint64_t pageable = 0; // copies from or to memory that is not pinned: the host waits for each

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

inline Traffic& device_traffic() // so far
{
    static Traffic all;
    return all;
}

} // namespace simt
