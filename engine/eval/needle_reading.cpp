#include "engine/eval/needle_reading.h"

#include <algorithm>
#include <cassert>

#include "engine/eval/answer_choice.h"
#include "engine/eval/haystack.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

NeedleText::Asked asked_of(const Tokenizer& tokenizer, const Needle& needle, double depth)
{
    NeedleText::Asked asked{.depth = depth,
                            .at = {},
                            .question = tokenizer.encode(needle.question, false),
                            .answers = {},
                            .value = needle.answers[0].substr(1)};
    for (const std::string& answer : needle.answers)
        asked.answers.push_back(tokenizer.encode(answer, false));
    return asked;
}

void check_length(size_t text, size_t fixed, size_t length, const std::vector<Insertion>& insertions)
{
    size_t inserted = fixed;
    for (const Insertion& insertion : insertions)
        inserted += insertion.tokens.size();
    if (length <= inserted)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("needles"),
                    Text("they have {0} tokens, and the text shall have {1} with them", format_count(inserted),
                         format_count(length)),
                    Text("ask for a longer text or fewer needles"));
    if (text + inserted - fixed < length)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("document"),
                    Text("it has {0} tokens, too few for a text of {1}", format_count(text), format_count(length)),
                    Text("give a longer document, or choose a shorter length"));
}

std::string_view first_number(std::string_view text)
{
    constexpr std::string_view digits = "0123456789";
    const size_t begin = std::min(text.size(), text.find_first_of(digits));
    return text.substr(begin, std::min(text.size(), text.find_first_not_of(digits, begin)) - begin);
}

// The numbers of the other needles take the places of those that are not in the text.
void offer_others(std::vector<NeedleText::Asked>& asked, size_t decoys)
{
    std::vector<std::vector<TokenId>> right;
    right.reserve(asked.size());
    for (const NeedleText::Asked& one : asked)
        right.push_back(one.answers[0]);
    for (size_t i = 0; i < asked.size(); ++i) {
        size_t place = 1 + decoys;
        for (size_t k = 1; k < asked.size() && place < asked[i].answers.size(); ++k)
            asked[i].answers[place++] = right[(i + k) % asked.size()];
    }
}

std::optional<NeedleAnswer> answer(Session& session, const NeedleText::Asked& asked,
                                   std::span<const TokenId> question, int32_t generated,
                                   const std::stop_token& stop)
{
    NeedleAnswer result{.losses = {}, .is_chosen = false, .is_generated = {}, .held = session.held(asked.at)};
    auto choice = choose_answer(session, question, asked.answers, stop);
    if (!choice) return std::nullopt;
    result.is_chosen = choice->best() == 0;
    result.losses = std::move(choice->losses);
    if (generated == 0) return result;
    for (const std::vector<TokenId>& one : asked.answers)
        generated = std::max(generated, static_cast<int32_t>(one.size()));
    const auto said = generated_answer(session, question, generated, stop);
    if (!said) return std::nullopt;
    result.is_generated = first_number(*said) == asked.value;
    return result;
}

} // namespace

NeedleText make_needle_text(const Tokenizer& tokenizer, std::span<const TokenId> text, size_t fixed, size_t length,
                            std::span<const double> depths, const NeedleSettings& settings)
{
    NeedleMaker maker(settings.seed);
    NeedleText made;
    std::vector<Insertion> insertions;
    std::vector<std::string> decoys;
    for (const double depth : depths) {
        const Needle needle = maker.make(settings.wording, settings.decoys);
        made.asked.push_back(asked_of(tokenizer, needle, depth));
        insertions.push_back({tokenizer.encode(needle.sentence, false), depth});
        decoys.insert(decoys.end(), needle.decoys.begin(), needle.decoys.end());
    }
    offer_others(made.asked, settings.decoys);
    constexpr double between = 0.618; // no decoy falls on a depth such as 50 %
    for (size_t i = 0; i < decoys.size(); ++i)
        insertions.push_back({tokenizer.encode(decoys[i], false),
                              (static_cast<double>(i) + between) / static_cast<double>(decoys.size())});
    check_length(text.size(), fixed, length, insertions);
    Haystack haystack = make_haystack(tokenizer, text, fixed, length, insertions);
    made.tokens = std::move(haystack.tokens);
    for (size_t i = 0; i < made.asked.size(); ++i)
        made.asked[i].at = haystack.inserted[i];
    return made;
}

size_t room_for_answers(const NeedleText& text, int32_t generated)
{
    size_t most = 0;
    for (const NeedleText::Asked& asked : text.asked) {
        size_t longest = static_cast<size_t>(generated);
        for (const std::vector<TokenId>& answer : asked.answers)
            longest = std::max(longest, answer.size());
        most = std::max(most, asked.question.size() + longest);
    }
    return most;
}

std::optional<std::vector<NeedleAnswer>> read_needles(Session& session, const NeedleText& text, Protocol protocol,
                                                      int32_t generated, const FeedOptions& options)
{
    assert(protocol == Protocol::Blind || text.asked.size() == 1);
    const bool is_steered = protocol == Protocol::Steered && session.policy().signals().attention();
    if (is_steered) session.set_question_ids(text.asked[0].question);
    if (!session.feed(text.tokens, options)) return std::nullopt;
    std::span<const TokenId> last;
    if (protocol == Protocol::QuestionLast) last = text.asked[0].question;
    if (!session.feed(last, options) || !session.finish(options)) return std::nullopt;
    if (is_steered) session.set_question_ids({});
    std::vector<NeedleAnswer> answers;
    for (const NeedleText::Asked& asked : text.asked) {
        const std::span<const TokenId> question =
            last.empty() ? std::span<const TokenId>(asked.question) : std::span<const TokenId>();
        auto one = answer(session, asked, question, generated, options.stop);
        if (!one) return std::nullopt;
        answers.push_back(std::move(*one));
    }
    return answers;
}

} // namespace palimpsest::engine
