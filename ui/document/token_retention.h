// How much of each token is kept: now, or at a past time of the fade record.
#pragma once

#include <QCoreApplication>
#include <QStringList>
#include <memory>
#include <vector>

#include "ui/document/fading_index.h"
#include "ui/document/shading.h"

namespace palimpsest::ui {

class TokenRetention {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::TokenRetention)
public:
    void set_kept(std::shared_ptr<const engine::RetentionMap> kept); // null: unknown
    const engine::RetentionMap* kept() const { return kept_.get(); }
    // From now on the past state of `index` at `step`; null: the present.
    void set_time(std::shared_ptr<const FadeIndex> index, int step, uint64_t tokens_read);

    uint64_t tokens_read() const;
    // Share of each token of `range`: of lists now, of layers in the past.
    std::vector<double> shares(StreamRange range) const;
    double share_of(uint64_t token) const;       // 0 for a token that is not read yet
    QStringList sentences(uint64_t token) const; // which lists keep it, rank and age; without full stops

private:
    QStringList present_sentences(uint64_t token) const;

    std::shared_ptr<const engine::RetentionMap> kept_;
    std::shared_ptr<const FadeIndex> past_;
    int past_step_ = 0;
    uint64_t past_tokens_ = 0;
};

} // namespace palimpsest::ui
