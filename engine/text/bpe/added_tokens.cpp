#include "engine/text/bpe/added_tokens.h"

#include <cassert>

#include "kernels/base/error.h"

namespace palimpsest::engine {

void AddedTokens::add(std::string_view text, TokenId id)
{
    assert(!text.empty() && text.size() <= longest);
    begins_[static_cast<unsigned char>(text.front())] = true;
    uint32_t node = 0;
    for (const char byte : text) {
        const auto [at, is_new] = edges_.try_emplace(edge(node, byte), nodes_);
        if (is_new && nodes_++ > max_bytes)
            throw Error(
                ErrorKind::Failed, ErrorCode::ModelG13, Text("tokenizer"),
                Text("the spellings of its added tokens, up to token {0}, have more than {1} bytes", id, max_bytes),
                Text("use another model"));
        node = at->second;
    }
    ends_.try_emplace(node, id);
}

AddedTokens::Place AddedTokens::find(std::string_view text, size_t from, bool complete) const
{
    if (empty()) return {text.size(), text.size(), -1};
    for (size_t begin = from; begin < text.size(); ++begin) {
        if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
        Place place;
        uint32_t node = 0;
        size_t at = begin;
        for (; at < text.size(); ++at) {
            const auto next = edges_.find(edge(node, text[at]));
            if (next == edges_.end()) break;
            node = next->second;
            if (const auto end = ends_.find(node); end != ends_.end()) place = {begin, at + 1, end->second};
        }
        if (at == text.size() && !complete) return {begin, begin, -1}; // more text may complete a longer token
        if (place.id >= 0) return place;
    }
    return {text.size(), text.size(), -1};
}

} // namespace palimpsest::engine
