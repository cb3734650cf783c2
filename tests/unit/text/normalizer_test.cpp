#include "engine/text/normalizer.h"

#include "engine/text/unicode/utf8_cleaner.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

struct Pair {
    std::string text, normalized;
};

std::vector<Pair> pairs()
{
    std::vector<Pair> all;
    for (const auto& pair : nlohmann::json::parse(fixtures::read("normalizer.json")))
        all.push_back({pair["text"], pair["normalized"]});
    return all;
}

struct Mapped {
    std::string text;
    std::vector<uint64_t> sources; // [text.size()] source offset of each byte
};

Mapped map(std::string_view name, const std::vector<std::string_view>& pieces)
{
    Mapped mapped;
    OffsetMap offsets;
    Normalizer normalizer(name);
    for (std::string_view piece : pieces)
        normalizer.push(piece, mapped.text, offsets);
    normalizer.finish(mapped.text, offsets);
    for (size_t i = 0; i < mapped.text.size(); ++i)
        mapped.sources.push_back(offsets.source(i));
    return mapped;
}

} // namespace

TEST_CASE("books-1 maps text as the recipe of the training data does")
{
    for (const Pair& pair : pairs()) {
        INFO(nlohmann::json(pair.text).dump(-1, ' ', true));
        CHECK(normalize("books-1", pair.text) == pair.normalized);
        CHECK(normalize("", pair.text) == pair.text);
    }
}

TEST_CASE("books-1 does not depend on how the text was cut")
{
    std::string text;
    for (const Pair& pair : pairs())
        text += pair.text + "\n";
    const Mapped whole = map("books-1", {text});
    std::mt19937 random(3);
    for (size_t longest : {1, 2, 7, 300}) {
        const Mapped cut = map("books-1", fixtures::random_cuts(text, longest, random));
        CHECK(cut.text == whole.text);
        CHECK(cut.sources == whole.sources);
    }
}

TEST_CASE("every normalised byte has the offset of its source")
{
    // "a — b’c…d" becomes "a--b'c...d"
    const Mapped mapped = map("books-1", {"a \xE2\x80\x94 b\xE2\x80\x99"
                                          "c\xE2\x80\xA6"
                                          "d"});
    CHECK(mapped.text == "a--b'c...d");
    CHECK(mapped.sources == std::vector<uint64_t>{0, 1, 6, 6, 7, 10, 11, 14, 14, 14});

    const Mapped composed = map("books-1", {"xe\xCC\x81y"});
    CHECK(composed.text == "x\xC3\xA9y");
    CHECK(composed.sources == std::vector<uint64_t>{0, 1, 2, 4});

    const Mapped same = map("", {"a\xE2\x80\x94"});
    CHECK(same.sources == std::vector<uint64_t>{0, 1, 2, 3});
}

TEST_CASE("source offsets never decrease, and never exceed the length of the text")
{
    for (const Pair& pair : pairs()) {
        const Mapped mapped = map("books-1", {pair.text});
        CHECK(std::is_sorted(mapped.sources.begin(), mapped.sources.end()));
        if (!mapped.sources.empty()) CHECK(mapped.sources.back() <= pair.text.size());
    }
}

TEST_CASE("the offset map drops anchors before a given offset")
{
    OffsetMap map;
    for (uint64_t i = 0; i < 100; ++i)
        map.add(i, 3 * i);
    CHECK(map.anchors() == 99);
    map.forget(90);
    CHECK(map.anchors() == 10);
    CHECK(map.source(90) == 270);
    CHECK(map.source(99) == 297);
}

TEST_CASE("normalising any bytes gives UTF-8")
{
    std::mt19937 random(11);
    std::string noise;
    for (int i = 0; i < 20000; ++i)
        noise += static_cast<char>(random());
    const std::string text = normalize("books-1", noise);
    CHECK(clean_utf8(text).size() >= text.size() - 500); // only NUL and CR remain to be cleaned
    const std::string marks = [] {
        std::string m = "e";
        for (int i = 0; i < 10000; ++i)
            m += i % 2 ? "\xCC\x81" : "\xCC\xA3";
        return m;
    }();
    CHECK(normalize("books-1", marks).size() > 10000);
}

TEST_CASE("an unknown mapping is refused by name")
{
    try {
        Normalizer normalizer("books-2");
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::ModelG13);
        CHECK_THAT(error.what(), Catch::Contains("books-2"));
    }
}
