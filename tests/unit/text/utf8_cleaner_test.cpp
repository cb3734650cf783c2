#include "engine/text/unicode/utf8_cleaner.h"

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace std::string_literals;

namespace {

struct Case {
    std::string bytes, text;
    uint64_t invalid = 0, nul = 0;
};

const std::vector<Case>& cases()
{
    static const std::vector<Case> all = {
        {"", ""},
        {"plain", "plain"},
        {"\xEF\xBB\xBF", ""},
        {"\xEF\xBB\xBFmark", "mark"},
        {"a\xEF\xBB\xBF", "a\xEF\xBB\xBF"}, // a byte-order mark only at the start
        {"a\r\nb\rc\nd\r", "a\nb\nc\nd\n"},
        {"\r\r\n\n", "\n\n\n"},
        {"a\0b\0"s, "ab", 0, 2},
        {"\0\0\0\0\0"s, "", 0, 5},
        {"caf\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80", "caf\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80"},
        {"a\x80z", "a\xEF\xBF\xBDz", 1},
        {"\xFFz", "\xEF\xBF\xBDz", 1},
        {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", 2},                                 // not the shortest form
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3},                 // a surrogate
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 4}, // beyond U+10FFFF
        {"\xE4\xB8", "\xEF\xBF\xBD", 1},                                             // truncated: one sequence
        {"\xE4\xB8"
         "a",
         "\xEF\xBF\xBD"
         "a",
         1},
        {"\xF0\x9F\x98\xE4\xB8\xAD", "\xEF\xBF\xBD\xE4\xB8\xAD", 1},
        {"\xEF\xBF\xBD", "\xEF\xBF\xBD"}, // a genuine U+FFFD is not counted
        {"\xFF\xFEh\0i\0\r\0\n\0"s, "hi\n"},
        {"\xFE\xFF\0h\0i"s, "hi"},
        {"\xFE\xFF\xD8\x3D\xDE\x00"s, "\xF0\x9F\x98\x80"},
        {"\xFF\xFE\x3D\xD8x\0\x00\xDE"s, "\xEF\xBF\xBDx\xEF\xBF\xBD", 2}, // lone surrogates
        {"\xFF\xFEh\0i"s, "h\xEF\xBF\xBD", 1},                            // half a unit
        {"\xFE\xFF\xD8\x3D"s, "\xEF\xBF\xBD", 1},
    };
    return all;
}

} // namespace

TEST_CASE("cleaning any bytes gives valid UTF-8 and counts the invalid sequences")
{
    for (const Case& c : cases()) {
        INFO(c.bytes);
        std::string out;
        Utf8Cleaner cleaner;
        cleaner.push(c.bytes, out);
        cleaner.finish(out);
        CHECK(out == c.text);
        CHECK(cleaner.counts().invalid_sequences == c.invalid);
        CHECK(cleaner.counts().nul_characters == c.nul);
        CHECK(clean_utf8(c.bytes) == c.text);
    }
}

TEST_CASE("cleaning does not depend on how the bytes were cut")
{
    std::mt19937 random(7);
    std::string noise;
    for (int i = 0; i < 4000; ++i)
        noise += "\r\n\0a\x80\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\xED\xFF\xEF\xBB\xBF"[random() % 18];
    std::vector<std::string> texts = {noise, "\xFF\xFE" + noise, "\xFE\xFF" + noise, "\xEF\xBB\xBF" + noise};
    for (const Case& c : cases())
        texts.push_back(c.bytes);
    for (const std::string& text : texts) {
        Utf8Cleaner whole;
        std::string expected;
        whole.push(text, expected);
        whole.finish(expected);
        for (size_t longest : {1, 2, 3, 50}) {
            Utf8Cleaner cleaner;
            std::string out;
            for (std::string_view piece : fixtures::random_cuts(text, longest, random))
                cleaner.push(piece, out);
            cleaner.finish(out);
            CHECK(out == expected);
            CHECK(cleaner.counts().invalid_sequences == whole.counts().invalid_sequences);
            CHECK(cleaner.counts().nul_characters == whole.counts().nul_characters);
        }
    }
}

TEST_CASE("UTF-32 is refused by name")
{
    for (const std::string& bytes : {"\xFF\xFE\0\0h\0\0\0"s, "\0\0\xFE\xFF\0\0\0h"s}) {
        try {
            clean_utf8(bytes);
            FAIL("accepted");
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::UnreadableDocument);
            CHECK_THAT(error.what(), Catch::Contains("UTF-32"));
        }
    }
}
