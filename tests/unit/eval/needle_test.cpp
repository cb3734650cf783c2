#include "engine/eval/needle.h"

#include <algorithm>
#include <set>

#include "kernels/base/error.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

std::string key_in(const std::string& sentence, const std::string& before, const std::string& after)
{
    const size_t begin = sentence.find(before) + before.size();
    return sentence.substr(begin, sentence.find(after, begin) - begin);
}

} // namespace

TEST_CASE("a needle says its first answer, its decoys say the next ones, and the question names only its own key")
{
    const auto wording = GENERATE(NeedleWording::Repeated, NeedleWording::Paraphrased);
    NeedleMaker maker(3);
    const Needle needle = maker.make(wording, 4);
    CHECK(needle.sentence.ends_with(needle.answers[0] + "."));
    REQUIRE(needle.decoys.size() == 4);
    for (size_t i = 0; i < 4; ++i)
        CHECK(needle.decoys[i].ends_with(needle.answers[i + 1] + "."));
    const bool is_repeated = wording == NeedleWording::Repeated;
    const auto key = [&](const std::string& sentence) {
        return is_repeated ? key_in(sentence, "number of the ", " is ")
                           : key_in(sentence, "comes to the ", " has ");
    };
    CHECK(needle.question.find(key(needle.sentence)) != std::string::npos);
    for (const std::string& decoy : needle.decoys)
        CHECK(needle.question.find(key(decoy)) == std::string::npos);
    const std::string said = needle.sentence.substr(0, needle.sentence.size() - needle.answers[0].size() - 1);
    CHECK(needle.question.ends_with(said.substr(1)) == is_repeated); // without the space before it
}

TEST_CASE("needles of one maker share no key and no value, and all values have five digits")
{
    NeedleMaker maker(7);
    std::set<std::string> values, keys;
    for (int i = 0; i < 40; ++i) {
        const Needle needle = maker.make(NeedleWording::Repeated, NeedleMaker::most_decoys);
        for (const std::string& answer : needle.answers) {
            CHECK(answer.size() == 6);
            CHECK(answer[0] == ' ');
            values.insert(answer);
        }
        keys.insert(key_in(needle.sentence, "number of the ", " is "));
        for (const std::string& decoy : needle.decoys)
            keys.insert(key_in(decoy, "number of the ", " is "));
    }
    CHECK(values.size() == 40 * Needle::answers_asked);
    CHECK(keys.size() == 400);
    CHECK_THROWS_AS(maker.make(NeedleWording::Repeated, 0), Error);
}

TEST_CASE("the same seed makes the same needles on every machine, and another seed others")
{
    const Needle needle = NeedleMaker(1).make(NeedleWording::Repeated, 0);
    CHECK(needle.sentence == NeedleMaker(1).make(NeedleWording::Repeated, 0).sentence);
    CHECK(needle.sentence != NeedleMaker(2).make(NeedleWording::Repeated, 0).sentence);
    CHECK(needle.sentence == " The secret number of the quiet harbour is 75131.");
}
