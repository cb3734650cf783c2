// For test programs with a foreign main function: runs before it.
#include "tests/support/own_folders.h"

namespace {

[[maybe_unused]] const bool taken = [] {
    palimpsest::test::use_own_folders();
    return true;
}();

} // namespace
