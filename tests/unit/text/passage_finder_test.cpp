#include "engine/text/passage_finder.h"

#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

// The text of the tokens found, and the number of matches.
struct Found {
    std::string text;
    uint64_t matches = 0;
    bool operator==(const Found&) const = default;
};

Found find(const Tokenizer& tokenizer, const std::string& text, const std::string& passage)
{
    const auto ids = tokenizer.encode(text, true);
    PassageFinder finder(tokenizer, passage);
    for (const TokenId id : ids)
        finder.push(id);
    Found result{.text = {}, .matches = finder.matches()};
    if (!finder.found()) return result;
    IncrementalDetokenizer detokenizer(tokenizer, false);
    for (uint32_t i = finder.found()->first; i < finder.found()->last; ++i)
        result.text += detokenizer.push(ids[i]);
    return result;
}

bool holds(const Found& found, const std::string& words)
{
    return found.text.find(words) != std::string::npos && found.text.size() < words.size() + 16;
}

} // namespace

TEST_CASE("a passage is found although its lines are broken elsewhere")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    const std::string book =
        "The keeper of the light wrote that\n   the sea was calm.\nThe sea was rough later, and the "
        "keeper of the light slept.";
    const Found across = find(tokenizer, book, "that the  sea\twas calm");
    CHECK(across.matches == 1);
    CHECK(holds(across, "that\n   the sea was calm"));
    CHECK(find(tokenizer, book, "keeper of the light").matches == 2);
    CHECK(holds(find(tokenizer, book, "keeper of the light slept."), "keeper of the light slept."));
    CHECK(holds(find(tokenizer, book, " The keeper"), "The keeper"));
    CHECK(find(tokenizer, book, "the keeper of the lights") == Found{});
    CHECK(find(tokenizer, book, "Sea was calm") == Found{});
}

TEST_CASE("a passage is found after a partial match of itself")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    CHECK(find(tokenizer, "aab aaab ab", "aab").matches == 2);
    CHECK(find(tokenizer, "abababac", "ababac").matches == 1);
    CHECK(find(tokenizer, "na na na na", "na na").matches == 3);
}

TEST_CASE("a passage includes all byte pieces of a character")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    const std::string face = "\xF0\x9F\x98\x80"; // four byte pieces
    const auto ids = tokenizer.encode("x" + face + "y", true);
    PassageFinder finder(tokenizer, face);
    for (const TokenId id : ids)
        finder.push(id);
    REQUIRE(finder.found());
    IncrementalDetokenizer detokenizer(tokenizer, false);
    std::string text;
    for (uint32_t i = finder.found()->first; i < finder.found()->last; ++i)
        text += detokenizer.push(ids[i]);
    CHECK(text == face);
}

TEST_CASE("a blank passage is refused")
{
    const Tokenizer tokenizer(fixtures::model_vocabulary("palimpsest"));
    CHECK_THROWS_WITH(PassageFinder(tokenizer, " \n\t"), Catch::Contains("PAL-PIN-02"));
}
