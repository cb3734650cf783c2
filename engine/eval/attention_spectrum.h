// How much what a token gets from other tokens differs between neighbours, by place (TreeKV, section 3.3 and figure
// 2): the Haar decomposition of s(i) = a(i) v(i), where a is the attention of a text's last token and v the values
// of the tokens it attends to.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/eval/haar.h"
#include "engine/session/session.h"

namespace palimpsest::engine {

// [layers] each the mean over query heads and the elements of a value. Values are those of the cache, in its type.
// Costs a reading with full attention and a copy of the cache. Returns nullopt if stopped. Throws as Session::feed
// does. REQUIRES: `full` is a new full_session for the text with SignalNeeds{.window = 1, .head_moments = true};
// the text has a multiple of 2^levels tokens.
std::optional<std::vector<HaarMagnitudes>> attention_spectrum(Session& full, std::span<const TokenId> text,
                                                              int levels, const FeedOptions& options);

// Adds `weight` times the other; an empty one is filled.
void add(const HaarMagnitudes& other, double weight, HaarMagnitudes& sum);

} // namespace palimpsest::engine
