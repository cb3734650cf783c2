#include "app/palimpsest/application.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <span>

#include "app/palimpsest/command.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/exit_code.h"
#include "app/palimpsest/help.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/parse_problem.h"
#include "engine/policy/named/nearest.h"
#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/device_loss.h"
#include "storage/session/listener.h"

namespace palimpsest::app {
namespace {

using storage::Interrupted;
using storage::is_device_loss;

constexpr MakeCommand commands[] = {make_summarize, make_ask,     make_find,        make_read,
                                    make_chat,      make_library, make_sessions,    make_inspect,
                                    make_compare,   make_eval,    make_tokenize,    make_models,
                                    make_policies,  make_doctor,  make_completions, make_manual};

// Formats errors for standard error.
struct Report {
    bool json = false;
    bool events = false;

    // Prints "palimpsest: SUBJECT: text; remedy [CODE]" on one line or, with --json or --events, an error object in
    // English.
    void error(Console& console, const Error& error) const
    {
        if (!json && !events) {
            console.err << "palimpsest: " << visible(error.sentence(console.wording)) << std::endl;
            return;
        }
        nlohmann::ordered_json object;
        if (events) object["event"] = "error";
        object["code"] = name_of(error.code());
        object["text"] = for_scripts(error.text());
        object["file"] = for_scripts(error.subject());
        object["offset"] = nullptr;
        object["rule"] = name_of(error.code());
        object["hint"] = for_scripts(error.remedy());
        if (error.offset()) object["offset"] = *error.offset();
        write_event(console.err, object);
    }

    void interruption(Console& console, const Interrupted& stopped) const
    {
        if (events)
            write_event(console.err, {{"event", "interrupted"}, {"text", for_scripts(stopped.message)}});
        else
            console.err << "palimpsest: " << console.wording.of(stopped.message) << std::endl;
    }
};

Error usage(Text what, Text remedy)
{
    return {ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"), std::move(what),
            std::move(remedy)};
}

// Suggests the nearest subcommand for a mistyped one; CLI11 reports only an unexpected argument.
void check_subcommand(const CLI::App& app, std::span<const std::string> arguments)
{
    const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
    if (subcommands.empty() || arguments.empty() || arguments[0].starts_with('-')) return;
    std::vector<std::string> names;
    for (const CLI::App* sub : subcommands) {
        if (sub->get_name() == arguments[0]) return check_subcommand(*sub, arguments.subspan(1));
        names.push_back(sub->get_name());
    }
    const std::string near = engine::nearest(arguments[0], names);
    const Text help =
        app.get_parent() ? Text("see palimpsest {0} --help", app.get_name()) : Text("see palimpsest --help");
    throw usage(Text("there is no subcommand '{0}'", printable(arguments[0])),
                near.empty() ? help : Text("did you mean '{0}'?", near));
}

Text version()
{
    return Text("palimpsest {0} (cpu backend, SIMD {1})", PALIMPSEST_VERSION,
                kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""})->simd_target());
}

struct Program {
    CLI::App app{
        Text("Reads documents of any length with a language model whose memory never grows past a budget.\n\n"
             "Examples:\n"
             "  palimpsest summarize book.txt\n"
             "  palimpsest ask report.md 'Who signed the contract?' 'What did it cost?'\n"
             "  palimpsest inspect book.txt --policy lacache --budget 512\n"
             "  palimpsest compare book.txt --policies treekv,streaming,lacache")
            .english(),
        "palimpsest"};
    std::vector<std::unique_ptr<Command>> all;

    Program()
    {
        app.set_help_flag("-h,--help", "Print this help message and exit");
        app.set_version_flag("--version", std::string(), "print the version, the backends and the SIMD level");
        app.require_subcommand(0, 1);
        for (const MakeCommand make : commands)
            all.push_back(make(app));
    }
};

void print_help(CLI::App& app, Console& console)
{
    translate_help(app, console.wording);
    const auto chosen = app.get_subcommands();
    console.out << (chosen.empty() ? app.help() : chosen[0]->help());
    finish_output(console.out);
}

