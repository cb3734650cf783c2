// The help and the errors of the command line in German.
#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/palimpsest/application.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/help.h"
#include "engine/messages/catalogue.h"
#include "tests/support/catch.h"

namespace palimpsest::tests {
namespace {

using app::CommandWording;

struct CommandTree {
    CLI::App root{"", "palimpsest"};
    std::vector<std::unique_ptr<app::Command>> all;

    CommandTree()
    {
        for (const app::MakeCommand make :
             {app::make_summarize, app::make_ask, app::make_read, app::make_chat, app::make_sessions,
              app::make_inspect, app::make_compare, app::make_eval, app::make_tokenize, app::make_models,
              app::make_policies, app::make_doctor, app::make_manual})
            all.push_back(make(root));
    }
};

template<class See>
void for_each_command(CLI::App& command, const See& see)
{
    see(command);
    for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
        for_each_command(*below, see);
}

std::vector<const CLI::Option*> options_of(const CLI::App& command)
{
    return command.get_options([](const CLI::Option*) { return true; });
}

struct Outcome {
    int status;
    std::string out, err;
};

Outcome run_in(const std::string& language, const std::vector<std::string>& arguments)
{
    std::istringstream in;
    std::ostringstream out, err;
    app::Console console{in, out, err, false, false, {}, CommandWording(language)};
    const int status = app::run(arguments, console);
    return {status, out.str(), err.str()};
}

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

// The lines of a help page, with the words of each line sorted: CLI11 lists the options that an option excludes in
// the order of their addresses.
std::string with_sorted_words(const std::string& page)
{
    std::istringstream lines(page);
    std::string out;
    for (std::string line; std::getline(lines, line); out += '\n') {
        std::istringstream words(line);
        std::multiset<std::string> sorted{std::istream_iterator<std::string>(words), {}};
        for (const std::string& word : sorted)
            out += word + ' ';
    }
    return out;
}

} // namespace

TEST_CASE("every description of the help has a German one")
{
    const auto& german = engine::Catalogue::of("de").entries();
    CommandTree tree;
    size_t descriptions = 0;
    for_each_command(tree.root, [&](const CLI::App& command) {
        if (!command.get_description().empty()) {
            INFO(command.get_name());
            CHECK(german.contains(command.get_description()));
        }
        for (const CLI::Option* option : options_of(command)) {
            INFO(command.get_name() << ' ' << option->get_name());
            const std::string meaning = option->get_description();
            const std::string pattern = meaning.substr(0, meaning.find(" [PALIMPSEST_"));
            if (!pattern.empty()) CHECK(german.contains(pattern));
            ++descriptions;
        }
    });
    CHECK(descriptions > 100);
}

TEST_CASE("the German help differs in descriptions, not in names")
{
    CommandTree english, german;
    app::translate_help(german.root, CommandWording("de"));
    const CLI::App &ask = *english.root.get_subcommand("ask"), &fragen = *german.root.get_subcommand("ask");
    CHECK(fragen.get_description() == "ein Dokument lesen und Fragen dazu beantworten");
    CHECK(options_of(fragen).size() == options_of(ask).size());
    for (const CLI::Option* option : options_of(ask)) {
        const CLI::Option* other = fragen.get_option_no_throw(option->get_name(option->get_positional()));
        INFO(option->get_name());
        REQUIRE(other);
        CHECK(other->get_envname() == option->get_envname());
        CHECK(other->get_description() != option->get_description());
        CHECK(has(other->get_description(), option->get_envname()));
    }
}

TEST_CASE("the English help stays as CLI11 prints it")
{
    CommandTree as_defined, translated;
    app::translate_help(translated.root, CommandWording("en"));
    std::vector<std::string> pages;
    for_each_command(as_defined.root,
                     [&](const CLI::App& command) { pages.push_back(with_sorted_words(command.help())); });
    size_t page = 0;
    for_each_command(translated.root,
                     [&](const CLI::App& command) { CHECK(with_sorted_words(command.help()) == pages[page++]); });
}

TEST_CASE("ask --help in German")
{
    const Outcome ran = run_in("de", {"ask", "--help"});
    CHECK(ran.status == 0);
    for (const char* part : {"Aufruf: ask [OPTIONEN] FILE QUESTION...", "\nArgumente:\n", "\nOptionen:\n",
                             "--threads GANZZAHL:GANZZAHL in [0 - 1024]", "(Umgebung:PALIMPSEST_THREADS)",
                             "CPU-Threads; 0: physische Kerne [PALIMPSEST_THREADS]", "Nicht mit: --question-last",
                             "ERFORDERLICH", "diese Hilfe ausgeben"}) {
        INFO(part << " in\n" << ran.out);
        CHECK(has(ran.out, part));
    }
    for (const char* part : {"Usage", "Options", "REQUIRED", "UINT", "FLOAT", "Env:", "Excludes"}) {
        INFO(part << " in\n" << ran.out);
        CHECK_FALSE(has(ran.out, part));
    }
    CHECK(has(run_in("de", {"sessions", "--help"}).out, "\nUnterbefehle:\n"));
    CHECK(has(run_in("de", {}).out, "UNTERBEFEHL"));
    CHECK(run_in("de", {"manual"}).out == run_in("en", {"manual"}).out);
}

TEST_CASE("what CLI11 refuses is said in German")
{
    struct Refused {
        std::vector<std::string> arguments;
        std::string german;
    };
    for (const Refused& refused : std::vector<Refused>{
             {{"doctor", "--stear"}, "unerwartetes Argument: --stear;"},
             {{"doctor", "--stear", "more"}, "unerwartete Argumente: "},
             {{"ask"}, "FILE QUESTION fehlt;"},
             {{"models"}, "ein Unterbefehl fehlt;"},
             {{"ask", "a", "b", "--steer", "--question-last"}, "schließen einander aus;"},
             {{"ask", "a", "b", "--threads", "many"}, "--threads: „many“ liegt nicht im Bereich von 0 bis 1024;"},
             {{"ask", "a", "b", "--compute", "f64"}, "--compute: „f64“ ist nicht in {auto,f32};"},
             {{"ask", "a", "b", "--top-k", "x"}, "--top-k: „x“ lässt sich nicht umwandeln;"},
             {{"ask", "a", "b", "--prompt", "?"}, "--prompt: darin fehlt {} als Platz für die Frage;"},
             {{"ask", "a", "b", "--stop", ""}, "--stop: ist leer;"},
             {{"ask", "a", "b", "--budget"}, "--budget braucht einen Wert;"}}) {
        const Outcome ran = run_in("de", refused.arguments);
        INFO(ran.err);
        CHECK(ran.status == 2);
        CHECK(has(ran.err, "Kommandozeile: "));
        CHECK(has(ran.err, refused.german));
        CHECK(has(ran.err, "[PAL-OPTION-01]"));
    }
    CHECK(has(run_in("en", {"doctor", "--stear"}).err, "The following argument was not expected: --stear"));
}

} // namespace palimpsest::tests
