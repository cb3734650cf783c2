#include "app/palimpsest/wording.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include "engine/messages/catalogue.h"

namespace palimpsest::app {
namespace {

struct SettingOption {
    Setting setting;
    std::string_view option;
};

constexpr SettingOption setting_options[] = {
    {Setting::Again, "--again"},
    {Setting::Budget, "--budget"},
    {Setting::CheckpointSeconds, "--checkpoint-seconds"},
    {Setting::Chunk, "--chunk"},
    {Setting::Compute, "--compute"},
    {Setting::Database, "--db"},
    {Setting::Device, "--device"},
    {Setting::KvType, "--kv-type"},
    {Setting::MinP, "--min-p"},
    {Setting::Model, "--model"},
    {Setting::NoSave, "--no-save"},
    {Setting::Pin, "--pin"},
    {Setting::Policy, "--policy"},
    {Setting::Positions, "--positions"},
    {Setting::Question, "--question"},
    {Setting::QuestionLast, "--question-last"},
    {Setting::Recompute, "--recompute"},
    {Setting::RepeatLast, "--repeat-last"},
    {Setting::RepeatPenalty, "--repeat-penalty"},
    {Setting::RequireComplete, "--require-complete"},
    {Setting::Seed, "--seed"},
    {Setting::Session, "--session"},
    {Setting::Simd, "--simd"},
    {Setting::Snapshot, "--snapshot"},
    {Setting::System, "--system"},
    {Setting::Temperature, "--temperature"},
    {Setting::Threads, "--threads"},
    {Setting::TokenIds, "--token-ids"},
    {Setting::TopK, "--top-k"},
    {Setting::TopP, "--top-p"},
};

struct StepClause {
    Step step;
    std::string_view clause; // English, with placeholders; translated like any pattern
};

constexpr StepClause step_clauses[] = {
    {Step::ChooseModel, "choose another model with --model"},
    {Step::ChooseDatabase, "choose another database with --db"},
    {Step::ListModels, "see palimpsest models list"},
    {Step::SetDefaultModel,
     "set another with palimpsest models use NAME, or undo it with palimpsest models use --none"},
    {Step::ListSessions, "see palimpsest sessions list"},
    {Step::ListDocuments, "see palimpsest library list"},
    {Step::ShowSession, "see what is left with palimpsest sessions show '{0}'"},
    {Step::ExportSession, "export one with palimpsest sessions export"},
    {Step::RemoveSessions, "remove sessions with palimpsest sessions rm"},
    {Step::RestoreBackup, "restore the newest backup, which sets it aside, with palimpsest sessions restore"},
    {Step::RescueSessions, "rescue what can be read with palimpsest sessions rescue"},
    {Step::ListPolicies, "see palimpsest policies list"},
    {Step::BeginSession, "read a document with palimpsest read FILE --session NAME"},
    {Step::FinishReading, "let it go on first with palimpsest read FILE --session '{0}'"},
    {Step::ReadAsDocument, "read it as a document with palimpsest read FILE --session '{0}'"},
    {Step::ReadAgain, "read it with palimpsest read --again as a further document"},
    {Step::PinWhileReading, "pin while it is read with palimpsest read, or in palimpsest chat with /pin"},
    {Step::RunDoctor, "run palimpsest doctor"},
    {Step::Restart, "start palimpsest again"},
};

// Whether both tables have all values in the order of their enumerations, so that a value is an index.
constexpr bool are_complete()
{
    for (size_t i = 0; i < std::size(setting_options); ++i)
        if (setting_options[i].setting != static_cast<Setting>(i)) return false;
    for (size_t i = 0; i < std::size(step_clauses); ++i)
        if (step_clauses[i].step != static_cast<Step>(i)) return false;
    return std::size(setting_options) == setting_count && std::size(step_clauses) == step_count;
}

static_assert(are_complete(), "every setting has an option, and every step a clause");

} // namespace

std::string language_of_environment()
{
    for (const char* variable : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
        const char* value = std::getenv(variable);
        if (!value || !*value) continue;
        const std::string_view locale(value);
        const std::string_view language = locale.substr(0, locale.find_first_of("_.@"));
        return language == "de" ? "de" : "en";
    }
    return "en";
}

CommandWording::CommandWording(const std::string& language) : catalogue_(&engine::Catalogue::of(language)) {}

std::string CommandWording::pattern(std::string_view english) const
{
    return catalogue_->translation(english);
}

std::string CommandWording::setting(Setting setting) const
{
    return std::string(setting_options[static_cast<size_t>(setting)].option);
}

std::string CommandWording::step(Step step) const
{
    return catalogue_->translation(step_clauses[static_cast<size_t>(step)].clause);
}

std::string for_scripts(const Text& text)
{
    return text.in(CommandWording());
}

} // namespace palimpsest::app
