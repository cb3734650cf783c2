// The passages and ranges that the user asked to pin in a stored session and that its stream does not contain yet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/session/session_context.h"

namespace palimpsest::storage {

class PinRequests {
public:
    // Throws Error (Usage): PAL-PIN-02 for one that cannot be read, PAL-PIN-04 for a session that is only read.
    explicit PinRequests(SessionContext& context);

    // Pins what `stream` contains of the requests, in one transaction with `with_them`. Throws Error (NotFound,
    // PAL-PIN-03) if all must be there and one is not.
    void look_for(const std::vector<StreamPart>& stream, bool all_must_be_there,
                  const std::function<void()>& with_them = {});
    // Replaces the requests for as long as `look_for_all` runs, and for good unless it throws.
    void replace(const std::vector<std::string>& requests, const std::function<void()>& look_for_all);

private:
    SessionContext& context_;
    std::vector<std::string> requests_;
};

} // namespace palimpsest::storage
