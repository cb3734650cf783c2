// `inspect`: shows which tokens of a document each layer and head keeps.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/map_picture.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/output_file.h"
#include "app/palimpsest/receipt.h"
#include "app/palimpsest/retention_picture.h"
#include "app/palimpsest/token_source.h"
#include "kernels/base/error.h"
#include "storage/session/document.h"
#include "storage/session/listener.h"
#include "storage/session/pinning.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/reading_meter.h"
#include "storage/session/retention_report.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "storage/session/structure_finder.h"

namespace palimpsest::app {
namespace {

namespace fs = std::filesystem;
using engine::heads_json;
using engine::MapFilter;
using engine::write_csv;
using storage::check_complete;
using storage::Coverage;
using storage::Document;
using storage::Documents;
using storage::Interrupted;
using storage::make_room_for;
using storage::open_documents;
using storage::open_store;
using storage::pins_in;
using storage::pins_of;
using storage::protocol_of_session;
using storage::question_turn;
using storage::read_document;
using storage::ReadingMeter;
using storage::require_question;
using storage::require_tokenizer;
using storage::RetentionReport;
using storage::steer;
using storage::StoredOptions;
using storage::StoredSession;

int32_t terminal_columns()
{
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

class Inspect final : public Command {
public:
    explicit Inspect(CLI::App& parent)
    {
        command_ = parent.add_subcommand("inspect", "show which tokens each layer and head keeps");
        add_token_source(*command_, source_);
        add_session_option(*command_, session_);
        add_database_option(*command_, database_);
        question_option_ = command_->add_option("--question", question_,
                                                "read with this question in mind: its rows look at every chunk, so "
                                                "that the policy keeps what they attend to");
        command_->add_option("--map", map_file_, "write the map to FILE.png, .svg, .json or .csv");
        command_->add_option("--layer", layer_, "only this layer, a row per head");
        command_->add_option("--head", head_, "only this KV head");
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_output_options(*command_, common_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        if (session_.empty()) check_token_source(source_);
        check_question();
        std::optional<OutputFile> map_file = open_map_file();
        if (!session_.empty()) return show_stored(map_file, console);
        const auto model = load_chosen_model(common_, console);
        check_filter(model->config());
        Coverage coverage;
        const auto session = read(model, coverage, console);
        check_complete(coverage, common_.require_complete, source_.name());
        RetentionReport report =
            RetentionReport::of(*session, storage::ModelReport::of(session->model()), coverage);
        report.question = question_;
        if (read_) report.documents = {std::move(*read_)};
        show(*session, report, map_file, console);
    }

private:
    void check_question()
    {
        if (question_option_->count() == 0) return; // CLI11 ignores an empty value
        if (!session_.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text(Setting::Question),
                        Text("the session's documents were read already"), Text("leave it out, or give a FILE"));
        require_question(Text(Setting::Question), question_);
    }

    void show_stored(std::optional<OutputFile>& map_file, Console& console)
    {
        if (!source_.file.empty() || !source_.token_ids.empty())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"),
                        Text("FILE and --session exclude each other"), Text("give one of them"));
        const auto store = open_store(database_, storage::Database::Access::Read);
        StoredOptions options{.choice = common_};
        options.read_only = true;
        ConsoleListener listener(console, common_.events);
        StoredSession stored(*store, session_, options, listener);
        check_filter(stored.model().config());
        show(stored.session(), RetentionReport::of(stored), map_file, console);
    }

    void show(const engine::Session& session, const RetentionReport& report, std::optional<OutputFile>& map_file,
              Console& console) const
    {
        const engine::RetentionMap map = session.retention();
        if (map_file) write_map(*map_file, session, report, map);
        if (common_.json) {
            nlohmann::ordered_json document = report.json(map, session.telemetry());
            document["heads"] = heads_json(map, filter());
            return write_json(console.out, document);
        }
        if (map_file_.empty())
            console.out << unicode_picture(map, filter(), console.out_is_terminal ? terminal_columns() : 80,
                                           console.wording);
        write_receipt(console, common_.events, session, report.coverage, protocol_of_session(report.question));
    }

    // Creates the session, with question rows if a question is given.
    std::unique_ptr<engine::Session> start(const std::shared_ptr<const engine::Model>& model,
                                           engine::SessionOptions options) const
    {
        if (question_.empty()) return std::make_unique<engine::Session>(model, options);
        const engine::ChatTemplate chat_template(model->files().vocabulary, require_tokenizer(*model));
        const auto rows = question_turn(chat_template, question_);
        make_room_for(rows, model->config(), Text(Setting::Question), options);
        auto session = std::make_unique<engine::Session>(model, options);
        steer(*session, rows, Text(Setting::Question));
        return session;
    }

    std::unique_ptr<engine::Session> read(const std::shared_ptr<const engine::Model>& model, Coverage& coverage,
                                          Console& console)
    {
        ConsoleListener listener(console, common_.events);
        engine::FeedOptions feed{.stop = console.stop, .progress = {}, .loss = {}};
        if (source_.token_ids.empty() && !common_.budget_is_share()) {
            const Documents documents = open_documents({source_.file}, console.in, console.stop);
            Document& document = *documents[0];
            ReadingMeter progress(listener, source_.name(), document.text_bytes());
            const engine::Tokenizer& tokenizer = require_tokenizer(*model);
            engine::SessionOptions options = common_.session(model->config());
            const auto tokens_before = [&](Document&, bool) { return tokenizer.adds_bos() ? 1u : 0u; };
            options.pins = noted(pins_of(common_.pins, documents, true, tokens_before, *model), listener);
            auto session = start(model, options);
            if (tokenizer.adds_bos()) session->feed(std::vector{tokenizer.bos()});
            read_ = storage::DocumentReport{.title = document.title(),
                                            .first_token =
                                                session->tokens_seen() + static_cast<uint64_t>(session->pending())};
            storage::StructureFinder structure(document);
            const auto find = [&](std::string_view clean, std::span<const engine::EncodedToken> tokens) {
                structure.push(clean, tokens);
                take(structure);
            };
            coverage =
                read_document(document, tokenizer, *session, {.sink = find, .feed = feed, .progress = &progress});
            structure.finish();
            take(structure);
            describe(document, coverage);
            report_notes(document, listener);
            if (coverage.tokens_in_input == 0)
                throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(source_.file),
                            Text("it has no text"), Text("give a document with text"));
            finish(*session, feed);
            return session;
        }
        SourceTokens tokens = read_source(source_, *model, UINT64_MAX, console, common_.events);
        coverage = tokens.coverage;
        coverage.tokens_read = coverage.tokens_in_input;
        engine::SessionOptions options = common_.session(model->config(), {.input = coverage.tokens_in_input});
        options.pins = noted(pins_in(tokens.ids, common_.pins, *model, Text::verbatim(source_.name())), listener);
        auto session = start(model, options);
        ReadingMeter progress(listener, source_.name());
        feed.progress = [&](const engine::Telemetry& t) { progress.update(*session, t, 0, tokens.ids.size()); };
        if (!session->feed(tokens.ids, feed)) throw Interrupted{Text("stopped while reading; nothing was written")};
        finish(*session, feed);
        return session;
    }

    static engine::Pins noted(storage::PinsOfText found, ConsoleListener& listener)
    {
        for (const Text& note : found.notes)
            listener.note(note);
        return std::move(found.pins);
    }

    void take(storage::StructureFinder& structure)
    {
        std::ranges::move(structure.take_sections(), std::back_inserter(read_->sections));
        std::ranges::move(structure.take_pages(), std::back_inserter(read_->pages));
    }

    void describe(const Document& document, const Coverage& coverage)
    {
        const storage::DocumentMetadata& metadata = document.metadata();
        if (!metadata.title.empty()) read_->title = metadata.title;
        read_->format = metadata.format;
        read_->author = metadata.author;
        read_->language = metadata.language;
        read_->tokens = coverage.tokens_in_input;
    }

    static void finish(engine::Session& session, const engine::FeedOptions& feed)
    {
        if (!session.finish(feed)) throw Interrupted{Text("stopped while reading; nothing was written")};
    }

    MapFilter filter() const
    {
        MapFilter result;
        if (layer_ >= 0) result.layer = layer_;
        if (head_ >= 0) result.head = head_;
        return result;
    }

    void check_filter(const engine::ModelConfig& c) const
    {
        const auto check = [](const char* option, int32_t value, int32_t count) {
            if (value >= count || value < -1)
                throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text::verbatim(option),
                            Text("{0} is not there, the model has 0 to {1}", value, count - 1),
                            Text("give one of these"));
        };
        check("--layer", layer_, c.layers);
        check("--head", head_, c.kv_heads);
    }

