// How a checkpoint stores keys and values: exactly, or rounded to 8.5 or 4.5 bits each (kernels/row_code.h). A
// session that is restored from a rounded checkpoint has the rounded keys and values, so its answers may differ
// from those of the session that was saved; docs/performance.md has the measured difference.
#pragma once

#include <optional>
#include <string_view>

#include "engine/session/session_state.h"
#include "kernels/base/text.h"
#include "kernels/row_code.h"

namespace palimpsest::storage {

enum class SnapshotForm : uint8_t { Exact, Q8, Q4 };

std::string_view name_of(SnapshotForm form); // "exact", "q8", "q4"
std::optional<SnapshotForm> form_named(std::string_view name);

// How rows are coded; nullopt if `form` stores them exactly, also because their code would not be smaller.
std::optional<kernels::CodedRows> coded_rows(SnapshotForm form, kernels::DType kv_type, int64_t head_dim);
// Why coded_rows() returns nullopt for another form than Exact; nullopt if it does not.
std::optional<Text> why_exact(SnapshotForm form, kernels::DType kv_type, int64_t head_dim);
// For Session::state; empty if `form` stores rows exactly.
engine::RowRounding rounding_of(SnapshotForm form, kernels::DType kv_type, int64_t head_dim);

} // namespace palimpsest::storage
