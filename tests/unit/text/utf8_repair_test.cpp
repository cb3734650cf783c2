#include "engine/text/unicode/utf8_repair.h"

#include "tests/support/catch.h"

using namespace palimpsest::engine;
using namespace std::string_literals;

TEST_CASE("every maximal subpart that is not UTF-8 becomes one U+FFFD with the offset of its source")
{
    const RepairedText repaired = repair_utf8("a\xE4\xB8\xFF\xC3\xA9"s, true);
    CHECK(repaired.text == "a\xEF\xBF\xBD\xEF\xBF\xBD\xC3\xA9");
    CHECK(repaired.source == std::vector<uint32_t>{0, 1, 3, 3, 3, 4, 4, 4, 5, 6});
}

TEST_CASE("an incomplete character at the end is left out if more text may follow")
{
    CHECK(repair_utf8("\xFF\xE4\xB8"s, false).text == "\xEF\xBF\xBD");
    CHECK(repair_utf8("\xFF\xE4\xB8"s, true).text == "\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(scan_utf8("ab\xE4\xB8").valid == 2);
    CHECK_FALSE(scan_utf8("ab\xE4\xB8").is_broken);
    CHECK(scan_utf8("ab\xE4 ").is_broken);
}
