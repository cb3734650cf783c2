// `models list`, `models show`, `models verify`, `models use`.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "app/palimpsest/command.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/table.h"
#include "engine/model/files/model_identity.h"
#include "engine/model/files/open_model.h"
#include "engine/session/cache_bytes.h"
#include "engine/session/host_memory.h"
#include "engine/session/memory_plan.h"
#include "engine/session/session_setup.h"
#include "engine/text/chat_template.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/models/default_model.h"
#include "storage/session/model_choice.h"

namespace palimpsest::app {
namespace {

namespace fs = std::filesystem;
using engine::Vocabulary;
using nlohmann::ordered_json;
using storage::choose_model;
using storage::find_model;
using storage::FoundModel;
using storage::model_name;
using storage::source_name;
using storage::with_names;

// Describes the chat template used: the model's own, or plain with the reason.
Text framing_of(const engine::ModelFiles& files)
{
    if (files.vocabulary.kind == Vocabulary::Kind::None) return Text("none: the model has no tokenizer");
    try {
        const engine::Tokenizer tokenizer(files.vocabulary);
        return engine::ChatTemplate(files.vocabulary, tokenizer).description();
    } catch (const Error& error) {
        return Text("none: {0}", error.text());
    }
}

ordered_json all_for_scripts(const std::vector<Text>& texts)
{
    ordered_json all = ordered_json::array();
    for (const Text& text : texts)
        all.push_back(for_scripts(text));
    return all;
}

Text tokenizer_of(const Vocabulary& vocabulary)
{
    if (vocabulary.kind == Vocabulary::Kind::None) return Text("none: it takes token ids only");
    const bool is_sentencepiece =
        vocabulary.kind == Vocabulary::Kind::SpmPieces || vocabulary.kind == Vocabulary::Kind::SpmModel;
    return is_sentencepiece ? Text::verbatim("sentencepiece") : Text("byte-level BPE");
}

// Memory that a session of this model needs, and the largest budget that fits on this machine.
struct Fit {
    uint64_t file = 0, session = 0, available = 0; // in bytes; session: with default options
    int32_t budget = 0, largest_budget = 0;        // 0: none fits

    explicit Fit(const engine::Model& model)
    {
        engine::SessionOptions options;
        options.chunk = std::min(options.chunk, model.config().context / 2);
        const engine::MemoryPlanner planner(model, engine::available_memory());
        file = planner.mapped();
        session = planner.plan(options, 1).total();
        available = planner.usable();
        budget = engine::set_up(options, model.config(), model.backend().at_once()).options.budget;
        largest_budget = planner.largest_budget(options, 1);
    }

    Text sentence() const
    {
        const auto count = [](int32_t n) { return format_count(static_cast<uint64_t>(n)); };
        const Text fitting =
            largest_budget > 0 ? Text("budgets up to {0} fit", count(largest_budget)) : Text("no budget fits");
        Text text("{0} for a budget of {1}, beside the file; {2} available: {3}", format_bytes(session),
                  count(budget), format_bytes(available), fitting);
        if (file + session <= available) return text;
        return Text("{0}, and the file does not stay in memory, which is slow", text);
    }
};

class Models final : public Command {
public:
    explicit Models(CLI::App& parent)
    {
        models_ = parent.add_subcommand("models", "the models on this machine");
        models_->require_subcommand(1);
        list_ = models_->add_subcommand(
            "list",
            "the shipped model, those of the models folder, and those that LM Studio, Ollama and the Hugging "
            "Face hub have downloaded; * is the default");
        show_ = models_->add_subcommand("show", "what a model is, and which budgets fit into memory with it");
        verify_ = models_->add_subcommand("verify", "read every byte of a model and check it");
        for (CLI::App* with_name : {show_, verify_})
            with_name->add_option("MODEL", name_,
                                  "a path, or a name of 'models list' or the beginning of one; empty: "
                                  "the default model");
        use_ = models_->add_subcommand("use", "set the default model, which is used where --model is absent");
        auto* name = use_->add_option("MODEL", name_, "a path, or a name of 'models list' or the beginning of one");
        use_->add_flag("--none", none_,
                       "undo it: the default is a model of the models folder again, or the shipped one")
            ->excludes(name);
        for (CLI::App* command : {list_, show_, verify_, use_})
            command->add_flag("--json", json_, "print one JSON document");
    }
    bool chosen() const override { return models_->parsed(); }
    bool wants_json() const override { return json_; }

