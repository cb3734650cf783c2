// `summarize`: reads documents and writes a summary, of all or of each. Of more than a session holds, the summary
// is made of notes that are written while the documents are read.

#include <CLI/CLI.hpp>
#include <cmath>
#include <utility>

#include "app/palimpsest/commands/answer_command.h"
#include "app/palimpsest/given_export.h"
#include "app/palimpsest/output.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/notes/note_report.h"
#include "storage/session/answer_text.h"
#include "storage/session/scoped_value.h"
#include "storage/session/summary.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::check_complete;
using storage::costs_json;
using storage::Coverage;
using storage::Documents;
using storage::end_name;
using storage::Interrupted;
using storage::Note;
using storage::NoteMode;
using storage::NoteOrigin;
using storage::open_documents;
using storage::open_store;
using storage::outline_json;
using storage::PassagePlaces;
using storage::place_of;
using storage::require_question;
using storage::ScopedValue;
using storage::Store;
using storage::StoredOptions;
using storage::Summary;
using storage::summary_of;
using storage::write_summary;

class Summarize final : public AnswerCommand {
public:
    explicit Summarize(CLI::App& parent)
    {
        command_ = parent.add_subcommand("summarize", "read documents and write a summary");
        command_->add_option(
            "FILE", files_,
            "documents, - for standard input, or an exported session; with --session none are needed: "
            "what the session has read is summarized");
        prompt_ = "Summarize the text above.";
        command_->add_option("--prompt", prompt_, "what to ask for")->capture_default_str();
        command_->add_flag("--each", each_, "a summary of each document instead of one of all");
        auto* notes = command_->add_flag("--notes", notes_,
                                         "make the summary of notes on every section, even of a short document; "
                                         "of one that is longer than the budget it always is");
        auto* none =
            command_
                ->add_flag("--no-notes", no_notes_, "make the summary of what the session still holds at the end")
                ->excludes(notes);
        auto* outline =
            command_->add_flag("--outline", outline_, "print the notes with their places, too")->excludes(none);
        common_.sampler.repeat_penalty = summary_repeat_penalty;
        define_common();
        add_snapshot_option(*command_, common_);
        auto* steer = command_->add_flag("--steer", steer_,
                                         "read with the prompt in mind: its rows look at every chunk, so that "
                                         "the policy keeps what they attend to");
        command_
            ->add_flag("--question-last", question_last_,
                       "document and the prompt are one input, as in the papers that compress prompts; without "
                       "notes")
            ->excludes(steer)
            ->excludes(notes)
            ->excludes(outline);
    }

    void run(Console& console) override
    {
        const bool is_export = is_given_export(files_);
        check_options(is_export);
        listener_.emplace(console, common_.events);
        if (is_export) {
            take_export(files_[0], console);
            files_.clear();
        }
        Documents documents = open_documents(files_, console.in, console.stop);
        if (session_.empty() && (no_notes_ || question_last_)) load(console);
        ordered_json all = ordered_json::array();
        if (!each_) all.push_back(summarize(documents, console));
        for (size_t i = 0; each_ && i < documents.size(); ++i) {
            Documents one;
            one.push_back(std::move(documents[i]));
            all.push_back(summarize(one, console));
        }
        if (common_.json) write_json(console.out, each_ ? all : all[0]);
    }

private:
    static constexpr int32_t summary_tokens = 512;
    // Without a penalty, small models repeat themselves within a few sentences (docs/quality.md).
    static constexpr double summary_repeat_penalty = 1.1;

