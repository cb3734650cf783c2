#include "storage/session/answer_support.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "storage/passages/named_things.h"

namespace palimpsest::storage {
namespace {

std::vector<std::string> unsupported_by(const FoundSentences& found, std::string_view answer)
{
    std::vector<std::string> missing;
    for (const auto& things : {names_in(answer), numbers_in(answer)})
        for (const std::string& thing : things) {
            const bool is_there = has_words(found.question(), thing) || found.has_passage_with(thing);
            if (!is_there && std::find(missing.begin(), missing.end(), thing) == missing.end())
                missing.push_back(thing);
        }
    return missing;
}

} // namespace

AnswerSupport support_of(std::string_view answer, const FoundSentences& found)
try {
    if (found.empty()) return {};
    return {.quote = found.best(answer), .unsupported = unsupported_by(found, answer)};
} catch (const Error& error) {
    if (error.code() != ErrorCode::DamagedDocument) throw;
    return {};
}

} // namespace palimpsest::storage