    void run(Console& console) override
    {
        if (list_->parsed()) return list(console);
        if (use_->parsed()) return use(console);
        if (show_->parsed()) return show(console);
        const fs::path path = find_model(name_);
        with_names(path, [&] { verify(engine::open_model(path), console); });
    }

private:
    static bool is_same(const fs::path& a, const fs::path& b)
    {
        std::error_code unknown;
        return a == b || fs::equivalent(a, b, unknown);
    }

    // Empty if no model is found or the configured one is missing.
    static fs::path default_or_none()
    {
        try {
            return find_model("");
        } catch (const Error&) {
            return {};
        }
    }

    void list(Console& console) const
    {
        const auto [found, notes] = storage::find_models(storage::model_folders(), storage::FindDetail::Headers);
        const fs::path chosen = default_or_none();
        if (json_) return list_json(found, notes, chosen, console);
        const CommandWording& wording = console.wording;
        Table table;
        table.add({"  " + wording.of(Text("NAME")), wording.of(Text("SOURCE")), wording.of(Text("SIZE")),
                   wording.of(Text("ARCHITECTURE")), wording.of(Text("TYPE"))});
        for (const FoundModel& model : found)
            table.add({(is_same(model.path, chosen) ? "* " : "  ") + model.name,
                       wording.of(source_name(model.source)), format_bytes(model.bytes), model.architecture,
                       model.type});
        table.write_columns(console);
        for (const Text& note : notes)
            write_note(console, false, note);
    }

    void list_json(const std::vector<FoundModel>& found, const std::vector<Text>& notes, const fs::path& chosen,
                   Console& console) const
    {
        ordered_json models = ordered_json::array();
        for (const FoundModel& model : found)
            models.push_back({{"name", model.name},
                              {"source", for_scripts(source_name(model.source))},
                              {"path", model.path.string()},
                              {"bytes", model.bytes},
                              {"architecture", model.architecture},
                              {"type", model.type},
                              {"default", is_same(model.path, chosen)}});
        write_json(console.out,
                   {{"schema", "palimpsest.models/1"}, {"models", models}, {"notes", all_for_scripts(notes)}});
    }

    void show(Console& console) const
    {
        const auto backend = std::shared_ptr(kernels::open_backend({.device = "cpu", .threads = 0, .simd = ""}));
        const fs::path path = find_model(name_);
        const auto model = with_names(path, [&] { return engine::Model::load_weights(path, backend); });
        const Fit fit(*model);
        json_ ? show_json(model->files(), fit, console) : show_text(model->files(), fit, console);
    }

    static constexpr kernels::DType shown_type = kernels::DType::F16;

    // Cache bytes of one token in all layers without a sliding window.
    static uint64_t cache_bytes_per_token(const engine::ModelConfig& c)
    {
        return static_cast<uint64_t>(engine::layers_without_window(c)) * engine::token_bytes(c, shown_type);
    }

    // Cache bytes of all layers with a sliding window when they are full.
    static uint64_t window_cache_bytes(const engine::ModelConfig& c)
    {
        const auto most = static_cast<uint64_t>(c.context);
        return engine::cache_bytes(c, shown_type, most) - most * cache_bytes_per_token(c);
    }

    static Text cache_sentence(const engine::ModelConfig& c)
    {
        const std::string each = format_bytes(cache_bytes_per_token(c));
        const int32_t local = c.layers - engine::layers_without_window(c);
        if (local == 0) return Text("{0} per token kept in every layer and head (16 bit)", each);
        int32_t least = c.context, most = 0;
        for (int32_t l = 0; l < c.layers; ++l)
            if (const int32_t window = c.plan(l).window; window > 0)
                least = std::min(least, window), most = std::max(most, window);
        const auto count = [](int32_t n) { return format_count(static_cast<uint64_t>(n)); };
        const Text window =
            least < most ? Text("{0} to {1}", count(least), count(most)) : Text::verbatim(count(least));
        const std::string taken = format_bytes(window_cache_bytes(c));
        if (local == c.layers)
            return Text("all layers see a window of {0} tokens and take up to {1} together (16 bit)", window,
                        taken);
        return Text(
            "{0} per token kept, in {1} of {2} layers; the others see a window of {3} tokens and take up to "
            "{4} together (16 bit)",
            each, c.layers - local, c.layers, window, taken);
    }

    static void show_json(const engine::ModelFiles& f, const Fit& fit, Console& console)
    {
        const engine::ModelConfig& c = f.config;
        write_json(console.out, {{"schema", "palimpsest.model/1"},
                                 {"name", storage::model_title(f)},
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
                                 {"cache_bytes_per_token", cache_bytes_per_token(c)},
                                 {"window_cache_bytes", window_cache_bytes(c)},
                                 {"memory",
                                  {{"available_bytes", fit.available},
                                   {"budget", fit.budget},
                                   {"session_bytes", fit.session},
                                   {"largest_budget", fit.largest_budget}}},
                                 {"has_tokenizer", f.vocabulary.kind != Vocabulary::Kind::None},
                                 {"tokenizer", for_scripts(tokenizer_of(f.vocabulary))},
                                 {"normalizer", f.vocabulary.normalizer},
                                 {"chat_template", f.vocabulary.chat_template},
                                 {"framing", for_scripts(framing_of(f))},
                                 {"fingerprint", f.fingerprint},
                                 {"warnings", all_for_scripts(f.warnings)}});
    }

