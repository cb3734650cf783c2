// `policies list`, `policies show NAME`.

#include <CLI/CLI.hpp>

#include "app/palimpsest/command.h"
#include "app/palimpsest/output.h"
#include "engine/policy/named/nearest.h"
#include "engine/policy/named/registry.h"
#include "kernels/base/error.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;

ordered_json describe(const engine::PolicyInfo& policy)
{
    ordered_json parameters = ordered_json::array();
    for (const engine::ParameterInfo& p : policy.parameters)
        parameters.push_back({{"key", p.key},
                              {"meaning", for_scripts(p.meaning)},
                              {"default", for_scripts(p.default_text)},
                              {"range", for_scripts(p.range)}});
    return {{"name", policy.name},
            {"keeps", for_scripts(policy.keeps)},
            {"signals", for_scripts(policy.signals)},
            {"cost", for_scripts(policy.cost)},
            {"positions", for_scripts(policy.positions)},
            {"paper", for_scripts(policy.paper)},
            {"parameters", parameters}};
}

class Policies final : public Command {
public:
    explicit Policies(CLI::App& parent)
    {
        policies_ = parent.add_subcommand("policies", "what each cache policy keeps");
        policies_->require_subcommand(1);
        list_ = policies_->add_subcommand("list", "all policies, a line each");
        show_ = policies_->add_subcommand("show", "one policy: what it keeps, its parameters, its paper");
        show_->add_option("NAME", name_, "the policy's name")->required();
        for (CLI::App* command : {list_, show_})
            command->add_flag("--json", json_, "print one JSON document");
    }
    bool chosen() const override { return policies_->parsed(); }
    bool wants_json() const override { return json_; }

    void run(Console& console) override { list_->parsed() ? list(console) : show(console); }

private:
    void list(Console& console) const
    {
        ordered_json all = ordered_json::array();
        for (const engine::PolicyInfo& policy : engine::policies()) {
            all.push_back(describe(policy));
            if (!json_)
                console.out << policy.name << std::string(16 - std::min<size_t>(15, policy.name.size()), ' ')
                            << console.wording.of(policy.keeps) << '\n';
        }
        if (json_) write_json(console.out, {{"schema", "palimpsest.policies/1"}, {"policies", all}});
    }

    void show(Console& console) const
    {
        const engine::PolicyInfo* policy = engine::find_policy(name_);
        if (!policy) {
            std::vector<std::string> names;
            for (const engine::PolicyInfo& known : engine::policies())
                names.push_back(known.name);
            const std::string near = engine::nearest(name_, names);
            throw Error(ErrorKind::Usage, ErrorCode::UnknownPolicy, Text::escaped(name_),
                        Text("there is no such policy"),
                        near.empty() ? Text(Step::ListPolicies) : Text("did you mean '{0}'?", near));
        }
        if (json_) {
            ordered_json document = {{"schema", "palimpsest.policy/1"}};
            document.update(describe(*policy));
            return write_json(console.out, document);
        }
        const CommandWording& wording = console.wording;
        console.out << policy->name << "\n  " << wording.of(policy->keeps) << "\n\n"
                    << wording.of(Text("  signals    {0}\n  cost       {1}\n  positions  {2}\n  paper      {3}\n",
                                       policy->signals, policy->cost, policy->positions, policy->paper));
        if (!policy->parameters.empty())
            console.out << wording.of(Text("\n  parameters (NAME:key=value,key=value)\n"));
        for (const engine::ParameterInfo& p : policy->parameters)
            console.out << "    " << p.key << std::string(16 - std::min<size_t>(15, p.key.size()), ' ')
                        << wording.of(Text("{0}; default {1}, {2}", p.meaning, p.default_text, p.range)) << '\n';
    }

    CLI::App *policies_ = nullptr, *list_ = nullptr, *show_ = nullptr;
    std::string name_;
    bool json_ = false;
};

} // namespace

std::unique_ptr<Command> make_policies(CLI::App& parent)
{
    return std::make_unique<Policies>(parent);
}

} // namespace palimpsest::app
