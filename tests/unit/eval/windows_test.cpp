#include "engine/eval/windows.h"

#include "tests/support/catch.h"

using namespace palimpsest::engine;

TEST_CASE("windows begin a stride apart, and judge what no window before them has held")
{
    CHECK(windows_of(10, 4, 3) == std::vector<Window>{{0, 4, 0}, {3, 7, 4}, {6, 10, 7}});
    CHECK(windows_of(10, 4, 4) == std::vector<Window>{{0, 4, 0}, {4, 8, 4}, {8, 10, 8}});
    CHECK(windows_of(3, 4, 2) == std::vector<Window>{{0, 3, 0}});
    CHECK(windows_of(4, 4, 1) == std::vector<Window>{{0, 4, 0}});
    CHECK(windows_of(0, 4, 1).empty());
}

TEST_CASE("every token is judged once, and has all but a stride of a window before it")
{
    for (uint64_t tokens = 1; tokens < 40; ++tokens)
        for (uint64_t length = 1; length < 12; ++length)
            for (uint64_t stride = 1; stride <= length; ++stride) {
                uint64_t next = 0;
                for (const Window& window : windows_of(tokens, length, stride)) {
                    CHECK(window.judged == next);
                    CHECK(window.end - window.begin <= length);
                    CHECK(window.end > window.judged);
                    if (window.begin > 0) CHECK(window.judged - window.begin == length - stride);
                    next = window.end;
                }
                CHECK(next == tokens);
            }
}
