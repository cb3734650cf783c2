#include "storage/session/passage_answer.h"

#include <algorithm>
#include <iterator>

namespace palimpsest::storage {
namespace {

constexpr std::string_view answer_from_names[] = {"auto", "session", "passages"};

} // namespace

std::string with_excerpts(std::span<const Quote> excerpts, const std::string& message)
{
    std::string text;
    for (const Quote& excerpt : excerpts)
        text += excerpt.text + "\n\n";
    return text + message;
}

std::unique_ptr<engine::Session> empty_session_like(const engine::Session& session,
                                                    const std::shared_ptr<const engine::Model>& model,
                                                    const engine::SamplerOptions& sampler)
{
    engine::SessionOptions options = session.options();
    options.pins = {};
    options.sampler = sampler;
    return std::make_unique<engine::Session>(model, options);
}

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
