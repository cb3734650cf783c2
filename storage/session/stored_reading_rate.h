// How fast a model reads on this machine: measured while it reads, and stored in the settings, so that an error can
// tell how long reading again would take. The remaining time of a reading in progress is computed by ReadingMeter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/session/session_context.h"

namespace palimpsest::storage {

class StoredReadingRate {
public:
    explicit StoredReadingRate(SessionContext& context) : context_(context) {}

    void add(uint64_t tokens, double seconds);
    void store(); // within a transaction of the caller's; does nothing until enough was read
    std::optional<std::string> time_to_read(uint64_t tokens) const; // "3:05 min"; nullopt if it was never measured

private:
    std::string key() const;

    SessionContext& context_;
    uint64_t tokens_ = 0; // since the rate was stored
    double seconds_ = 0;
};

} // namespace palimpsest::storage
