#include "ui/engine/failure.h"

#include <new>

#include "kernels/base/error.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {
namespace {

Failure failure_of(const Error& error)
{
    return {error.code(), shown(error), is_about_model(error.code())};
}

} // namespace

Failure failure_of(const std::exception& error)
{
    if (const auto* known = dynamic_cast<const Error*>(&error)) return failure_of(*known);
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return failure_of(Error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text("memory"),
                                Text("there is not enough of it for this"),
                                Text("choose a smaller {0}, {1} or model", Setting::Budget, Setting::Chunk)));
    return failure_of(Error(ErrorKind::Internal, ErrorCode::Internal, Text("internal error"),
                            Text::verbatim(error.what()), Text("this is a bug; please report it")));
}

} // namespace palimpsest::ui
