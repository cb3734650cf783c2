#include "ui/compare/compare_table.h"

#include "ui/base/quantity.h"
#include "ui/base/table_text.h"

namespace palimpsest::ui {
namespace {

std::optional<double> overlap_now(const CompareResult& result)
{
    const auto& steps = result.steps.entries();
    return steps.empty() ? std::nullopt : steps.back().sample.overlap;
}

std::optional<double> perplexity_now(const CompareResult& result)
{
    if (result.loss.tokens == 0) return {};
    return result.loss.perplexity();
}

QVariant variant_of(const std::optional<double>& number)
{
    return number ? QVariant(*number) : QVariant(QString());
}

} // namespace

QString contender_name(const CompareResult& result)
{
    return CompareTable::tr("%1 · %2").arg(QString::fromStdString(result.spec),
                                           count_text(static_cast<uint64_t>(result.policy.budget)));
}

void CompareTable::show(std::shared_ptr<const CompareState> state)
{
    const size_t before = state_ ? state_->results.size() : 0, after = state ? state->results.size() : 0;
    const bool anew = before != after;
    if (anew) beginResetModel();
    state_ = std::move(state);
    if (anew)
        endResetModel();
    else if (after > 0)
        Q_EMIT dataChanged(index(0, 0), index(static_cast<int>(after) - 1, ColumnCount - 1));
}

int CompareTable::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !state_ ? 0 : static_cast<int>(state_->results.size());
}

int CompareTable::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant CompareTable::raw(const CompareResult& result, int column)
{
    switch (column) {
    case Policy:
        return QString::fromStdString(result.spec);
    case Budget:
        return result.policy.budget;
    case Perplexity:
        return variant_of(perplexity_now(result));
    case Overlap:
        return variant_of(overlap_now(result));
    case Speed:
        return result.tokens_per_second;
    case Cache:
        return static_cast<qulonglong>(result.telemetry.cache_bytes);
    case FullCache:
        return static_cast<qulonglong>(result.telemetry.full_cache_bytes);
    case MedianAge:
        return static_cast<qulonglong>(result.reach.median_age);
    case TokensRead:
        return static_cast<qulonglong>(result.tokens_read);
    default:
        return {};
    }
}

QString CompareTable::text(const CompareResult& result, int column)
{
    QString none = QStringLiteral("–");
    switch (column) {
    case Policy:
        return QString::fromStdString(result.spec);
    case Budget:
        return count_text(static_cast<uint64_t>(result.policy.budget));
    case Perplexity:
        if (const auto perplexity = perplexity_now(result)) return number_text(*perplexity, 3);
        return none;
    case Overlap:
        if (const auto overlap = overlap_now(result)) return share_text(*overlap);
        return none;
    case Speed:
        return result.tokens_per_second > 0 ? speed_text(result.tokens_per_second) : none;
    case Cache:
        return bytes_text(result.telemetry.cache_bytes);
    case FullCache:
        return bytes_text(result.telemetry.full_cache_bytes);
    case MedianAge:
        return count_text(result.reach.median_age);
    case TokensRead:
        return result.complete ? count_text(result.tokens_read)
                               : tr("%1, its capacity").arg(count_text(result.tokens_read));
    default:
        return {};
    }
}

QVariant CompareTable::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const CompareResult& result = state_->results[static_cast<size_t>(index.row())];
    if (role == Qt::DisplayRole) return text(result, index.column());
    if (role == RawRole) return raw(result, index.column());
    if (role == Qt::TextAlignmentRole && index.column() != Policy)
        return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && index.column() == TokensRead && !result.complete)
        return tr("It keeps every token, and was read only as far as the model's context.");
    return {};
}

QVariant CompareTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Policy:
        return tr("Policy");
    case Budget:
        return tr("Budget");
    case Perplexity:
        return tr("Perplexity");
    case Overlap:
        return tr("Overlap");
    case Speed:
        return tr("Speed");
    case Cache:
        return tr("Cache");
    case FullCache:
        return tr("Full cache");
    case MedianAge:
        return tr("Median age");
    case TokensRead:
        return tr("Tokens read");
    default:
        return {};
    }
}

} // namespace palimpsest::ui
