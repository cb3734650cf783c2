#include "ui/document/token_retention.h"

#include "ui/base/quantity.h"

#include <QLocale>
#include <algorithm>

namespace palimpsest::ui {
namespace {

// Formats runs of layers, such as "0–3, 5".
QString layer_list(const std::vector<int>& layers)
{
    const QLocale locale;
    QStringList runs;
    for (size_t i = 0; i < layers.size();) {
        size_t last = i;
        while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1)
            ++last;
        runs += last > i ? QStringLiteral("%1–%2").arg(locale.toString(layers[i]), locale.toString(layers[last]))
                         : locale.toString(layers[i]);
        i = last + 1;
    }
    return runs.join(QStringLiteral(", "));
}

} // namespace

void TokenRetention::set_kept(std::shared_ptr<const engine::RetentionMap> kept)
{
    kept_ = std::move(kept);
}

void TokenRetention::set_time(std::shared_ptr<const FadeIndex> index, int step, uint64_t tokens_read)
{
    past_ = std::move(index), past_step_ = step, past_tokens_ = tokens_read;
}

uint64_t TokenRetention::tokens_read() const
{
    if (past_) return past_tokens_;
    return kept_ ? kept_->tokens_seen : 0;
}

std::vector<double> TokenRetention::shares(StreamRange range) const
{
    std::vector<double> all(range.last - range.first);
    if (past_) {
        for (uint64_t token = range.first; token < range.last; ++token)
            all[token - range.first] =
                static_cast<double>(past_->layers_holding(token, past_step_)) / std::max(1, past_->layers());
    } else if (kept_ && !kept_->tokens.empty()) {
        const auto counts = kept_counts(*kept_, range);
        for (size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<double>(counts[i]) / static_cast<double>(kept_->tokens.size());
    }
    return all;
}

double TokenRetention::share_of(uint64_t token) const
{
    return token < tokens_read() ? shares({token, token + 1}).front() : 0;
}

QStringList TokenRetention::sentences(uint64_t token) const
{
    if (token >= tokens_read()) return {past_ ? tr("not read yet at that time") : tr("not read yet")};
    if (past_)
        return {tr("held by %1 of %2 layers at that time")
                    .arg(count_text(static_cast<uint64_t>(past_->layers_holding(token, past_step_))),
                         count_text(static_cast<uint64_t>(past_->layers())))};
    return kept_ ? present_sentences(token) : QStringList();
}

QStringList TokenRetention::present_sentences(uint64_t token) const
{
    QStringList lines;
    const auto held = holders(*kept_, token);
    std::vector<int> layers;
    for (const Holder& holder : held)
        if (layers.empty() || layers.back() != holder.layer) layers.push_back(holder.layer);
    const QString all = count_text(kept_->tokens.size());
    lines += held.empty() ? tr("held by none of %1").arg(all)
                          : tr("held by %1 of %2: layers %3").arg(count_text(held.size()), all, layer_list(layers));
    if (!held.empty())
        lines += tr("rank %1 of %2 in layer %3, head %4")
                     .arg(count_text(held.front().rank + 1), count_text(held.front().kept),
                          count_text(static_cast<uint64_t>(held.front().layer)),
                          count_text(static_cast<uint64_t>(held.front().head)));
    lines += tr("%1 tokens ago").arg(count_text(kept_->tokens_seen - token));
    return lines;
}

} // namespace palimpsest::ui
