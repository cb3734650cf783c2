// The merges of a BPE vocabulary, from the spellings in a file to ids.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/refusal.h"
#include "engine/text/vocabulary.h"

namespace palimpsest::engine {

class BpeMerges {
public:
    // Both must outlive this. `rule` is reported for merges that cannot be.
    BpeMerges(const std::unordered_map<std::string, TokenId>& ids, const Refusal& refuse, std::string_view rule)
        : ids_(ids), refuse_(refuse), rule_(rule)
    {
    }

    // Both halves and the piece they make must be in the vocabulary.
    void add(std::string_view left, std::string_view right);
    // "left right".
    void add(std::string_view pair);
    std::vector<PieceMerge> take() { return std::move(merges_); }

private:
    TokenId find(const std::string& piece) const;

    const std::unordered_map<std::string, TokenId>& ids_;
    const Refusal& refuse_;
    std::string_view rule_;
    std::vector<PieceMerge> merges_;
};

} // namespace palimpsest::engine
