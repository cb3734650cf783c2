#include "ui/base/wording.h"

#include <QCoreApplication>
#include <string_view>

#include "engine/messages/catalogue.h"
#include "ui/base/utf8.h"

namespace palimpsest::ui {
namespace {

struct SettingLabel {
    Setting setting;
    std::string_view label; // English; setting() translates it
};

constexpr SettingLabel setting_labels[] = {
    {Setting::Again, "reading a file again"},
    {Setting::Budget, "budget"},
    {Setting::CheckpointSeconds, "time between saved states"},
    {Setting::Chunk, "chunk"},
    {Setting::Compute, "product type"},
    {Setting::Database, "database"},
    {Setting::Device, "device"},
    {Setting::KvType, "type of keys and values"},
    {Setting::MinP, "min-p"},
    {Setting::Model, "model"},
    {Setting::NoSave, "incognito session"},
    {Setting::Pin, "pin"},
    {Setting::Policy, "policy"},
    {Setting::Positions, "positions"},
    {Setting::Question, "question"},
    {Setting::QuestionLast, "question at the end"},
    {Setting::Recompute, "reading again"},
    {Setting::RepeatLast, "tokens of the repeat penalty"},
    {Setting::RepeatPenalty, "repeat penalty"},
    {Setting::RequireComplete, "complete reading"},
    {Setting::Seed, "seed"},
    {Setting::Session, "session"},
    {Setting::Simd, "SIMD target"},
    {Setting::Snapshot, "form of saved caches"},
    {Setting::System, "system prompt"},
    {Setting::Temperature, "temperature"},
    {Setting::Threads, "CPU threads"},
    {Setting::TokenIds, "token ids"},
    {Setting::TopK, "top-k"},
    {Setting::TopP, "top-p"},
};

struct StepClause {
    Step step;
    std::string_view clause; // English, with places for values such as {0}; step() translates it
};

constexpr StepClause step_clauses[] = {
    {Step::ChooseModel, "choose another model in the tool bar"},
    {Step::ChooseDatabase, "choose another database in the settings"},
    {Step::ListModels, "choose one in the tool bar"},
    {Step::SetDefaultModel, "choose another model in the tool bar, and make it the default there"},
    {Step::ListSessions, "choose one in the library"},
    {Step::ListDocuments, "choose one in the library"},
    {Step::ShowSession, "open “{0}” in the library to see what is left"},
    {Step::ExportSession, "export one with File, Export the session"},
    {Step::RemoveSessions, "delete sessions in the library"},
    {Step::RestoreBackup, "start Palimpsest again and restore the newest backup, which sets it aside"},
    {Step::RescueSessions, "start Palimpsest again and rescue what can be read"},
    {Step::ListPolicies, "choose one in the list of policies"},
    {Step::BeginSession, "open a document"},
    {Step::FinishReading, "let “{0}” go on first with Session, Go on reading"},
    {Step::ReadAsDocument, "save it as a text file, and open that in “{0}” as a document"},
    {Step::ReadAgain, "open it in a new session"},
    {Step::PinWhileReading, "open the session in the library, and pin there"},
    {Step::RunDoctor, "let the doctor of the command check them"},
    {Step::Restart, "start Palimpsest again"},
};

// Whether both tables are in the order of the enumerations, because enumerators are used as indices.
constexpr bool are_complete()
{
    for (size_t i = 0; i < std::size(setting_labels); ++i)
        if (setting_labels[i].setting != static_cast<Setting>(i)) return false;
    for (size_t i = 0; i < std::size(step_clauses); ++i)
        if (step_clauses[i].step != static_cast<Step>(i)) return false;
    return std::size(setting_labels) == setting_count && std::size(step_clauses) == step_count;
}

static_assert(are_complete(), "every setting has a label, and every step a clause");

} // namespace

// The translation of "en" is the code of the translation's own language. So errors and the rest of the window are
// always in the same language.
WindowWording::WindowWording()
    : WindowWording(QCoreApplication::translate("palimpsest::ui::WindowWording", "en",
                                                "the code of the language of this translation, such as de")
                        .toStdString())
{
}

WindowWording::WindowWording(const std::string& language) : catalogue_(&engine::Catalogue::of(language)) {}

std::string WindowWording::pattern(std::string_view english) const
{
    return catalogue_->translation(english);
}

std::string WindowWording::setting(Setting setting) const
{
    return catalogue_->translation(setting_labels[static_cast<size_t>(setting)].label);
}

std::string WindowWording::step(Step step) const
{
    return catalogue_->translation(step_clauses[static_cast<size_t>(step)].clause);
}

QString shown(const Text& text)
{
    return text_of(text.in(WindowWording()));
}

QString shown(const Error& error)
{
    return text_of(error.sentence(WindowWording()));
}

QString shown(const std::exception& error)
{
    const auto* known = dynamic_cast<const Error*>(&error);
    return known ? shown(*known) : text_of(error.what());
}

} // namespace palimpsest::ui
