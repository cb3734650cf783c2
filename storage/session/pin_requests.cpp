#include "storage/session/pin_requests.h"

#include <utility>

#include "kernels/base/error.h"

namespace palimpsest::storage {

PinRequests::PinRequests(SessionContext& context) : context_(context), requests_(context.options.choice.pins)
{
    for (const std::string& request : requests_)
        parse_pin(request);
    if (context_.options.read_only && !requests_.empty())
        throw Error(ErrorKind::Usage, ErrorCode::PinsUnavailable, Text(Setting::Pin),
                    Text("the session is not changed here"), Text(Step::PinWhileReading));
}

void PinRequests::look_for(const std::vector<StreamPart>& stream, bool all_must_be_there,
                           const std::function<void()>& with_them)
{
    Database& database = context_.store.database;
    if (requests_.empty()) {
        if (with_them) database.transaction(with_them);
        return;
    }
    SessionPins& pins = *context_.pins;
    auto change = pins.look_for(requests_, all_must_be_there, stream, *context_.session);
    database.transaction([&] {
        pins.store(change);
        if (with_them) with_them();
    });
    requests_ = std::move(change.missing);
    for (const Text& note : change.notes)
        context_.listener.note(note);
    pins.take(std::move(change), *context_.session);
}

void PinRequests::replace(const std::vector<std::string>& requests, const std::function<void()>& look_for_all)
{
    const std::vector<std::string> before = std::exchange(requests_, requests);
    try {
        look_for_all();
    } catch (...) {
        requests_ = before;
        throw;
    }
}

} // namespace palimpsest::storage
