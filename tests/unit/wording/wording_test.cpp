// The command and the window report an error in the same words; each has its own remedy.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "app/palimpsest/wording.h"
#include "engine/messages/catalogue.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "ui/base/wording.h"

namespace palimpsest::tests {
namespace {

using app::CommandWording;
using ui::WindowWording;

struct Case {
    Error error;
    std::string option, field, german_field; // named in the remedy by the command, by the window, and in German
};

std::vector<Case> ten_errors()
{
    const auto error = [](ErrorKind kind, ErrorCode code, Text subject, Text what, Text remedy) {
        return Error(kind, code, std::move(subject), std::move(what), std::move(remedy));
    };
    const Text book = Text::verbatim("book.txt"), no_text("it has no text");
    return {
        {error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text("memory"),
               Text("there is not enough of it for this"),
               Text("choose a smaller {0}, {1} or model", Setting::Budget, Setting::Chunk)),
         "--budget", "budget", "Budget"},
        {error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text(Setting::Device),
               Text("'{0}' is not possible", "abacus"),
               Text("leave out {0} or {1}", Setting::Device, Setting::Model)),
         "--device", "device", "Gerät"},
        {error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::NoSave),
               Text("a session is there to be saved"),
               Text("leave out {0} or {1}", Setting::NoSave, Setting::Session)),
         "--session", "session", "Sitzung"},
        {error(ErrorKind::Usage, ErrorCode::UnknownPolicy, Text::verbatim("treekw"),
               Text("there is no such policy"), Text(Step::ListPolicies)),
         "palimpsest policies list", "list of policies", "Liste der Policies"},
        {error(ErrorKind::NotFound, ErrorCode::SessionNotFound, Text("session '{0}'", "one"), Text("none is open"),
               Text(Step::ListSessions)),
         "palimpsest sessions list", "library", "Bibliothek"},
        {error(ErrorKind::Failed, ErrorCode::DatabaseAboveLimit, Text("database"),
               Text("the text alone takes {0}", "2 GB"), Text(Step::RemoveSessions)),
         "palimpsest sessions rm", "library", "Bibliothek"},
        {error(ErrorKind::Failed, ErrorCode::InaccessibleDatabase, Text("database"), Text("it is a folder"),
               Text(Step::ChooseDatabase)),
         "--db", "settings", "Einstellungen"},
        {error(ErrorKind::Failed, ErrorCode::ModelG13, Text::verbatim("tiny.gguf"), Text("it has no tokenizer"),
               Text(Step::ChooseModel)),
         "--model", "tool bar", "Werkzeugleiste"},
        {error(ErrorKind::Failed, ErrorCode::EmptyDocument, book, no_text, Text(Step::BeginSession)),
         "palimpsest read", "open a document", "öffnen"},
        {error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("session '{0}'", "one"),
               Text("message {0} does not match its checksum", 7), Text(Step::ShowSession, "one")),
         "palimpsest sessions show 'one'", "library", "Bibliothek"},
    };
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

bool has_english(const std::string& sentence)
{
    std::istringstream words(sentence);
    for (std::string word; words >> word;)
        for (const char* english : {"a", "the", "it", "is", "of", "to", "or", "with", "no", "not", "there", "its",
                                    "choose", "see", "for"})
            if (word == english) return true;
    return false;
}

void set_locale(const char* all, const char* messages, const char* lang)
{
    setenv("LC_ALL", all, 1);
    setenv("LC_MESSAGES", messages, 1);
    setenv("LANG", lang, 1);
}

} // namespace

TEST_CASE("command and window report the same error; the remedy names the option or the field")
{
    for (const std::string language : {"en", "de"}) {
        const CommandWording command(language);
        const WindowWording window(language);
        for (const Case& shown : ten_errors()) {
            INFO(shown.error.sentence(command) << " | " << shown.error.sentence(window));
            CHECK(shown.error.text().in(command) == shown.error.text().in(window));
            CHECK(contains(shown.error.remedy().in(command), shown.option));
            CHECK(contains(shown.error.remedy().in(window), language == "de" ? shown.german_field : shown.field));
            CHECK_FALSE(contains(shown.error.sentence(window), "--"));
            CHECK_FALSE(contains(shown.error.sentence(window), "palimpsest "));
        }
    }
}

TEST_CASE("German error messages contain no English words")
{
    for (const Case& shown : ten_errors())
        for (const std::string& sentence :
             {shown.error.sentence(CommandWording("de")), shown.error.sentence(WindowWording("de"))}) {
            INFO(sentence);
            CHECK_FALSE(has_english(sentence));
        }
    CHECK(ten_errors()[0].error.sentence(CommandWording("de")) ==
          "Speicher: dafür reicht er nicht; verkleinern Sie --budget oder --chunk, oder wählen Sie ein kleineres "
          "Modell [PAL-MEM-01]");
    CHECK(
        ten_errors()[0].error.sentence(WindowWording("de")) ==
        "Speicher: dafür reicht er nicht; verkleinern Sie Budget oder Chunk, oder wählen Sie ein kleineres Modell "
        "[PAL-MEM-01]");
}

TEST_CASE("every setting and every step has words in both languages")
{
    const auto& german = engine::Catalogue::of("de").entries();
    for (size_t i = 0; i < setting_count; ++i) {
        const auto setting = static_cast<Setting>(i);
        CHECK(CommandWording("de").setting(setting).starts_with("--"));
        INFO(WindowWording("en").setting(setting));
        CHECK(german.contains(WindowWording("en").setting(setting)));
    }
    for (size_t i = 0; i < step_count; ++i) {
        const auto step = static_cast<Step>(i);
        INFO(CommandWording("en").step(step) << " | " << WindowWording("en").step(step));
        CHECK(german.contains(CommandWording("en").step(step)));
        CHECK(german.contains(WindowWording("en").step(step)));
        CHECK_FALSE(contains(WindowWording("en").step(step), "palimpsest "));
        CHECK_FALSE(contains(WindowWording("en").step(step), "--"));
    }
}

TEST_CASE("the command speaks the language of the environment")
{
    const auto language = [](const char* all, const char* messages, const char* lang) {
        set_locale(all, messages, lang);
        return app::language_of_environment();
    };
    CHECK(language("de", "", "") == "de");
    CHECK(language("", "de_AT.UTF-8", "en_GB.UTF-8") == "de");
    CHECK(language("", "", "de_DE@euro") == "de");
    CHECK(language("C", "de_DE.UTF-8", "de_DE.UTF-8") == "en");
    CHECK(language("C.UTF-8", "", "de_DE.UTF-8") == "en");
    CHECK(language("POSIX", "", "") == "en");
    CHECK(language("den", "", "") == "en");
    CHECK(language("", "", "") == "en");
    set_locale("C", "", "");
}

} // namespace palimpsest::tests
