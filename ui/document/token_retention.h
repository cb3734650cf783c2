// How much of each token is kept: now, or at a past time of the fade record.
#pragma once

#include <QCoreApplication>
#include <QStringList>
#include <memory>
#include <vector>

#include "ui/document/fade_index.h"
#include "ui/document/shading.h"

namespace palimpsest::ui {

class TokenRetention {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::TokenRetention)
public:
    void set_kept(std::shared_ptr<const engine::RetentionMap> kept); // null: unknown
    const engine::RetentionMap* kept() const { return kept_.get(); }
    // Switches to the past state of `index` at `step`. Null: switches to the newest state.
    void set_time(std::shared_ptr<const FadeIndex> index, int step, uint64_t tokens_read);

    uint64_t tokens_read() const;
    // For each token of `range`: the share of lists that keep it or, in a past state, of layers.
    std::vector<double> shares(StreamRange range) const;
    double share_of(uint64_t token) const;       // 0 for a token that is not read yet
    QStringList sentences(uint64_t token) const; // say which lists keep it, its rank and age; without full stops

private:
    QStringList present_sentences(uint64_t token) const;

    std::shared_ptr<const engine::RetentionMap> kept_;
    std::shared_ptr<const FadeIndex> past_;
    int past_step_ = 0;
    uint64_t past_tokens_ = 0;
};

} // namespace palimpsest::ui
