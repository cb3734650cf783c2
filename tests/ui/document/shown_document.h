// Shared by the tests of the document: makes a view of a generated text and lists of its kept tokens, and waits for
// its pages.
#pragma once

#include <QTest>
#include <algorithm>
#include <random>

#include "engine/cache/retention_map.h"
#include "tests/ui/document/synthetic_text.h"
#include "tests/ui/support/patience.h"
#include "ui/document/document_view.h"

namespace palimpsest::ui {

// Returns lists of different lengths, each with the newest tokens.
inline std::shared_ptr<const engine::RetentionMap> ragged_map(uint64_t tokens, int layers, int heads,
                                                              uint32_t seed = 7)
{
    auto map = std::make_shared<engine::RetentionMap>();
    map->layers = layers, map->kv_heads = heads, map->tokens_seen = tokens;
    std::mt19937_64 random(seed);
    for (int list = 0; list < layers * heads; ++list) {
        std::vector<uint32_t> kept;
        const size_t count = 100 + random() % 4000;
        for (size_t i = 0; i < count; ++i)
            kept.push_back(static_cast<uint32_t>(random() % tokens));
        for (uint64_t token = tokens - std::min<uint64_t>(tokens, 512); token < tokens; ++token)
            kept.push_back(static_cast<uint32_t>(token));
        std::ranges::sort(kept);
        kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
        map->tokens.push_back(std::move(kept));
    }
    return map;
}

inline int plain_count(const engine::RetentionMap& map, uint64_t token)
{
    int held = 0;
    for (const auto& list : map.tokens)
        held += std::find(list.begin(), list.end(), token) != list.end();
    return held;
}

inline bool arrives(DocumentView& view)
{
    return test::eventually([&] {
        return view.text_layout().is_complete() &&
               view.text_layout().visible_range().first < view.text_layout().visible_range().last;
    });
}

inline std::unique_ptr<DocumentView> view_of(std::shared_ptr<TextSource> source, QSize size = {900, 700})
{
    auto view = std::make_unique<DocumentView>();
    view->resize(size);
    view->set_source(std::move(source));
    view->show();
    return view;
}

} // namespace palimpsest::ui
