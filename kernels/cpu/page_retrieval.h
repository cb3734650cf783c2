// Selects the part of a list that a token attends to: retrieval pages by the bounds of their keys ("Quest", Tang et
// al. 2024). With top_p, top_mass.h then selects among the ranks of these pages ("Twilight", Lin et al. 2025).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/kv_list.h"

namespace palimpsest::kernels {

// The ranks to read, ascending, and their rows.
struct ReadList {
    const uint32_t* ranks = nullptr; // [count]; null: first, first + 1, ...
    const uint32_t* rows = nullptr;  // [count]
    int64_t count = 0;
    int64_t first = 0; // with a window: the first visible rank

    int64_t rank(int64_t i) const { return ranks ? static_cast<int64_t>(ranks[i]) : first + i; }
};

namespace cpu {

// Retrieval for one decode call. Uses scratch memory of the context, so only one may exist at a time.
class PageSelector {
public:
    PageSelector(const DecodeAttendArgs& args, CpuContext& context);

    // For lists that are not read completely: scores the retrieval pages and picks the best ones.
    void choose();
    ReadList list(int64_t head) const; // REQUIRES: choose() was called; `count` is valid before, too
    bool by_mass() const { return retrieves_ && args_.retrieval.top_p > 0; }

private:
    int64_t first_seen(int64_t head) const { return first_visible(args_.window, length(head)); }
    int64_t length(int64_t head) const { return int64_t{args_.lists.used[head]} + 1; }
    int64_t page() const { return args_.retrieval.pages.page; }
    int64_t last_page(int64_t head) const { return (length(head) - 1) / page(); }
    int64_t others() const { return int64_t{args_.retrieval.max_pages} - 1; }
    bool whole(int64_t head) const
    {
        return !retrieves_ || length(head) <= args_.retrieval.tokens || last_page(head) <= others();
    }
    void score_pages();
    void pick_pages(int64_t head);

    const DecodeAttendArgs& args_;
    CpuContext& context_;
    bool retrieves_ = false, all_whole_ = true;
    int64_t most_pages_ = 0, most_ranks_ = 0; // row lengths of the arrays below
    float* scores_ = nullptr;                 // [kv_heads, most_pages]
    uint32_t* pages_ = nullptr;               // same shape
    uint32_t* ranks_ = nullptr;               // [kv_heads, most_ranks]
    uint32_t* rows_ = nullptr;                // same shape
};

} // namespace cpu
} // namespace palimpsest::kernels
