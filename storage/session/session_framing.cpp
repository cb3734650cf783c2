#include "storage/session/session_framing.h"

#include <algorithm>
#include <utility>

#include "storage/session/protocol.h"
#include "storage/session/reading.h"

namespace palimpsest::storage {

SessionFraming::SessionFraming(std::shared_ptr<const engine::Model> model, engine::FramingOptions options,
                               std::string question)
    : model_(std::move(model)), tokenizer_(&require_tokenizer(*model_)), options_(std::move(options)),
      question_(std::move(question))
{
    make_template();
}

void SessionFraming::make_template()
{
    template_ = std::make_unique<engine::ChatTemplate>(model_->files().vocabulary, *tokenizer_, options_);
    if (!question_.empty()) question_ids_ = question_turn(*template_, question_);
}

void SessionFraming::set_options(engine::FramingOptions options)
{
    std::swap(options_, options);
    try {
        make_template();
    } catch (...) {
        options_ = std::move(options);
        make_template();
        throw;
    }
}

// Ignores BOS: earlier versions fed it only if the model requires it, even if the template prints it.
void SessionFraming::match_beginning(std::vector<engine::TokenId> first)
{
    if (template_->plain()) return;
    std::vector<engine::TokenId> own = template_->open_user();
    for (auto* ids : {&own, &first})
        if (!ids->empty() && ids->front() == tokenizer_->bos()) ids->erase(ids->begin());
    if (first.size() >= own.size() && std::equal(own.begin(), own.end(), first.begin())) return;
    options_.plain = true;
    make_template();
}

StreamFraming SessionFraming::before_document(const SessionStream& stream, const std::string& title) const
{
    if (stream.empty()) return {.ids = template_->open_user()};
    std::vector<engine::TokenId> ids;
    if (!stream.ends_with_document()) ids = template_->close_assistant_open_user();
    const auto heading = template_->next_document(title);
    ids.insert(ids.end(), heading.begin(), heading.end());
    return {.ids = std::move(ids)};
}

} // namespace palimpsest::storage