    void check_options(bool is_export) const
    {
        const auto refuse = [](const Text& option, const Text& what, const Text& remedy) {
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, option, what, remedy);
        };
        require_question(Text::verbatim("--prompt"), prompt_);
        if (session_.empty() && !is_export) {
            if (files_.empty())
                refuse(Text("command line"), Text("there is no FILE"),
                       Text("give a file, or {0}", Setting::Session));
            refuse_snapshot_without_session(common_);
            return;
        }
        if (common_.no_save)
            refuse(Text(Setting::NoSave), Text("a session is there to be saved"),
                   Text("leave out {0} or {1}", Setting::NoSave, Setting::Session));
        if (each_)
            refuse(Text::verbatim("--each"), Text("a session holds its documents together"),
                   Text("leave out {0} or {1}", Setting::Session, "--each"));
        if (question_last_)
            refuse(Text(Setting::QuestionLast), Text("a session is read before it is asked about"),
                   Text("leave out {0} or {1}", Setting::Session, Setting::QuestionLast));
    }

    NoteMode note_mode() const
    {
        if (no_notes_) return NoteMode::Never;
        return notes_ || outline_ ? NoteMode::Always : NoteMode::IfLonger;
    }

    // Returns null unless JSON is wanted.
    ordered_json summarize(const Documents& documents, Console& console)
    {
        if (each_ && !common_.json) console.out << visible(documents[0]->name()) << ":\n";
        if (session_.empty() && (no_notes_ || question_last_)) return summarize_held(documents, console);
        read_into_session(documents, console);
        const Coverage coverage = stored_->coverage();
        std::vector<std::string> names = files_;
        if (names.empty()) names = stored_->sources();
        if (each_) names = {documents[0]->name()};
        check_complete(coverage, common_.require_complete, session_.empty() ? names[0] : session_);
        const std::vector<Note> notes = note_mode() == NoteMode::Never ? std::vector<Note>() : stored_->notes();
        if (notes.empty()) return summarize_session(coverage, names, console);
        return summarize_notes(notes, coverage, names, console);
    }

    // Without --session, the documents are stored in memory.
    void read_into_session(const Documents& documents, Console& console)
    {
        StoredOptions options;
        options.notes = note_mode();
        if (steer_) options.question = prompt_;
        const bool in_memory = session_.empty();
        options.keeps_states = !in_memory;
        const ScopedValue budget(common_.budget, in_memory ? absolute_budget(documents, console) : common_.budget);
        stored_.reset();
        if (in_memory) options.model = model_; // of the document before
        const auto store = [&] {
            return in_memory ? std::make_unique<Store>()
                             : open_store(database_, storage::Database::Access::Write, console.stop);
        };
        open_stored(store, std::move(options), console);
        if (files_.empty() && stored_->is_new())
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"),
                        Text("there is no FILE, and the session has read nothing"), Text("give a file"));
        try {
            for (const auto& document : documents)
                stored_->read(*document, document != documents.back());
            if (documents.empty() && !common_.pins.empty()) stored_->pin(common_.pins);
            stored_->complete_notes();
        } catch (const Interrupted&) {
            if (!in_memory) throw;
            throw Interrupted{Text("stopped while reading; nothing was saved, run it again to start over")};
        }
    }

    // For a budget that is a share, the number of tokens it stands for.
    std::string absolute_budget(const Documents& documents, Console& console)
    {
        if (!common_.budget_is_share()) return common_.budget;
        if (!model_) load(console);
        const auto tokens = common_.session(model_->config(), {.input = count_tokens(documents)}).budget;
        return (common_.budget_is_auto() ? "auto:" : "") + std::to_string(tokens);
    }

    // Without a stored session: what the session holds at the end is summarized.
    ordered_json summarize_held(const Documents& documents, Console& console)
    {
        std::vector<std::string> names;
        for (const auto& document : documents)
            names.push_back(document->name());
        const auto [session, coverage, stream] = read(documents, prompt_, console);
        check_complete(coverage, common_.require_complete, names[0]);
        const auto fork = copy(*session);
        return tell(*session, coverage, names,
                    {answer(*fork, prompt_, turn(stream, prompt_, {}), summary_tokens, console)}, console);
    }

    // What the stored session holds is summarized; the summary is not stored.
    ordered_json summarize_session(const Coverage& coverage, const std::vector<std::string>& names,
                                   Console& console)
    {
        const auto fork = copy(stored_->session());
        return tell(stored_->session(), coverage, names,
                    {answer(*fork, prompt_, turn(stored_->stream(), prompt_, {}), summary_tokens, console)},
                    console);
    }

    ordered_json summarize_notes(const std::vector<Note>& notes, const Coverage& coverage,
                                 const std::vector<std::string>& names, Console& console)
    {
        write_note(console, common_.events, Text("writing the summary, of {0} notes", notes.size()));
        const auto summary =
            write_summary(*stored_, notes,
                          {.prompt = prompt_,
                           .sampler = common_.sampler,
                           .max_tokens = common_.max_tokens ? common_.max_tokens : summary_tokens,
                           .ends = common_.stop,
                           .stop = console.stop,
                           .merging = [&](size_t count) {
                               write_note(console, common_.events, Text("merging {0} notes", count));
                           }});
        if (!summary)
            throw Interrupted{
                session_.empty() ? Text("stopped before the summary; nothing was saved, run it again to start over")
                                 : Text("stopped before the summary; the notes are saved, run it again to go on")};
        PassagePlaces places(store_->library);
        if (!common_.json) print(*summary, notes, places, console);
        if (common_.events)
            write_event(console.err,
                        {{"event", "answer"}, {"text", summary->text}, {"end", end_name(summary->end)}});
        Answer answer{.question = prompt_, .text = summary->text, .generated = {}};
        answer.generated.end = summary->end;
        answer.generated.tokens.resize(summary->generated);
        answer.support = {
            {"origin", summary->origin == NoteOrigin::Written ? "written" : "quoted"},
            {"refused", summary->origin == NoteOrigin::Quoted ? ordered_json(summary->refused) : ordered_json()},
            {"sentences_left_out", summary->left_out},
            {"repeats", summary->repeats},
            {"levels", summary->levels}};
        ordered_json result = tell(stored_->session(), coverage, names, {answer}, console);
        if (common_.json) {
            result["notes"] = costs_json(notes);
            result["notes"].update({{"summary_tokens", summary->tokens}, {"summary_seconds", summary->seconds}});
            result["outline"] = outline_json(notes, places);
        } else if (!common_.events) {
            console.err << console.wording.of(Text("notes:    {0}; for the summary {1} tokens, {2} s",
                                                   summary_of(notes), format_count(summary->tokens),
                                                   std::lround(summary->seconds)))
                        << '\n';
        }
        return result;
    }

    void print(const Summary& summary, const std::vector<Note>& notes, PassagePlaces& places,
               Console& console) const
    {
        const auto shown = [&](const std::string& text) { return raw_ ? text : visible(text); };
        console.out << shown(summary.text) << '\n';
        finish_output(console.out);
        if (summary.origin == NoteOrigin::Quoted)
            write_note(console, common_.events,
                       Text("what the model wrote is not about the whole, or not in the notes: these are sentences "
                            "of the text"));
        else if (summary.left_out > 0)
            write_note(console, common_.events,
                       Text("{0} sentences were left out: they name what the notes do not hold", summary.left_out));
        if (summary.repeats && summary.origin == NoteOrigin::Written)
            write_note(console, common_.events, Text("the model repeated itself, and was cut before that"));
        if (!outline_) return;
        for (const Note& note : notes) {
            const std::string text = shown(note.text);
            const Text quote("quoted: {0}", text);
            console.out << '\n'
                        << visible(console.wording.of(place_of(note, places))) << "\n    "
                        << (note.origin == NoteOrigin::Quoted ? console.wording.of(quote) : text) << '\n';
            if (note.repeats && note.origin == NoteOrigin::Written)
                console.out << "    " << console.wording.of(Text("(cut where the model repeated itself)")) << '\n';
        }
        finish_output(console.out);
    }

    // The JSON, or null after the receipt.
    ordered_json tell(const engine::Session& session, const Coverage& coverage,
                      const std::vector<std::string>& names, const std::vector<Answer>& answers,
                      Console& console) const
    {
        if (common_.json) return json(session, coverage, names, answers);
        receipt(session, coverage, answers, console);
        return {};
    }

    std::vector<std::string> files_;
    bool each_ = false, notes_ = false, no_notes_ = false, outline_ = false;
};

} // namespace

std::unique_ptr<Command> make_summarize(CLI::App& parent)
{
    return std::make_unique<Summarize>(parent);
}

} // namespace palimpsest::app