    std::string map_ending() const { return fs::path(map_file_).extension().string(); }

    std::optional<OutputFile> open_map_file() const
    {
        if (map_file_.empty()) return std::nullopt;
        const std::string ending = map_ending();
        if ((ending == ".png" || ending == ".svg") && !has_map_painter())
            throw Error(ErrorKind::Usage, ErrorCode::UnsupportedMapFormat, Text::escaped(map_file_),
                        Text("pictures need the window's painter, which this build does not have"),
                        Text("write .json or .csv, or leave --map out for a picture in text"));
        if (ending != ".png" && ending != ".svg" && ending != ".json" && ending != ".csv")
            throw Error(ErrorKind::Usage, ErrorCode::UnsupportedMapFormat, Text::escaped(map_file_),
                        Text("the map can be written as .png, .svg, .json or .csv"),
                        Text("give a name with one of these endings"));
        return std::optional<OutputFile>(std::in_place, map_file_);
    }

    void write_map(OutputFile& file, const engine::Session& session, const RetentionReport& report,
                   const engine::RetentionMap& map) const
    {
        const std::string ending = map_ending();
        if (ending == ".png" || ending == ".svg")
            file.stream() << map_picture(map, filter(), session_.empty() ? source_.name() : session_,
                                         ending == ".png" ? PictureKind::Png : PictureKind::Svg);
        else if (ending == ".csv")
            write_csv(file.stream(), map, filter());
        else
            engine::write_json(file.stream(), report.json(map, session.telemetry()), map, filter());
        file.commit();
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    TokenSource source_;
    std::optional<storage::DocumentReport> read_; // the document; absent if it was read as one piece or by ids
    CLI::Option* question_option_ = nullptr;
    std::string map_file_, session_, database_, question_;
    int32_t layer_ = -1, head_ = -1;
};

} // namespace

std::unique_ptr<Command> make_inspect(CLI::App& parent)
{
    return std::make_unique<Inspect>(parent);
}

} // namespace palimpsest::app
