// `doctor`: reports what the installation contains, the options in effect with their origin, and remedies for
// problems.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/gpu_report.h"
#include "app/palimpsest/output.h"
#include "engine/model/files/open_model.h"
#include "engine/session/host_memory.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/listener.h"
#include "storage/session/model_choice.h"
#include "storage/session/store.h"
#include "storage/user_folders.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::config_path;
using storage::database_file;
using storage::find_model;
using storage::Interrupted;
using storage::models_folder;

struct Check {
    Text name;
    bool good = true;
    Text found;  // what was found, or the problem
    Text remedy; // empty if there is no problem
};

Check check_backend()
{
    try {
        const auto cpu = kernels::open_backend({.device = "cpu", .threads = 0, .simd = ""});
        return {Text("cpu backend"), true, Text("{0} threads, SIMD {1}", cpu->threads(), cpu->simd_target()), {}};
    } catch (const Error& error) {
        return {Text("cpu backend"), false, error.text(), error.remedy()};
    }
}

// A missing GPU is not a failure: the CPU is used instead.
Check check_gpu(const GpuReport& gpu)
{
    return {Text("cuda backend"), true, gpu.found, gpu.remedy};
}

Check check_model(const Text& name, const std::filesystem::path& path)
{
    try {
        const engine::ModelFiles files = storage::with_names(path, [&] { return engine::open_model(path); });
        return {name,
                true,
                Text("{0}, {1}, fingerprint {2}", storage::model_name(path), format_bytes(files.file_bytes),
                     files.fingerprint),
                {}};
    } catch (const Error& error) {
        return {name, false, Text("{0}: {1}", error.subject(), error.text()), error.remedy()};
    }
}

Check check_default_model()
{
    const Text name("default model");
    try {
        return check_model(name, find_model(""));
    } catch (const Error& error) {
        return {name, false, Text("{0}: {1}", error.subject(), error.text()), error.remedy()};
    }
}

Check check_memory()
{
    const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return {Text("memory"),
            true,
            Text("{0} available of {1}", format_bytes(std::min(engine::available_memory(), pages * page)),
                 format_bytes(pages * page)),
            {}};
}

Check check_database(const std::string& given, const std::stop_token& stop)
{
    const std::filesystem::path file = database_file(given);
    try {
        if (!storage::check_integrity(file, [&] { return !stop.stop_requested(); }))
            throw Interrupted{Text("stopped while the sessions were checked; nothing was changed")};
        std::error_code unknown;
        const uint64_t bytes = std::filesystem::file_size(file, unknown);
        return {Text("sessions"),
                true,
                Text("{0}, {1}, nothing is damaged", printable(file.string()), format_bytes(bytes)),
                {}};
    } catch (const Error& error) {
        const bool none = error.kind() == ErrorKind::NotFound, in_use = error.kind() == ErrorKind::Busy;
        if (none) return {Text("sessions"), true, Text("there are none yet"), {}};
        return {Text("sessions"), in_use, Text("{0}: {1}", error.subject(), error.text()), error.remedy()};
    }
}

class Doctor final : public Command {
public:
    explicit Doctor(CLI::App& parent)
    {
        command_ = parent.add_subcommand("doctor", "check this installation");
        command_->add_flag("--json", json_, "print one JSON document");
        add_database_option(*command_, database_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return json_; }

    void run(Console& console) override
    {
        const GpuReport gpu = gpu_report();
        const std::vector<Check> checks = {
            check_backend(),       check_gpu(gpu), check_model(Text("shipped model"), storage::shipped_model()),
            check_default_model(), check_memory(), check_database(database_, console.stop)};
        const std::vector<OptionOrigin> options = option_origins();
        json_ ? print_json(checks, gpu.facts, options, console) : print(checks, options, console);
        for (const Check& check : checks)
            if (!check.good)
                throw Error(ErrorKind::Failed, ErrorCode::CheckFailed, check.name, check.found, check.remedy);
    }

private:
    static void print(const std::vector<Check>& checks, const std::vector<OptionOrigin>& options, Console& console)
    {
        const CommandWording& wording = console.wording;
        console.out << "palimpsest " << PALIMPSEST_VERSION << '\n';
        for (const Check& check : checks) {
            console.out << visible(wording.of(check.good ? Text("ok    {0}: {1}", check.name, check.found)
                                                         : Text("WRONG {0}: {1}", check.name, check.found)));
            if (!check.remedy.empty()) console.out << "; " << visible(wording.of(check.remedy));
            console.out << '\n';
        }
        console.out << wording.of(Text("\nconfiguration: {0}\nmodels folder: {1}\n\noptions in force\n",
                                       visible(config_path()), visible(models_folder().string())));
        for (const OptionOrigin& option : options)
            console.out << "  " << option.option
                        << std::string(16 - std::min<size_t>(15, option.option.size()), ' ')
                        << visible(wording.of(option.value)) << "  (" << wording.of(option.origin) << ")\n";
    }

    static void print_json(const std::vector<Check>& checks, const ordered_json& gpu,
                           const std::vector<OptionOrigin>& options, Console& console)
    {
        ordered_json found = ordered_json::array();
        for (const Check& check : checks)
            found.push_back({{"name", for_scripts(check.name)},
                             {"ok", check.good},
                             {"found", for_scripts(check.found)},
                             {"remedy", for_scripts(check.remedy)}});
        ordered_json in_force = ordered_json::array();
        for (const OptionOrigin& option : options)
            in_force.push_back({{"option", option.option},
                                {"value", for_scripts(option.value)},
                                {"origin", for_scripts(option.origin)}});
        write_json(console.out, {{"schema", "palimpsest.doctor/1"},
                                 {"version", PALIMPSEST_VERSION},
                                 {"checks", found},
                                 {"cuda", gpu},
                                 {"options", in_force}});
    }

    CLI::App* command_ = nullptr;
    std::string database_;
    bool json_ = false;
};

} // namespace

std::unique_ptr<Command> make_doctor(CLI::App& parent)
{
    return std::make_unique<Doctor>(parent);
}

} // namespace palimpsest::app
