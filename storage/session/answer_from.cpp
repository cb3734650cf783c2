#include "storage/session/answer_from.h"

#include <algorithm>
#include <iterator>

namespace palimpsest::storage {
namespace {

constexpr std::string_view answer_from_names[] = {"auto", "session", "passages"};

} // namespace

std::string_view name_of(AnswerFrom from)
{
    return answer_from_names[static_cast<size_t>(from)];
}

std::optional<AnswerFrom> answer_from(std::string_view name)
{
    const auto found = std::find(std::begin(answer_from_names), std::end(answer_from_names), name);
    if (found == std::end(answer_from_names)) return std::nullopt;
    return static_cast<AnswerFrom>(found - std::begin(answer_from_names));
}

} // namespace palimpsest::storage
