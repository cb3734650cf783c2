#include "kernels/base/error_code.h"

#include <algorithm>
#include <iterator>

namespace palimpsest {
namespace {

struct Named {
    ErrorCode code;
    std::string_view name;
};

constexpr Named names[] = {
    {ErrorCode::InvalidArguments, "PAL-OPTION-01"},
    {ErrorCode::ValueNotPossible, "PAL-OPTION-03"},
    {ErrorCode::InvalidConfiguration, "PAL-OPTION-04"},
    {ErrorCode::UnsupportedMapFormat, "PAL-OPTION-05"},
    {ErrorCode::UnusableQuestion, "PAL-OPTION-06"},
    {ErrorCode::UnknownDevice, "PAL-OPTION-10"},
    {ErrorCode::UnavailableSimdTarget, "PAL-OPTION-11"},
    {ErrorCode::InvalidThreadCount, "PAL-OPTION-12"},
    {ErrorCode::SamplingOutOfRange, "PAL-USE-01"},
    {ErrorCode::UnknownPolicy, "PAL-POLICY-01"},
    {ErrorCode::UnknownPolicyParameter, "PAL-POLICY-02"},
    {ErrorCode::InvalidPolicyParameter, "PAL-POLICY-03"},
    {ErrorCode::ImpossiblePolicy, "PAL-POLICY-04"},
    {ErrorCode::DamagedPolicyState, "PAL-POLICY-05"},
    {ErrorCode::PolicyCannotContinue, "PAL-POLICY-07"},
    {ErrorCode::PolicyPinsMismatch, "PAL-POLICY-70"},
    {ErrorCode::BudgetDoesNotFit, "PAL-BUDGET-01"},
    {ErrorCode::CacheFull, "PAL-BUDGET-02"},
    {ErrorCode::PositionsExhausted, "PAL-BUDGET-03"},
    {ErrorCode::PinsExceedBudget, "PAL-PIN-01"},
    {ErrorCode::InvalidPin, "PAL-PIN-02"},
    {ErrorCode::PinNotFound, "PAL-PIN-03"},
    {ErrorCode::PinsUnavailable, "PAL-PIN-04"},
    {ErrorCode::DocumentNotFound, "PAL-DOC-00"},
    {ErrorCode::UnreadableDocument, "PAL-DOC-01"},
    {ErrorCode::UnsupportedDocument, "PAL-DOC-02"},
    {ErrorCode::EmptyDocument, "PAL-DOC-03"},
    {ErrorCode::IncompleteReading, "PAL-DOC-04"},
    {ErrorCode::DamagedDocument, "PAL-DOC-05"},
    {ErrorCode::ChangedDocument, "PAL-DOC-06"},
    {ErrorCode::DocumentOfOtherModel, "PAL-DOC-07"},
    {ErrorCode::DocumentTooLarge, "PAL-DOC-08"},
    {ErrorCode::ProtectedDocument, "PAL-DOC-09"},
    {ErrorCode::MalformedDocument, "PAL-DOC-10"},
    {ErrorCode::ReaderFailed, "PAL-DOC-11"},
    {ErrorCode::UnknownToken, "PAL-TEXT-01"},
    {ErrorCode::StreamTooLong, "PAL-TEXT-02"},
    {ErrorCode::ModelNotFound, "PAL-MODEL-00"},
    {ErrorCode::ModelG1, "PAL-MODEL-01"},
    {ErrorCode::ModelG2, "PAL-MODEL-02"},
    {ErrorCode::ModelG3, "PAL-MODEL-03"},
    {ErrorCode::ModelG4, "PAL-MODEL-04"},
    {ErrorCode::ModelG5, "PAL-MODEL-05"},
    {ErrorCode::ModelG6, "PAL-MODEL-06"},
    {ErrorCode::ModelG7, "PAL-MODEL-07"},
    {ErrorCode::ModelG8, "PAL-MODEL-08"},
    {ErrorCode::ModelG9, "PAL-MODEL-09"},
    {ErrorCode::ModelG10, "PAL-MODEL-10"},
    {ErrorCode::ModelG11, "PAL-MODEL-11"},
    {ErrorCode::ModelG12, "PAL-MODEL-12"},
    {ErrorCode::ModelG13, "PAL-MODEL-13"},
    {ErrorCode::ModelG14, "PAL-MODEL-14"},
    {ErrorCode::ModelG15, "PAL-MODEL-15"},
    {ErrorCode::ModelG16, "PAL-MODEL-16"},
    {ErrorCode::ModelNeedsOtherDevice, "PAL-MODEL-17"},
    {ErrorCode::ModelG18, "PAL-MODEL-18"},
    {ErrorCode::AmbiguousModel, "PAL-MODEL-20"},
    {ErrorCode::ModelC1, "PAL-MODEL-C1"},
    {ErrorCode::ModelC2, "PAL-MODEL-C2"},
    {ErrorCode::ModelC3, "PAL-MODEL-C3"},
    {ErrorCode::ModelC4, "PAL-MODEL-C4"},
    {ErrorCode::ModelC5, "PAL-MODEL-C5"},
    {ErrorCode::ModelC6, "PAL-MODEL-C6"},
    {ErrorCode::ModelC7, "PAL-MODEL-C7"},
    {ErrorCode::ModelS1, "PAL-MODEL-S1"},
    {ErrorCode::ModelS2, "PAL-MODEL-S2"},
    {ErrorCode::ModelS3, "PAL-MODEL-S3"},
    {ErrorCode::ModelS4, "PAL-MODEL-S4"},
    {ErrorCode::ModelS5, "PAL-MODEL-S5"},
    {ErrorCode::ModelS6, "PAL-MODEL-S6"},
    {ErrorCode::ModelS7, "PAL-MODEL-S7"},
    {ErrorCode::ModelS8, "PAL-MODEL-S8"},
    {ErrorCode::ModelS9, "PAL-MODEL-S9"},
    {ErrorCode::ModelT1, "PAL-MODEL-T1"},
    {ErrorCode::ModelT2, "PAL-MODEL-T2"},
    {ErrorCode::ModelT3, "PAL-MODEL-T3"},
    {ErrorCode::ModelT4, "PAL-MODEL-T4"},
    {ErrorCode::ModelT6, "PAL-MODEL-T6"},
    {ErrorCode::ModelT7, "PAL-MODEL-T7"},
    {ErrorCode::ModelT8, "PAL-MODEL-T8"},
    {ErrorCode::ModelT9, "PAL-MODEL-T9"},
    {ErrorCode::TemplateSyntax, "PAL-TEMPLATE-01"},
    {ErrorCode::UnsupportedTemplate, "PAL-TEMPLATE-02"},
    {ErrorCode::TemplateEvaluation, "PAL-TEMPLATE-03"},
    {ErrorCode::TemplateTooExpensive, "PAL-TEMPLATE-04"},
    {ErrorCode::TemplateRefusesConversation, "PAL-TEMPLATE-05"},
    {ErrorCode::TemplateChangesText, "PAL-TEMPLATE-06"},
    {ErrorCode::SessionNotFound, "PAL-SESSION-01"},
    {ErrorCode::InvalidSessionName, "PAL-SESSION-02"},
    {ErrorCode::UnfinishedDocument, "PAL-SESSION-03"},
    {ErrorCode::MessageNotFound, "PAL-SESSION-04"},
    {ErrorCode::DocumentAfterMessage, "PAL-SESSION-05"},
    {ErrorCode::SettingsDiffer, "PAL-SESSION-06"},
    {ErrorCode::IncomparableSessions, "PAL-SESSION-07"},
    {ErrorCode::MessageTooLong, "PAL-SESSION-08"},
    {ErrorCode::UnsavedSession, "PAL-SESSION-09"},
    {ErrorCode::IncompatibleSnapshot, "PAL-SNAP-02"},
    {ErrorCode::DamagedSnapshot, "PAL-SNAP-03"},
    {ErrorCode::NewerSnapshot, "PAL-SNAP-05"},
    {ErrorCode::DatabaseNotFound, "PAL-DB-00"},
    {ErrorCode::InaccessibleDatabase, "PAL-DB-01"},
    {ErrorCode::NotADatabase, "PAL-DB-02"},
    {ErrorCode::DamagedDatabase, "PAL-DB-03"},
    {ErrorCode::NewerDatabase, "PAL-DB-05"},
    {ErrorCode::BusyDatabase, "PAL-DB-07"},
    {ErrorCode::DatabaseAboveLimit, "PAL-DB-08"},
    {ErrorCode::RefusedStatement, "PAL-DB-70"},
    {ErrorCode::DiskFull, "PAL-DISK-01"},
    {ErrorCode::DiskFailed, "PAL-DISK-02"},
    {ErrorCode::InaccessibleFile, "PAL-DISK-03"},
    {ErrorCode::OutOfMemory, "PAL-MEM-01"},
    {ErrorCode::MemoryPlanDoesNotFit, "PAL-MEM-02"},
    {ErrorCode::GpuUnavailable, "PAL-GPU-01"},
    {ErrorCode::GpuMemoryFull, "PAL-GPU-02"},
    {ErrorCode::GpuLost, "PAL-GPU-03"},
    {ErrorCode::GpuRefused, "PAL-GPU-04"},
    {ErrorCode::GpuUnsupported, "PAL-GPU-05"},
    {ErrorCode::PictureTooLarge, "PAL-MAP-01"},
    {ErrorCode::MapNotFound, "PAL-MAP-02"},
    {ErrorCode::CheckFailed, "PAL-RUN-02"},
    {ErrorCode::Internal, "PAL-RUN-70"},
    {ErrorCode::InvalidRecording, "PAL-GPU-70"},
    {ErrorCode::CacheOverfull, "PAL-CACHE-70"},
    {ErrorCode::CacheRanksMismatch, "PAL-CACHE-71"},
    {ErrorCode::CachePinsMismatch, "PAL-CACHE-72"},
    {ErrorCode::InvalidWeightParts, "PAL-KERNEL-01"},
};

constexpr bool is_in_order()
{
    for (size_t i = 0; i < std::size(names); ++i)
        if (names[i].code != static_cast<ErrorCode>(i)) return false;
    return true;
}

static_assert(is_in_order(), "name_of() takes the code as an index");
static_assert(std::size(names) == static_cast<size_t>(ErrorCode::InvalidWeightParts) + 1, "every code has a name");

} // namespace

std::string_view name_of(ErrorCode code)
{
    return names[static_cast<size_t>(code)].name;
}

std::optional<ErrorCode> error_code_named(std::string_view name)
{
    const auto found =
        std::find_if(std::begin(names), std::end(names), [&](const Named& known) { return known.name == name; });
    return found == std::end(names) ? std::nullopt : std::optional(found->code);
}

bool is_about_model(ErrorCode code)
{
    return name_of(code).starts_with("PAL-MODEL-");
}

bool is_about_snapshot(ErrorCode code)
{
    return name_of(code).starts_with("PAL-SNAP-");
}

} // namespace palimpsest
