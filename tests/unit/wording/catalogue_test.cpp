// The translations of message patterns.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "engine/messages/catalogue.h"
#include "tests/support/catch.h"

namespace palimpsest::tests {
namespace {

std::vector<std::string> holes(const std::string& pattern)
{
    static const std::regex hole("\\{[0-9]\\}");
    std::vector<std::string> found;
    for (std::sregex_iterator at(pattern.begin(), pattern.end(), hole), end; at != end; ++at)
        found.push_back(at->str());
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

TEST_CASE("a pattern without a translation stays English")
{
    CHECK(engine::Catalogue::of("de").translation("there is no such pattern") == "there is no such pattern");
    CHECK(engine::Catalogue::of("en").translation("budget") == "budget");
    CHECK(engine::Catalogue::of("fr").entries().empty());
    CHECK(engine::Catalogue::of("de").translation("session '{0}'") == "Sitzung „{0}“");
}

TEST_CASE("translations have the same placeholders as their patterns")
{
    const auto& entries = engine::Catalogue::of("de").entries();
    REQUIRE_FALSE(entries.empty());
    for (const auto& [english, german] : entries) {
        INFO(english);
        CHECK_FALSE(german.empty());
        CHECK(holes(german) == holes(english));
    }
}

} // namespace palimpsest::tests
