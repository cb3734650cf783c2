#include "storage/session/reading.h"

#include <algorithm>

#include "engine/text/document_encoder.h"
#include "engine/text/unicode/utf8_cleaner.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/listener.h"

namespace palimpsest::storage {
namespace {

// Converts bytes to tokens: UTF-8 cleaner, then encoder.
class TokenStream {
public:
    TokenStream(Document& document, const engine::Tokenizer& tokenizer, bool first_text)
        : document_(document), encoder_(tokenizer, first_text)
    {
    }

    // Replaces `tokens` with the next ones; false at the end.
    bool next(std::vector<engine::EncodedToken>& tokens)
    {
        tokens.clear();
        if (done_) return false;
        clean_.clear();
        if (document_.next(block_)) {
            cleaner_.push(block_, clean_);
            encoder_.push(clean_, tokens);
            return true;
        }
        done_ = true;
        cleaner_.finish(clean_);
        encoder_.push(clean_, tokens);
        encoder_.finish(tokens);
        return true;
    }
    const std::string& clean() const { return clean_; } // cleaned text of the last block
    void count(Coverage& coverage) const
    {
        coverage.invalid_sequences = cleaner_.counts().invalid_sequences;
        coverage.nul_characters = cleaner_.counts().nul_characters;
        coverage.pages_without_text = document_.pages_without_text();
    }

private:
    Document& document_;
    engine::Utf8Cleaner cleaner_;
    engine::DocumentEncoder encoder_;
    std::string block_, clean_;
    bool done_ = false;
};

[[noreturn]] void interrupted(const engine::Session& session)
{
    throw Interrupted{Text("stopped after {0} tokens; nothing was saved, run it again to start over",
                           format_count(session.tokens_seen()))};
}

} // namespace

nlohmann::ordered_json Coverage::json() const
{
    return {{"tokens_in_input", tokens_in_input},
            {"tokens_read", tokens_read},
            {"pages_without_text", pages_without_text},
            {"invalid_sequences", invalid_sequences},
            {"nul_characters", nul_characters}};
}

Text Coverage::sentence() const
{
    const std::string read = format_count(tokens_read), all = format_count(tokens_in_input);
    std::vector<Text> clauses{complete() ? Text("{0} of {1} tokens read, nothing cut", read, all)
                                         : Text("{0} of {1} tokens read", read, all)};
    if (invalid_sequences > 0)
        clauses.push_back(Text("{0} invalid byte sequences replaced", format_count(invalid_sequences)));
    if (nul_characters > 0) clauses.push_back(Text("{0} NUL characters dropped", format_count(nul_characters)));
    if (!pages_without_text.empty())
        clauses.push_back(Text("{0} pages without text", format_count(pages_without_text.size())));
    return joined(clauses, "; ");
}

void check_complete(const Coverage& coverage, bool required, const std::string& subject)
{
    if (!required || coverage.complete()) return;
    throw Error(ErrorKind::Failed, ErrorCode::IncompleteReading, Text::escaped(subject), coverage.sentence(),
                Text("leave {0} out to accept that", Setting::RequireComplete));
}

Coverage read_document(Document& document, const engine::Tokenizer& tokenizer, engine::Session& session,
                       const ReadOptions& options)
{
    Coverage coverage;
    TokenStream stream(document, tokenizer, options.first_text);
    std::vector<engine::EncodedToken> tokens;
    std::vector<engine::TokenId> ids;
    engine::FeedOptions feed = options.feed;
    uint64_t seen_before = 0; // of the stream, before this block's first token
    feed.progress = [&](const engine::Telemetry& telemetry) {
        if (!options.progress || tokens.empty()) return;
        const uint64_t of_block = telemetry.tokens_seen - seen_before;
        const uint64_t bytes = tokens[std::min<uint64_t>(of_block, tokens.size() - 1)].end;
        options.progress->update(session, telemetry, options.bytes_before + bytes, 0);
    };
    while (stream.next(tokens)) {
        ids.clear();
        if (options.sink) options.sink(stream.clean(), tokens);
        seen_before = session.tokens_seen() + static_cast<uint64_t>(session.pending());
        for (const engine::EncodedToken& token : tokens)
            if (coverage.tokens_in_input++ < options.max_tokens_read) ids.push_back(token.id);
        if (!session.feed(ids, feed)) interrupted(session);
        coverage.tokens_read += ids.size();
        if (feed.stop.stop_requested()) interrupted(session);
    }
    stream.count(coverage);
    return coverage;
}

void report_notes(const Document& document, Listener& listener)
{
    for (const Text& note : document.notes())
        listener.note(Text("{0}: {1}", printable(document.name()), note));
}

std::vector<engine::TokenId> encode_document(Document& document, const engine::Tokenizer& tokenizer,
                                             bool first_text, Coverage& coverage)
{
    std::vector<engine::TokenId> ids;
    encode_document(document, tokenizer, first_text, coverage,
                    [&](std::string_view, std::span<const engine::EncodedToken> tokens) {
                        for (const engine::EncodedToken& token : tokens)
                            ids.push_back(token.id);
                    });
    return ids;
}

void encode_document(Document& document, const engine::Tokenizer& tokenizer, bool first_text, Coverage& coverage,
                     const EncodedSink& sink)
{
    TokenStream stream(document, tokenizer, first_text);
    std::vector<engine::EncodedToken> tokens;
    while (stream.next(tokens)) {
        coverage.tokens_in_input += tokens.size();
        sink(stream.clean(), tokens);
    }
    stream.count(coverage);
}

uint64_t count_tokens_up_to(Document& document, const engine::Tokenizer& tokenizer, bool first_text,
                            uint64_t enough)
{
    TokenStream stream(document, tokenizer, first_text);
    std::vector<engine::EncodedToken> tokens;
    uint64_t count = 0;
    while (count < enough && stream.next(tokens))
        count += tokens.size();
    return count;
}

const engine::Tokenizer& require_tokenizer(const engine::Model& model)
{
    if (model.tokenizer()) return *model.tokenizer();
    throw Error(ErrorKind::Failed, ErrorCode::ModelG13, Text::verbatim(model.files().path.string()),
                Text("it has no tokenizer that this version reads"),
                Text("give {0}, or {1}", Setting::TokenIds, Step::ChooseModel));
}

} // namespace palimpsest::storage
