// Runs Catch2 and returns 1 for any failure: Catch2's own exit status is the number of failures, which can equal
// the status that CTest reads as "skipped".
#define CATCH_CONFIG_RUNNER
#include "tests/support/catch.h"
#include "tests/support/own_folders.h"

int main(int argc, char** argv)
{
    palimpsest::test::use_own_folders();
    Catch::Session session;
    const int bad_arguments = session.applyCommandLine(argc, argv);
    if (bad_arguments != 0) return bad_arguments;
    return session.run() == 0 ? 0 : 1;
}
