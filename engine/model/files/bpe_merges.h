// The merges of a BPE vocabulary: converts the spellings in a file to token ids.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/files/refusal.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

class BpeMerges {
public:
    // `ids` and `refuse` must outlive this. `rule` is reported when a merge is refused.
    BpeMerges(const std::unordered_map<std::string, TokenId>& ids, const Refusal& refuse, ErrorCode rule)
        : ids_(ids), refuse_(refuse), rule_(rule)
    {
    }

    // Both halves and the merged piece must be in the vocabulary.
    void add(std::string_view left, std::string_view right);
    // `pair` is "left right".
    void add(std::string_view pair);
    std::vector<PieceMerge> take() { return std::move(merges_); }

private:
    TokenId find(const std::string& piece) const;

    const std::unordered_map<std::string, TokenId>& ids_;
    const Refusal& refuse_;
    ErrorCode rule_;
    std::vector<PieceMerge> merges_;
};

} // namespace palimpsest::engine
