#include "app/palimpsest/exit_code.h"

namespace palimpsest::app {

int exit_code_of(ErrorKind kind)
{
    switch (kind) {
    case ErrorKind::Failed:
        return 1;
    case ErrorKind::Usage:
        return 2;
    case ErrorKind::NotFound:
        return 3;
    case ErrorKind::Resources:
        return 4;
    case ErrorKind::Busy:
        return 5;
    case ErrorKind::Internal:
        return 70;
    }
    return 70; // no other kind exists
}

} // namespace palimpsest::app