void parse_and_run(const std::vector<std::string>& arguments, Console& console, Report& report)
{
    Program program;
    check_subcommand(program.app, arguments);
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend()); // CLI11 expects reverse order
        program.app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        return print_help(program.app, console);
    } catch (const CLI::CallForVersion&) {
        console.out << console.wording.of(version()) << '\n';
        return finish_output(console.out);
    } catch (const CLI::ParseError& error) {
        throw usage(parse_problem(error), Text("see palimpsest --help"));
    }
    for (const auto& command : program.all)
        if (command->chosen()) {
            report = {command->wants_json(), command->wants_events()};
            command->run(console);
            return finish_output(console.out);
        }
    print_help(program.app, console);
}

// Passes a stream's output on, and records whether anything was written.
class NotingBuffer final : public std::streambuf {
public:
    explicit NotingBuffer(std::ostream& stream) : stream_(stream), to_(stream.rdbuf(this)) {}
    ~NotingBuffer() override { stream_.rdbuf(to_); }
    bool anything_written() const { return written_; }

private:
    int_type overflow(int_type c) override
    {
        written_ = true;
        return traits_type::eq_int_type(c, traits_type::eof()) ? to_->pubsync() : to_->sputc(static_cast<char>(c));
    }
    std::streamsize xsputn(const char* text, std::streamsize count) override
    {
        written_ = written_ || count > 0;
        return to_->sputn(text, count);
    }
    int sync() override { return to_->pubsync(); }

    std::ostream& stream_;
    std::streambuf* to_;
    bool written_ = false;
};

// Returns the arguments with the CPU as their device, and with --recompute if they name a session.
std::vector<std::string> on_cpu(const std::vector<std::string>& arguments)
{
    std::vector<std::string> result;
    bool has_session = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--device") {
            ++i;
            continue;
        }
        if (arguments[i].starts_with("--device=")) continue;
        has_session = has_session || arguments[i] == "--session" || arguments[i].starts_with("--session=");
        result.push_back(arguments[i]);
    }
    result.push_back("--device=cpu");
    if (has_session && std::find(result.begin(), result.end(), "--recompute") == result.end())
        result.push_back("--recompute"); // the CPU may be unable to restore the GPU's checkpoints
    return result;
}

// If the GPU fails, repeats the command on the CPU, unless it reads standard input or has written output.
void run_with_fallback(const std::vector<std::string>& arguments, Console& console, Report& report)
{
    const bool reads_input = std::find(arguments.begin(), arguments.end(), "-") != arguments.end();
    const NotingBuffer output(console.out);
    try {
        return parse_and_run(arguments, console, report);
    } catch (const Error& error) {
        if (!is_device_loss(error) || reads_input || output.anything_written()) throw;
        ConsoleListener(console, report.events).device_lost("cuda");
    }
    parse_and_run(on_cpu(arguments), console, report);
}

} // namespace

int run(const std::vector<std::string>& arguments, Console& console, int (*interrupted_code)())
{
    const auto given = [&](const char* flag) {
        return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
    };
    Report report{given("--json"), given("--events")};
    try {
        run_with_fallback(arguments, console, report);
        return 0;
    } catch (const Error& error) {
        report.error(console, error);
        return exit_code_of(error.kind());
    } catch (const Interrupted& stopped) {
        report.interruption(console, stopped);
        return interrupted_code ? interrupted_code() : 130; // 128 + SIGINT
    } catch (const PipeClosed&) {
        return 0;
    } catch (const std::bad_alloc&) {
        report.error(console, Error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text("memory"),
                                    Text("there is not enough of it for this"),
                                    Text("choose a smaller {0}, {1} or model", Setting::Budget, Setting::Chunk)));
        return exit_code_of(ErrorKind::Resources);
    } catch (const std::exception& error) {
        report.error(console, Error(ErrorKind::Internal, ErrorCode::Internal, Text("internal error"),
                                    Text::verbatim(error.what()), Text("this is a bug; please report it")));
        return exit_code_of(ErrorKind::Internal);
    }
}

} // namespace palimpsest::app
