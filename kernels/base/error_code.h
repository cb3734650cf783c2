// Identifies each kind of error: code compares the enumerators, and scripts rely on their names ("PAL-DOC-00").
//
// docs/errors.md lists every code with its sentences. Enumerators such as ModelG1 stand for a violated rule of
// reading model files: rule G1 in docs/validation.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace palimpsest {

enum class ErrorCode : uint8_t {
    // about the command line, the configuration file and other settings
    InvalidArguments,
    ValueNotPossible,
    InvalidConfiguration,
    UnsupportedMapFormat,
    UnusableQuestion,
    UnknownDevice,
    UnavailableSimdTarget,
    InvalidThreadCount,
    SamplingOutOfRange,

    UnknownPolicy,
    UnknownPolicyParameter,
    InvalidPolicyParameter,
    ImpossiblePolicy,
    DamagedPolicyState,
    PolicyCannotContinue,
    PolicyPinsMismatch,

    BudgetDoesNotFit,
    CacheFull,
    PositionsExhausted,

    PinsExceedBudget,
    InvalidPin,
    PinNotFound,
    PinsUnavailable,

    DocumentNotFound,
    UnreadableDocument,
    UnsupportedDocument,
    EmptyDocument,
    IncompleteReading,
    DamagedDocument,
    ChangedDocument,
    DocumentOfOtherModel,
    DocumentTooLarge,
    ProtectedDocument,
    MalformedDocument,
    ReaderFailed,
    UnknownToken,
    StreamTooLong,

    ModelNotFound,
    ModelG1,
    ModelG2,
    ModelG3,
    ModelG4,
    ModelG5,
    ModelG6,
    ModelG7,
    ModelG8,
    ModelG9,
    ModelG10,
    ModelG11,
    ModelG12,
    ModelG13,
    ModelG14,
    ModelG15,
    ModelG16,
    ModelNeedsOtherDevice,
    ModelG18,
    AmbiguousModel,
    ModelC1,
    ModelC2,
    ModelC3,
    ModelC4,
    ModelC5,
    ModelC6,
    ModelC7,
    ModelS1,
    ModelS2,
    ModelS3,
    ModelS4,
    ModelS5,
    ModelS6,
    ModelS7,
    ModelS8,
    ModelS9,
    ModelT1,
    ModelT2,
    ModelT3,
    ModelT4,
    ModelT6,
    ModelT7,
    ModelT8,
    ModelT9,

    TemplateSyntax,
    UnsupportedTemplate,
    TemplateEvaluation,
    TemplateTooExpensive,
    TemplateRefusesConversation,
    TemplateChangesText,

    SessionNotFound,
    InvalidSessionName,
    UnfinishedDocument,
    MessageNotFound,
    DocumentAfterMessage,
    SettingsDiffer,
    IncomparableSessions,
    MessageTooLong,
    UnsavedSession,
    IncompatibleSnapshot,
    DamagedSnapshot,
    NewerSnapshot,

    DatabaseNotFound,
    InaccessibleDatabase,
    NotADatabase,
    DamagedDatabase,
    NewerDatabase,
    BusyDatabase,
    DatabaseAboveLimit,
    RefusedStatement,

    DiskFull,
    DiskFailed,
    InaccessibleFile,

    OutOfMemory,
    MemoryPlanDoesNotFit,
    GpuUnavailable,
    GpuMemoryFull,
    GpuLost,
    GpuRefused,
    GpuUnsupported,

    PictureTooLarge,
    MapNotFound,
    CheckFailed,

    // bugs in this program
    Internal,
    InvalidRecording,
    CacheOverfull,
    CacheRanksMismatch,
    CachePinsMismatch,
    InvalidWeightParts,
};

// The stable name, such as "PAL-MODEL-10".
std::string_view name_of(ErrorCode code);
std::optional<ErrorCode> error_code_named(std::string_view name);

// Whether a code is about finding or reading a model.
bool is_about_model(ErrorCode code);
// Whether a code is about restoring a snapshot.
bool is_about_snapshot(ErrorCode code);

} // namespace palimpsest