    static void show_text(const engine::ModelFiles& f, const Fit& fit, Console& console)
    {
        const engine::ModelConfig& c = f.config;
        const auto line = [&](const Text& text) { console.out << visible(console.wording.of(text)) << '\n'; };
        const auto count = [](auto n) { return format_count(static_cast<uint64_t>(n)); };
        line(Text("name          {0}", storage::model_title(f)));
        line(Text("file          {0}", f.path.string()));
        line(Text("format        {0}, {1}, {2}", f.format, kernels::info(c.stored_type).name,
                  format_bytes(f.file_bytes)));
        line(Text("architecture  {0}, {1} parameters", c.architecture, count(f.parameters)));
        line(Text("layers        {0}, width {1}, feed-forward {2}", c.layers, c.dim, c.ffn));
        line(Text("heads         {0} query, {1} key-value, of {2}", c.heads, c.kv_heads, c.head_dim));
        line(Text("context       {0} tokens", count(c.context)));
        line(Text("vocabulary    {0}", count(c.vocabulary)));
        line(Text("tokenizer     {0}", tokenizer_of(f.vocabulary)));
        line(Text("framing       {0}", framing_of(f)));
        line(Text("cache         {0}", cache_sentence(c)));
        line(Text("memory        {0}", fit.sentence()));
        line(Text("fingerprint   {0}", f.fingerprint));
        for (const Text& warning : f.warnings)
            line(Text("note          {0}", warning));
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
        console.out << console.wording.of(Text("{0}: valid, {1}, XXH3-128 {2}", visible(f.path.string()),
                                               format_bytes(f.file_bytes), hash))
                    << '\n';
    }

    // Returns the model's name if it is unambiguous, because a name stays valid when a newer snapshot of the model
    // is downloaded; otherwise the path.
    static std::string lasting_name(const std::string& given, const fs::path& path)
    {
        std::error_code unknown;
        if (fs::exists(given, unknown)) return fs::absolute(path).lexically_normal().string();
        const auto found = storage::find_models(storage::model_folders(), storage::FindDetail::Names).models;
        for (const FoundModel& model : found)
            try {
                if (model.path == path && choose_model(found, model.name).path == path) return model.name;
            } catch (const Error&) { // the name is ambiguous
            }
        return fs::absolute(path).lexically_normal().string();
    }

    static void say_default(const std::string& name, const fs::path& path, bool none_is_set, Console& console)
    {
        const std::string shown = visible(name), place = visible(path.string());
        console.out << console.wording.of(none_is_set ? Text("default model: {0} ({1}), none is set", shown, place)
                                                      : Text("default model: {0} ({1})", shown, place))
                    << '\n';
    }

    void use(Console& console) const
    {
        const bool undo = none_ || name_ == "default";
        if (!undo && name_.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("models use"),
                        Text("no model is named"),
                        Text("give a name of palimpsest models list, a path, or --none"));
        if (undo) {
            storage::set_default(std::nullopt);
        } else {
            const fs::path path = find_model(name_);
            with_names(path, [&] { engine::open_model(path); }); // throws if the model cannot be used
            storage::set_default(lasting_name(name_, path));
        }
        const fs::path path = find_model("");
        const std::string set = storage::set_default();
        if (json_)
            write_json(console.out, {{"schema", "palimpsest.default-model/1"},
                                     {"set", set.empty() ? ordered_json() : ordered_json(set)},
                                     {"name", model_name(path)},
                                     {"path", path.string()}});
        else
            say_default(set.empty() ? model_name(path) : set, path, undo, console);
        if (const char* variable = std::getenv("PALIMPSEST_MODEL"); variable && *variable)
            write_note(console, false, Text("PALIMPSEST_MODEL is set, and comes before the default"));
    }

    CLI::App *models_ = nullptr, *list_ = nullptr, *show_ = nullptr, *verify_ = nullptr, *use_ = nullptr;
    std::string name_;
    bool json_ = false, none_ = false;
};

} // namespace

std::unique_ptr<Command> make_models(CLI::App& parent)
{
    return std::make_unique<Models>(parent);
}

} // namespace palimpsest::app
