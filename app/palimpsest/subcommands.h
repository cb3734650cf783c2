// The subcommands of a command, such as `sessions list`, each with the member function of its class that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console.h"

namespace palimpsest::app {

template<class Owner>
class Subcommands {
public:
    using Action = void (Owner::*)(Console&);

    // All have the options --db and --json, which set these. The arguments must outlive this.
    Subcommands(CLI::App& command, std::string& database, bool& json)
        : command_(command), database_(database), json_(json)
    {
        command_.require_subcommand(1);
    }

    CLI::App* add(const std::string& name, const std::string& meaning, Action action)
    {
        CLI::App* added = command_.add_subcommand(name, meaning);
        all_.push_back({added, action});
        add_database_option(*added, database_);
        added->add_flag("--json", json_, "print one JSON document");
        return added;
    }

    bool chosen() const { return command_.parsed(); }

    void run(Owner& owner, Console& console) const
    {
        for (const auto& [subcommand, action] : all_)
            if (subcommand->parsed()) return (owner.*action)(console);
    }

private:
    struct Subcommand {
        CLI::App* app;
        Action action;
    };

    CLI::App& command_;
    std::string& database_;
    bool& json_;
    std::vector<Subcommand> all_;
};

} // namespace palimpsest::app
