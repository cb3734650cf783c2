#include "engine/text/document_encoder.h"

namespace palimpsest::engine {

DocumentEncoder::DocumentEncoder(const Tokenizer& tokenizer, bool first_piece)
    : tokenizer_(tokenizer), normalizer_(tokenizer.normalizer()), first_piece_(first_piece)
{
}

void DocumentEncoder::push(std::string_view bytes, std::vector<EncodedToken>& out)
{
    source_bytes_ += bytes.size();
    normalizer_.push(bytes, pending_, map_);
    encode_pending(false, out);
}

void DocumentEncoder::finish(std::vector<EncodedToken>& out)
{
    normalizer_.finish(pending_, map_);
    encode_pending(true, out);
    if (held_.empty()) return;
    out.push_back({held_.front().id, last_end_, source_bytes_});
    held_.clear();
}

// The source range of a token is final only when the next token begins, so the last one is held back.
void DocumentEncoder::encode_pending(bool at_end, std::vector<EncodedToken>& out)
{
    const size_t done = tokenizer_.encode_prefix(pending_, first_piece_, at_end, pending_begin_, held_);
    pending_.erase(0, done);
    pending_begin_ += done;
    if (done > 0) first_piece_ = false;
    if (held_.empty()) return;
    for (size_t i = 0; i + 1 < held_.size(); ++i) {
        const uint64_t end = map_.source(held_[i].end);
        out.push_back({held_[i].id, last_end_, end});
        last_end_ = end;
    }
    held_.erase(held_.begin(), held_.end() - 1);
    map_.forget(held_.front().end);
}

} // namespace palimpsest::engine
