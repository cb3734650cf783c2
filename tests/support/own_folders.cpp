// For test programs whose main function is not ours: calls use_own_folders() before main.
#include "tests/support/own_folders.h"

namespace {

[[maybe_unused]] const bool taken = [] {
    palimpsest::test::use_own_folders();
    return true;
}();

} // namespace
