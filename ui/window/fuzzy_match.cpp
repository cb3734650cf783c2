#include "ui/window/fuzzy_match.h"

#include <algorithm>
#include <vector>

namespace palimpsest::ui {
namespace {

constexpr int fits = 1, follows = 10, begins_word = 10, begins_text = 4, per_gap = -1;
constexpr int impossible = -1'000'000;

QString simple(const QString& text, bool keep_spaces)
{
    QString result;
    for (const QChar c : text.normalized(QString::NormalizationForm_KD))
        if (c.category() != QChar::Mark_NonSpacing && (keep_spaces || !c.isSpace())) result += c.toCaseFolded();
    return result;
}

int worth(const QString& text, qsizetype at)
{
    if (at == 0) return fits + begins_word + begins_text;
    return text[at].isLetterOrNumber() && !text[at - 1].isLetterOrNumber() ? fits + begins_word : fits;
}

} // namespace

std::optional<int> fuzzy_match(const QString& typed, const QString& text)
{
    const QString wanted = simple(typed, false), in = simple(text, true);
    if (wanted.isEmpty()) return 0;
    // best[j]: the best score of the first i letters if the last of them is matched at j.
    std::vector<int> best(static_cast<size_t>(in.size()), impossible);
    for (qsizetype i = 0; i < wanted.size(); ++i) {
        std::vector<int> next(best.size(), impossible);
        // The best score whose last letter is before j - 1, less the penalty of the gap.
        int before = i == 0 ? 0 : impossible;
        for (qsizetype j = 0; j < in.size(); ++j) {
            const auto at = static_cast<size_t>(j);
            if (in[j] == wanted[i]) {
                const int after_last = i > 0 && j > 0 ? best[at - 1] + follows : impossible;
                next[at] = std::max(before, after_last) + worth(in, j);
            }
            if (i > 0) before = std::max(before, j > 0 ? best[at - 1] : impossible) + per_gap;
        }
        best = std::move(next);
    }
    const int found = best.empty() ? impossible : *std::max_element(best.begin(), best.end());
    if (found < impossible / 2) return std::nullopt;
    return found;
}

} // namespace palimpsest::ui
