#include "storage/session/passage_answer.h"

#include "kernels/base/error.h"
#include "storage/passages/passage_search.h"
#include "storage/session/framed_turn.h"
#include "storage/session/message_kind.h"
#include "storage/session/session_stream.h"

namespace palimpsest::storage {
namespace {

bool has_room(const engine::Session& session)
try {
    session.require_room(1);
    return true;
} catch (const Error& error) {
    if (error.code() != ErrorCode::CacheFull && error.code() != ErrorCode::PositionsExhausted) throw;
    return false;
}

} // namespace

std::string prompted(std::string_view prompt, std::string_view question)
{
    std::string text(prompt);
    return text.replace(text.find("{}"), 2, question);
}

bool may_answer_apart(AnswerFrom from, std::string_view message, std::span<const StreamPart> before)
{
    if (from != AnswerFrom::Auto) return from == AnswerFrom::Passages;
    return is_question(message) && !(has_messages(before) && is_about_conversation(message));
}

std::vector<Quote> excerpts_for(const Rereading& found, const FoundSentences& sentences, AnswerFrom from)
{
    const bool is_wanted = from == AnswerFrom::Passages || (from == AnswerFrom::Auto && !found.read.empty());
    return is_wanted ? sentences.excerpts() : std::vector<Quote>();
}

std::optional<Exchange> exchange_before(std::string_view question, std::span<const StreamPart> parts, Store& store)
{
    constexpr size_t most_bytes = 1000, most_tokens = 256; // of the question, of the answer
    if (parts.size() < 2 || stands_alone(question)) return std::nullopt;
    const StreamMessage *asked = message_in(parts[parts.size() - 2]), *answered = message_in(parts.back());
    if (!asked || !asked->id || !answered || !answered->id) return std::nullopt;
    const auto message = store.conversations.message(*asked->id),
               reply = store.conversations.message(*answered->id);
    if (!message || message->damaged || !reply || reply->damaged) return std::nullopt;
    if (message->text.size() > most_bytes || reply->ids.size() > most_tokens) return std::nullopt;
    return Exchange{message->text, reply->ids};
}

std::vector<engine::TokenId> prompt_apart(const engine::ChatTemplate& chat_template,
                                          const std::optional<Exchange>& before, std::span<const std::string> texts,
                                          std::string_view message)
{
    SessionStream stream;
    std::vector<engine::TokenId> ids;
    if (before) {
        ids = frame_turn(chat_template, stream, before->question, {}).ids;
        stream.append(StreamMessage{.tokens = ids.size()});
        ids.insert(ids.end(), before->answer.begin(), before->answer.end());
        stream.append(StreamMessage{.tokens = before->answer.size()});
    }
    std::string text;
    for (const std::string& one : texts)
        text += one + "\n\n";
    const auto turn = frame_turn(chat_template, stream, text.append(message), {}).ids;
    ids.insert(ids.end(), turn.begin(), turn.end());
    return ids;
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

engine::GenerateResult generate_apart(engine::Session& session, const std::shared_ptr<const engine::Model>& model,
                                      std::span<const engine::TokenId> prompt,
                                      std::span<const engine::TokenId> begun,
                                      const engine::GenerateOptions& options)
{
    engine::GenerateResult cancelled{.tokens = {}, .end = engine::GenerateEnd::Cancelled};
    const auto apart = empty_session_like(session, model, session.options().sampler);
    if (!apart->feed(prompt, {.stop = options.stop, .progress = {}, .loss = {}})) return cancelled;
    apart->replay(begun, false);
    bool is_full = false;
    engine::GenerateOptions own = options;
    own.token = [&](engine::TokenId id) {
        is_full = !has_room(session);
        if (is_full) return false;
        session.replay({&id, 1}, false);
        return !options.token || options.token(id);
    };
    engine::GenerateResult result = apart->generate(own);
    if (is_full) {
        result.tokens.pop_back();
        result.end = engine::GenerateEnd::Full;
    }
    // Computes what is left of the question, if the answer has no token, and lets the sampler draw its end, as
    // StreamFeeder does.
    if (result.end != engine::GenerateEnd::Cancelled)
        session.replay({}, result.end == engine::GenerateEnd::EndOfText);
    return result;
}

} // namespace palimpsest::storage
