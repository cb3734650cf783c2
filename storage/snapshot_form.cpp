#include "storage/snapshot_form.h"

#include <algorithm>
#include <array>
#include <string>

namespace palimpsest::storage {
namespace {

constexpr std::array<std::string_view, 3> names{"exact", "q8", "q4"};

} // namespace

std::string_view name_of(SnapshotForm form)
{
    return names[static_cast<size_t>(form)];
}

std::optional<SnapshotForm> form_named(std::string_view name)
{
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<SnapshotForm>(found - names.begin());
}

std::optional<kernels::CodedRows> coded_rows(SnapshotForm form, kernels::DType kv_type, int64_t head_dim)
{
    if (form == SnapshotForm::Exact) return std::nullopt;
    const kernels::CodedRows rows{.code = form == SnapshotForm::Q8 ? kernels::RowCode::Q8 : kernels::RowCode::Q4,
                                  .type = kv_type,
                                  .head_dim = head_dim};
    return kernels::can_code(rows) ? std::optional(rows) : std::nullopt;
}

std::optional<Text> why_exact(SnapshotForm form, kernels::DType kv_type, int64_t head_dim)
{
    if (form == SnapshotForm::Exact || coded_rows(form, kv_type, head_dim)) return std::nullopt;
    const std::string name(name_of(form));
    return head_dim % 32 == 0
               ? Text("its cache is saved exactly: {0} would not be smaller than what it holds", name)
               : Text("its cache is saved exactly: {0} needs heads of a multiple of {1} numbers, and "
                      "this model's have {2}",
                      name, 32, head_dim);
}

engine::RowRounding rounding_of(SnapshotForm form, kernels::DType kv_type, int64_t head_dim)
{
    const auto coded = coded_rows(form, kv_type, head_dim);
    if (!coded) return {};
    return [rows = *coded](std::span<std::byte> bytes) { kernels::round_rows(rows, bytes); };
}

} // namespace palimpsest::storage
