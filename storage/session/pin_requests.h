// The passages and ranges that the user asked to pin in a stored session and that its stream does not contain yet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/session/session_context.h"

namespace palimpsest::storage {

class PinRequests {
public:
    // Throws Error (Usage): PAL-PIN-02 for a request that cannot be parsed, PAL-PIN-04 for any request with
    // options.read_only.
    explicit PinRequests(SessionContext& context);

    // Pins the requests that `stream` contains, and runs `with_them` in the same transaction. Those that it does
    // not contain, or not to their end, wait for the next call, unless `all_must_be_there`: then it throws Error
    // (NotFound, PAL-PIN-03; Usage, PAL-PIN-02), or cuts them.
    void look_for(const std::vector<StreamPart>& stream, bool all_must_be_there,
                  const std::function<void()>& with_them = {});
    // Replaces the requests and calls `look_for_all`; if that throws, the previous requests remain.
    void replace(const std::vector<std::string>& requests, const std::function<void()>& look_for_all);

private:
    SessionContext& context_;
    std::vector<std::string> requests_;
};

} // namespace palimpsest::storage
