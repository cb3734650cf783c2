// `tokenize`: prints the token ids, pieces or token count of a document.

#include <CLI/CLI.hpp>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/output.h"
#include "engine/model/files/vocabulary_file.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/document.h"
#include "storage/session/reading.h"

namespace palimpsest::app {
namespace {

using storage::Coverage;
using storage::Document;
using storage::encode_document;
using storage::require_tokenizer;

class Tokenize final : public Command {
public:
    explicit Tokenize(CLI::App& parent)
    {
        command_ = parent.add_subcommand("tokenize", "turn a document into tokens");
        command_->add_option("FILE", file_, "a document, or - for standard input")->required();
        auto* ids = command_->add_flag("--ids", ids_, "token ids, one a line (the default)");
        auto* pieces =
            command_->add_flag("--pieces", pieces_, "the pieces as the vocabulary spells them, one a line");
        auto* count = command_->add_flag("--count", count_, "how many there are");
        ids->excludes(pieces)->excludes(count);
        pieces->excludes(count);
        command_->add_option("--vocabulary", vocabulary_,
                             "a GGUF file, tokenizer.json or model folder of which only the tokenizer is read, "
                             "instead of a model");
        add_backend_options(*command_, common_);
        command_->add_flag("--json", common_.json, "print one JSON document");
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        std::shared_ptr<const engine::Model> model;
        std::unique_ptr<engine::Tokenizer> only_tokenizer;
        if (vocabulary_.empty())
            model = load_chosen_model(common_, console);
        else
            only_tokenizer = open_tokenizer();
        const engine::Tokenizer& tokenizer = model ? require_tokenizer(*model) : *only_tokenizer;
        Document document(file_, console.in, console.stop);
        Coverage coverage;
        const std::vector<engine::TokenId> ids = encode_document(document, tokenizer, true, coverage);
        coverage.tokens_read = coverage.tokens_in_input;
        ConsoleListener listener(console, common_.events);
        storage::report_notes(document, listener);
        if (common_.json) return print_json(ids, tokenizer, coverage, console);
        if (count_) {
            console.out << ids.size() << '\n';
            return;
        }
        for (const engine::TokenId id : ids) {
            if (pieces_)
                console.out << visible(tokenizer.piece(id) == "\n" ? "\\n" : tokenizer.piece(id)) << '\n';
            else
                console.out << id << '\n';
        }
    }

private:
    std::unique_ptr<engine::Tokenizer> open_tokenizer() const
    {
        std::vector<Text> warnings;
        const engine::Vocabulary vocabulary = engine::open_vocabulary(vocabulary_, warnings);
        if (vocabulary.kind == engine::Vocabulary::Kind::None)
            throw Error(ErrorKind::Failed, ErrorCode::ModelG13, Text::verbatim(vocabulary_),
                        warnings.empty() ? Text("it has no tokenizer") : warnings.front(),
                        Text("use another model"));
        return std::make_unique<engine::Tokenizer>(vocabulary);
    }

    void print_json(const std::vector<engine::TokenId>& ids, const engine::Tokenizer& tokenizer,
                    const Coverage& coverage, Console& console) const
    {
        nlohmann::ordered_json result = {
            {"schema", "palimpsest.tokens/1"}, {"count", ids.size()}, {"coverage", coverage.json()}};
        if (!count_ && !pieces_) result["ids"] = ids;
        if (pieces_) {
            auto& pieces = result["pieces"] = nlohmann::ordered_json::array();
            for (const engine::TokenId id : ids)
                pieces.push_back(tokenizer.piece(id));
        }
        write_json(console.out, result);
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    std::string file_, vocabulary_;
    bool ids_ = false, pieces_ = false, count_ = false;
};

} // namespace

std::unique_ptr<Command> make_tokenize(CLI::App& parent)
{
    return std::make_unique<Tokenize>(parent);
}

} // namespace palimpsest::app
