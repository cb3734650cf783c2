// `models list`, `models show`, `models verify`.

#include <CLI/CLI.hpp>

#include "app/palimpsest/command.h"
#include "app/palimpsest/output.h"
#include "engine/text/chat_template.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/model_choice.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::find_model;
using storage::model_name;
using storage::models_in_folder;
using storage::shipped_model;

class Models final : public Command {
public:
    explicit Models(CLI::App& parent)
    {
        models_ = parent.add_subcommand("models", "the models on this machine");
        models_->require_subcommand(1);
        list_ = models_->add_subcommand("list", "the shipped model and those in the models folder");
        show_ = models_->add_subcommand("show", "what a model is");
        verify_ = models_->add_subcommand("verify", "read every byte of a model and check it");
        for (CLI::App* with_name : {show_, verify_})
            with_name->add_option("MODEL", name_, "a path or a name; empty: the shipped model");
        for (CLI::App* command : {list_, show_, verify_})
            command->add_flag("--json", json_, "print one JSON document");
    }
    bool chosen() const override { return models_->parsed(); }
    bool wants_json() const override { return json_; }

    void run(Console& console) override
    {
        if (list_->parsed()) return list(console);
        const engine::ModelFiles files = engine::open_model(find_model(name_));
        show_->parsed() ? show(files, console) : verify(files, console);
    }

private:
    void list(Console& console) const
    {
        ordered_json models = ordered_json::array();
        std::vector<std::filesystem::path> paths = models_in_folder();
        if (std::filesystem::exists(shipped_model())) paths.insert(paths.begin(), shipped_model());
        for (const auto& path : paths)
            models.push_back({{"name", model_name(path)}, {"path", path.string()}});
        if (json_) return write_json(console.out, {{"schema", "palimpsest.models/1"}, {"models", models}});
        for (const auto& path : paths)
            console.out << visible(model_name(path)) << '\t' << visible(path.string()) << '\n';
    }

    void show(const engine::ModelFiles& f, Console& console) const
    {
        const engine::ModelConfig& c = f.config;
        const auto cache_bytes =
            static_cast<uint64_t>(c.layers) * static_cast<uint64_t>(2 * c.kv_heads * c.head_dim) * 2;
        if (json_)
            return write_json(console.out, {{"schema", "palimpsest.model/1"},
                                            {"name", c.name},
                                            {"path", f.path.string()},
                                            {"format", f.format},
                                            {"architecture", c.architecture},
                                            {"parameters", f.parameters},
                                            {"file_bytes", f.file_bytes},
                                            {"layers", c.layers},
                                            {"dim", c.dim},
                                            {"heads", c.heads},
                                            {"kv_heads", c.kv_heads},
                                            {"head_dim", c.head_dim},
                                            {"ffn", c.ffn},
                                            {"vocabulary", c.vocabulary},
                                            {"context", c.context},
                                            {"weights", kernels::info(c.stored_type).name},
                                            {"tied_embeddings", c.tied_embeddings},
                                            {"cache_bytes_per_token", cache_bytes},
                                            {"has_tokenizer", f.vocabulary.kind != engine::Vocabulary::Kind::None},
                                            {"normalizer", f.vocabulary.normalizer},
                                            {"fingerprint", f.fingerprint},
                                            {"warnings", f.warnings}});
        const auto line = [&](const char* label, const std::string& value) {
            console.out << label << visible(value) << '\n';
        };
        line("name          ", c.name);
        line("file          ", f.path.string());
        line("format        ",
             f.format + ", " + std::string(kernels::info(c.stored_type).name) + ", " + format_bytes(f.file_bytes));
        line("architecture  ",
             c.architecture + ", " + format_count(static_cast<uint64_t>(f.parameters)) + " parameters");
        line("layers        ", std::to_string(c.layers) + ", width " + std::to_string(c.dim) + ", feed-forward " +
                                   std::to_string(c.ffn));
        line("heads         ", std::to_string(c.heads) + " query, " + std::to_string(c.kv_heads) +
                                   " key-value, of " + std::to_string(c.head_dim));
        line("context       ", format_count(static_cast<uint64_t>(c.context)) + " tokens");
        line("vocabulary    ", format_count(static_cast<uint64_t>(c.vocabulary)));
        line("cache         ", format_bytes(cache_bytes) + " per token kept in every layer and head (16 bit)");
        line("fingerprint   ", f.fingerprint);
        for (const std::string& warning : f.warnings)
            line("note          ", warning);
    }

    void verify(const engine::ModelFiles& f, Console& console) const
    {
        const std::string hash = engine::full_hash(f);
        if (json_)
            return write_json(console.out, {{"schema", "palimpsest.model-check/1"},
                                            {"path", f.path.string()},
                                            {"bytes", f.file_bytes},
                                            {"fingerprint", f.fingerprint},
                                            {"xxh3_128", hash},
                                            {"valid", true}});
        console.out << visible(f.path.string()) << ": valid, " << format_bytes(f.file_bytes) << ", XXH3-128 "
                    << hash << '\n';
    }

    CLI::App *models_ = nullptr, *list_ = nullptr, *show_ = nullptr, *verify_ = nullptr;
    std::string name_;
    bool json_ = false;
};

} // namespace

std::unique_ptr<Command> make_models(CLI::App& parent)
{
    return std::make_unique<Models>(parent);
}

} // namespace palimpsest::app
