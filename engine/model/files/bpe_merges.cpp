#include "engine/model/files/bpe_merges.h"

#include "engine/model/config/limits.h"

namespace palimpsest::engine {

TokenId BpeMerges::find(const std::string& piece) const
{
    const auto at = ids_.find(piece);
    if (at == ids_.end()) {
        refuse_.fail(rule_, Text("merge {0} names the piece {1}, which the vocabulary does not have",
                                 merges_.size(), in_quotes(piece)));
    }
    return at->second;
}

void BpeMerges::add(std::string_view left, std::string_view right)
{
    if (merges_.size() == limits::merges)
        refuse_.fail(rule_, Text("the vocabulary has more than 2^21 merges"), Refusal::other_model());
    std::string piece(left);
    const TokenId left_id = find(piece);
    piece += right;
    merges_.push_back({left_id, find(std::string(right)), find(piece)});
}

void BpeMerges::add(std::string_view pair)
{
    const size_t space = pair.empty() ? std::string_view::npos : pair.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == pair.size()) {
        refuse_.fail(rule_, Text("merge {0} is {1}, not two pieces", merges_.size(), in_quotes(pair)));
    }
    add(pair.substr(0, space), pair.substr(space + 1));
}

} // namespace palimpsest::engine
