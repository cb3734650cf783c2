#include "storage/session/early_answer.h"

#include <algorithm>

#include "storage/notes/note_text.h"
#include "storage/session/found_sentences.h"
#include "storage/session/passage_answer.h"
#include "storage/session/rereading.h"
#include "storage/session/written_text.h"

namespace palimpsest::storage {
namespace {

// The stream up to what was computed.
SessionStream read_part(const SessionContext& context)
{
    SessionStream read;
    uint64_t begin = 0;
    const uint64_t position = context.session->tokens_seen();
    for (StreamPart part : context.stream.parts()) {
        const uint64_t end = begin + tokens_of(part);
        if (StreamDocument* document = std::get_if<StreamDocument>(&part))
            document->tokens = std::min(document->tokens, position - std::min(position, begin));
        read.append(std::move(part));
        begin = end;
    }
    return read;
}

double share_of_documents(const SessionStream& read, const SessionStream& all)
{
    const auto tokens = [](const SessionStream& stream) {
        uint64_t sum = 0;
        for (const StreamPart& part : stream.parts())
            if (const StreamDocument* document = document_in(part)) sum += document->tokens;
        return static_cast<double>(sum);
    };
    return tokens(read) / std::max(1.0, tokens(all));
}

// Writes the answer in an empty session, and cuts it where it repeats itself. Returns nullopt if it was stopped.
std::optional<std::string> write_answer(const SessionContext& context, const SessionFraming& framing,
                                        const std::vector<engine::TokenId>& prompt,
                                        const engine::GenerateOptions& options)
{
    const engine::SamplerOptions& sampler = context.session->options().sampler;
    const auto apart = empty_session_like(*context.session, context.model, sampler);
    const auto written = write_text(
        *apart, prompt, framing.tokenizer(),
        {.sampler = sampler, .max_tokens = options.max_tokens, .stop = options.stop, .token = options.token});
    if (!written) return std::nullopt;
    return without_repetition(written->text);
}

} // namespace

std::optional<EarlyAnswer> answer_early(SessionContext& context, const SessionFraming& framing,
                                        const std::string& question, const engine::GenerateOptions& options)
{
    const RereadOptions& rereading = context.options.rereading;
    if (rereading.mode == RereadMode::Never || !framing.question().empty() ||
        !may_answer_apart(rereading.answer_from, question, context.stream.parts()))
        return std::nullopt;
    const SessionStream read = read_part(context);
    FindingMeans means{.before = asked_before(context.store, read),
                       .model = context.model,
                       .listener = &context.listener,
                       .stop = options.stop};
    context.encode([&](PassageEncoder& encoder) {
        means.meaning = encoder.meaning_of({question, means.before}, options.stop);
    });
    if (means.is_by_meaning()) means.encoder = context.encoder_for_finding();
    RereadOptions all = rereading; // what is held well, too: the session that holds it does not answer
    all.mode = RereadMode::Always;
    all.needs_room = false;
    const Rereading found = plan_rereading(context.store, read, *context.session, question, all, means);
    const FoundSentences sentences(found, {question, means.before}, context.store, means.encoder, options.stop);
    std::vector<std::string> texts;
    for (const Quote& excerpt : sentences.excerpts())
        texts.push_back(excerpt.text);
    if (texts.empty()) return std::nullopt;
    const auto prompt = prompt_apart(framing.chat_template(), {}, texts, prompted(passage_prompt, question));
    const auto text = write_answer(context, framing, prompt, options);
    if (!text) return std::nullopt;
    return EarlyAnswer{
        .text = *text, .support = support_of(*text, sentences), .share = share_of_documents(read, context.stream)};
}

} // namespace palimpsest::storage
