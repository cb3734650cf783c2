// Packs Texts as bytes, and unpacks any bytes.

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/base/packed_text.h"
#include "tests/support/catch.h"

using namespace palimpsest;

namespace {

Text nested(int levels)
{
    Text text("the end");
    for (int i = 0; i < levels; ++i)
        text = Text("in {0}", text);
    return text;
}

const std::vector<Text>& texts()
{
    static const std::vector<Text> all = {
        Text(),
        Text("its memory is full"),
        Text("{0} of {1} tokens read", 3, 40),
        Text::verbatim(""),
        Text::verbatim("{0} 12:34 p3:{0}1:v1:x"), // looks like a pattern, and like packed text
        Text::verbatim(std::string("\0\xff:\n{9}", 7)),
        Text::verbatim("Grafikkarte \xc3\xbc"),
        Text(Setting::Budget),
        Text(Setting::TopP),
        Text(Step::Restart),
        Text(Step::ShowSession, Text::verbatim("a 'name'")),
        Text("set {0} to {1}, or {2}", Setting::Device, "cpu", Step::ListModels),
        Text("{0}; {1}", Text("{0} is not used: {1}", "a file", Text("it lacks {0}", "a function")), Text()),
        nested(Text::most_nested),
    };
    return all;
}

} // namespace

TEST_CASE("unpacking a packed text yields an equal text", "[text]")
{
    for (const Text& text : texts()) {
        CAPTURE(text.english());
        const auto back = Text::unpacked(text.packed());
        REQUIRE(back);
        CHECK(*back == text);
        if (!text.empty()) CHECK(unpack(pack(text)) == text);
    }
    CHECK(unpack(pack(Text())).empty());
}

TEST_CASE("different texts are packed differently", "[text]")
{
    for (size_t a = 0; a < texts().size(); ++a)
        for (size_t b = 0; b < a; ++b)
            CHECK(texts()[a].packed() != texts()[b].packed());
}

TEST_CASE("bytes that are not a packed text are refused", "[text]")
{
    for (const std::string bytes : {"",
                                    "x",
                                    "p",
                                    "p:",
                                    "p1",
                                    "p1:",
                                    "p1:a",
                                    "p1:a0",
                                    "p1:a1:",
                                    "p1:a0:x",
                                    "p-1:a0:",
                                    "p+1:a0:",
                                    "p 1:a0:",
                                    "p9:a0:",
                                    "p18446744073709551616:a0:",
                                    "v1:",
                                    "v2:a",
                                    "v1:ab",
                                    "s",
                                    "s:",
                                    "s99:",
                                    "s0:0:",
                                    "n99:0:",
                                    "n0:",
                                    "n0:1:",
                                    "n0:99999999999:",
                                    "q1:a0:",
                                    "P1:a0:"}) {
        CAPTURE(bytes);
        CHECK_FALSE(Text::unpacked(bytes));
    }
    CHECK_FALSE(Text::unpacked(nested(Text::most_nested + 1).packed()));
    std::string deep;
    for (int i = 0; i < 1'000'000; ++i)
        deep += "p0:1:";
    CHECK_FALSE(Text::unpacked(deep));
}

TEST_CASE("truncated bytes are refused, and changed bytes are refused or are a valid packed text", "[text]")
{
    std::mt19937 random(7);
    for (const Text& text : texts()) {
        const std::string packed = text.packed();
        for (size_t size = 0; size < packed.size(); ++size)
            CHECK_FALSE(Text::unpacked(packed.substr(0, size)));
        for (int i = 0; i < 500; ++i) {
            std::string bytes = packed;
            for (int n = 0; n < 2; ++n)
                bytes[random() % bytes.size()] = static_cast<char>(random());
            CAPTURE(bytes);
            if (const auto read = Text::unpacked(bytes)) CHECK(Text::unpacked(read->packed()) == read);
        }
    }
}

TEST_CASE("a text that is too long becomes its sentence, truncated between characters", "[text]")
{
    std::string long_word;
    while (long_word.size() < 3000)
        long_word += "\xc3\xbc"; // two bytes each
    for (const std::string before : {"", "a"}) {
        const Text read = unpack(pack(Text("{0}{1}", before, long_word)));
        const std::string sentence = read.english();
        CHECK(sentence.size() > 1000);
        CHECK((sentence.size() - before.size()) % 2 == 0);
        CHECK((before + long_word).starts_with(sentence));
    }
    // Nested too deep to be unpacked, so it becomes its sentence.
    CHECK(unpack(pack(nested(Text::most_nested + 1))).english() == nested(Text::most_nested + 1).english());
}

TEST_CASE("bytes of another version are shown escaped, and never read beyond their end", "[text]")
{
    PackedText packed;
    std::memcpy(packed.bytes, "\x1b[31m", 5);
    packed.size = 5;
    CHECK(unpack(packed).english() == "\\x1b[31m");
    std::memset(packed.bytes, 'x', sizeof packed.bytes);
    packed.size = UINT32_MAX;
    CHECK(unpack(packed).english().size() == 80);
    packed.size = 0;
    CHECK(unpack(packed).empty());
}
