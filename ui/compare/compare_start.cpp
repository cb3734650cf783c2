#include "ui/compare/compare_start.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "engine/model/model.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/reading.h"
#include "storage/session/store.h"
#include "ui/engine/tools.h"
#include "ui/policy/policy_check.h"

namespace palimpsest::ui {
namespace {

constexpr uint64_t ids_at_once = 65536;

struct ComparedText {
    std::vector<engine::TokenId> tokens; // includes BOS, if the tokenizer adds it
    storage::Coverage coverage;          // without BOS
};

// Compares size, hash and time too, because another store may use the same id for a different document.
bool is_there(storage::Library& library, const storage::DocumentInfo& wanted)
{
    try {
        const storage::DocumentInfo found = library.get(wanted.id);
        return found.created_ms == wanted.created_ms && found.source_hash == wanted.source_hash &&
               found.bytes == wanted.bytes && found.tokens == wanted.tokens;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::NotFound) throw;
        return false;
    }
}

void require_document(storage::Library& library, const storage::DocumentInfo& wanted, const engine::Model& model)
{
    const Text subject("document '{0}'", printable(wanted.title));
    if (!is_there(library, wanted))
        throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, subject,
                    Text("its session was closed meanwhile"), Text("open that again, or choose a file"));
    if (wanted.tokenizer != model.fingerprint())
        throw Error(ErrorKind::Usage, ErrorCode::DocumentOfOtherModel, subject,
                    Text("its tokens are those of another model"),
                    Text("choose its file, or open the session with its own model"));
}

void append_document(storage::Library& library, int64_t document, std::vector<engine::TokenId>& tokens)
{
    for (uint64_t at = 0;; at += ids_at_once) {
        const auto ids = library.ids(document, at, ids_at_once);
        tokens.insert(tokens.end(), ids.begin(), ids.end());
        if (ids.size() < ids_at_once) return;
    }
}

ComparedText text_of_file(EngineThread::Tools& tools, const QString& file, const engine::Tokenizer& tokenizer)
{
    std::istringstream nothing;
    storage::Document document(file.toStdString(), nothing, tools.stop);
    ComparedText text;
    text.tokens = storage::encode_document(document, tokenizer, true, text.coverage);
    storage::report_notes(document, tools.listener);
    return text;
}

ComparedText text_of_documents(EngineThread::Tools& tools, const std::vector<storage::DocumentInfo>& documents)
{
    ComparedText text;
    for (const storage::DocumentInfo& document : documents) {
        require_document(tools.store.library, document, *tools.model);
        append_document(tools.store.library, document.id, text.tokens);
        text.coverage.invalid_sequences += document.invalid_sequences;
        text.coverage.nul_characters += document.nul_characters;
        std::ranges::move(tools.store.library.pages_without_text(document.id),
                          std::back_inserter(text.coverage.pages_without_text));
    }
    text.coverage.tokens_in_input = text.tokens.size();
    return text;
}

ComparedText read_text(EngineThread::Tools& tools, const CompareRequest& request)
{
    const engine::Tokenizer& tokenizer = storage::require_tokenizer(*tools.model);
    ComparedText text = request.file.isEmpty() ? text_of_documents(tools, request.documents)
                                               : text_of_file(tools, request.file, tokenizer);
    if (text.tokens.empty())
        throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(request.what.toStdString()),
                    Text("it has no text"), Text("choose a document with text"));
    if (tokenizer.adds_bos()) text.tokens.insert(text.tokens.begin(), tokenizer.bos());
    return text;
}

} // namespace

std::shared_ptr<const CompareState> compare(EngineThread::Tools& tools, const CompareRequest& request,
                                            const CompareSink& sink)
{
    ComparedText text = read_text(tools, request);
    CompareJob job{.what = request.what.toStdString(), .tokens = {}, .chunk = request.chunk, .contenders = {}};
    for (const CompareRequest::Choice& choice : request.choices) {
        NewSession session;
        session.policy = choice.policy;
        session.budget = choice.budget;
        session.chunk = request.chunk;
        job.contenders.push_back({choice.policy.trimmed().toStdString(),
                                  session_options(session, tools.model->config(), text.coverage.tokens_in_input)});
    }
    job.tokens = std::move(text.tokens);
    job.coverage = text.coverage;
    return compare(tools.model, job, tools.stop, [&](std::shared_ptr<const CompareState> state) {
        tools.progress(state->share, state->seconds_left);
        sink(std::move(state));
    });
}

void CompareExchange::put(std::shared_ptr<const CompareState> state)
{
    const std::lock_guard lock(mutex_);
    newest_ = std::move(state);
    if (std::exchange(told_, true)) return;
    QMetaObject::invokeMethod(this, &CompareExchange::changed, Qt::QueuedConnection);
}

std::shared_ptr<const CompareState> CompareExchange::take()
{
    const std::lock_guard lock(mutex_);
    told_ = false;
    return newest_;
}

} // namespace palimpsest::ui
