#include "storage/session/written_text.h"

#include "storage/notes/note_text.h"
#include "storage/session/answer_text.h"

namespace palimpsest::storage {

std::optional<WrittenText> write_text(engine::Session& session, std::span<const engine::TokenId> request,
                                      const engine::Tokenizer& tokenizer, const WritingOptions& options)
{
    session.set_question_ids({}); // they are for documents
    session.set_sampler(options.sampler);
    if (!session.feed(request, {.stop = options.stop, .progress = {}, .loss = {}})) return std::nullopt;
    WrittenText written;
    constexpr size_t tokens_between_looks = 8; // at the whole text
    size_t generated = 0;
    AnswerText text(tokenizer, options.ends);
    const auto take = [&](engine::TokenId id) {
        if (!text.push(id) || (options.token && !options.token(id))) return false;
        return ++generated % tokens_between_looks != 0 || !repeats_itself(text.text());
    };
    const auto is_end = [&](engine::TokenId id) { return tokenizer.is_end(id); };
    const auto result =
        session.generate({.max_tokens = options.max_tokens, .stop = options.stop, .token = take, .is_end = is_end});
    if (result.end == engine::GenerateEnd::Cancelled) return std::nullopt;
    text.finish();
    written.text = text.text();
    written.end = result.end;
    written.generated = result.tokens.size();
    written.tokens = request.size() + result.tokens.size();
    return written;
}

} // namespace palimpsest::storage
