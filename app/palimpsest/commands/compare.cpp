// `compare`: runs several policies and budgets over one document and reports kept sets, overlap, perplexity, speed
// and memory; or compares what stored sessions keep of the same documents, without computing.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/console_listener.h"
#include "app/palimpsest/measuring.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/retention_picture.h"
#include "app/palimpsest/token_source.h"
#include "engine/text/unicode/display_width.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/comparison_report.h"
#include "storage/session/list_lengths.h"
#include "storage/session/listener.h"
#include "storage/session/protocol.h"
#include "storage/session/reading.h"
#include "storage/session/session_settings.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"

namespace palimpsest::app {
namespace {

using nlohmann::ordered_json;
using storage::budget_of;
using storage::check_complete;
using storage::ComparisonReport;
using storage::Coverage;
using storage::Interrupted;
using storage::lengths_sentence;
using storage::ModelReport;
using storage::name_of;
using storage::open_store;
using storage::PolicyReport;
using storage::Protocol;
using storage::Store;
using storage::StoredOptions;
using storage::StoredSession;

// Results of a run or of a stored session. The session itself is destroyed, so that only one is in memory at a
// time.
struct Contender {
    std::string spec;               // of the policy; or the name of the stored session
    engine::SessionOptions options; // with defaults resolved
    int32_t budget = 0;             // see budget_of()
    PolicyReport policy;
    Text lengths; // lengths of its lists, if they differ from the budget
    Protocol protocol = Protocol::Blind;
    engine::Telemetry telemetry;
    engine::RetentionMap map;
    std::optional<engine::Loss> loss;        // nullopt for a stored session
    std::optional<double> tokens_per_second; // nullopt for a stored session
    bool complete = true;                    // false: a policy without a budget has filled its cache
};

class Compare final : public Command {
public:
    explicit Compare(CLI::App& parent)
    {
        command_ = parent.add_subcommand("compare", "run several policies over one document");
        add_token_source(*command_, source_);
        command_->add_option("--policies", policies_, "specs, separated by commas");
        command_
            ->add_option("--session", sessions_,
                         "stored sessions of the same documents instead of FILE: names, separated by commas or "
                         "each with its own --session")
            ->allow_extra_args(false);
        add_database_option(*command_, database_);
        command_->add_option("--budgets", budgets_, "budgets, separated by commas; each policy runs with each");
        add_backend_options(*command_, common_);
        add_cache_options(*command_, common_);
        add_output_options(*command_, common_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        if (!sessions_.empty()) return compare_stored(console);
        check_token_source(source_);
        if (policies_.empty())
            refuse_usage(Text("--policies is required"), Text("give policies, or stored sessions with --session"));
        const auto model = load_chosen_model(common_, console);
        const SourceTokens tokens = read_source(source_, *model, UINT64_MAX, console, common_.events);
        const engine::Pins pins = pins_to_measure(*model, common_, tokens, source_, console);
        std::vector<Contender> contenders;
        for (const std::string& policy : split_policies(policies_))
            for (const std::string& budget : budgets_.empty() ? std::vector{common_.budget} : split_list(budgets_))
                contenders.push_back(read(model, policy, budget, tokens, pins, console));
        Coverage coverage = tokens.coverage; // of the contender that read the fewest tokens
        coverage.tokens_read = coverage.tokens_in_input;
        for (const Contender& c : contenders)
            coverage.tokens_read = std::min(coverage.tokens_read, c.map.tokens_seen - tokens.added);
        check_complete(coverage, common_.require_complete, source_.name());
        show(*model, contenders, coverage, console);
    }

private:
    [[noreturn]] static void refuse_usage(Text what, Text remedy)
    {
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"), std::move(what),
                    std::move(remedy));
    }

    void compare_stored(Console& console) const
    {
        if (!source_.name().empty() || !policies_.empty() || !budgets_.empty())
            refuse_usage(Text("--session and FILE, --policies or --budgets exclude each other"),
                         Text("compare stored sessions, or policies on a file"));
        const auto store = open_store(database_, storage::Database::Access::Read);
        const auto names = session_names(*store);
        if (names.size() < 2)
            refuse_usage(Text("there is one session only"), Text("name at least two with --session"));
        const auto first = store->conversations.stream(store->conversations.get(names[0]).id);
        for (const std::string& name : names)
            check_same_documents(*store, names[0], first, name);
        std::vector<Contender> contenders;
        Coverage coverage;
        std::shared_ptr<const engine::Model> model;
        ConsoleListener listener(console, common_.events);
        for (const std::string& name : names) {
            StoredOptions options{.choice = common_};
            options.read_only = true;
            StoredSession stored(*store, name, options, listener);
            const Coverage one = stored.coverage();
            if (!model || one.tokens_read < coverage.tokens_read) coverage = one;
            if (!model) model = stored.shared_model();
            contenders.push_back(contender_of(stored, one));
            check_same_heads(contenders.front(), contenders.back());
        }
        check_complete(coverage, common_.require_complete, names[0]);
        show(*model, contenders, coverage, console);
    }

    // Splits at commas, unless a session with the whole name exists.
    std::vector<std::string> session_names(Store& store) const
    {
        std::vector<std::string> names;
        for (const std::string& given : sessions_) {
            if (store.conversations.find(given)) {
                names.push_back(given);
                continue;
            }
            const auto parts = split_list(given);
            names.insert(names.end(), parts.begin(), parts.end());
        }
        return names;
    }

    // Kept sets are comparable if both streams are identical up to the end of the documents; later messages may
    // differ.
    static void check_same_documents(Store& store, const std::string& first_name,
                                     const std::vector<storage::StreamPart>& first, const std::string& name)
    {
        const auto other = store.conversations.stream(store.conversations.get(name).id);
        const size_t parts = std::max(up_to_last_document(first), up_to_last_document(other));
        bool same = parts > 0 && parts <= std::min(first.size(), other.size());
        for (size_t i = 0; same && i < parts; ++i)
            same = is_same(store.library, first[i], other[i]);
        if (!same)
            throw Error(ErrorKind::Usage, ErrorCode::IncomparableSessions, Text("session '{0}'", printable(name)),
                        Text("it and '{0}' do not hold the same documents", printable(first_name)),
                        Text("compare sessions into which the same documents were read in the same order"));
    }

    static size_t up_to_last_document(const std::vector<storage::StreamPart>& stream)
    {
        const auto last = std::find_if(stream.rbegin(), stream.rend(),
                                       [](const auto& p) { return storage::document_in(p) != nullptr; });
        return static_cast<size_t>(stream.rend() - last);
    }

    static bool is_same(storage::Library& library, const storage::StreamPart& a, const storage::StreamPart& b)
    {
        if (a.index() != b.index() || tokens_of(a) != tokens_of(b)) return false;
        if (const auto* framing = storage::framing_in(a)) return framing->ids == storage::framing_in(b)->ids;
        if (const auto* message = storage::message_in(a)) return message->id == storage::message_in(b)->id;
        const int64_t first = storage::document_in(a)->id, second = storage::document_in(b)->id;
        if (first == second) return true;
        constexpr uint64_t at_once = 65536;
        for (uint64_t at = 0; at < tokens_of(a); at += at_once)
            if (library.ids(first, at, at_once) != library.ids(second, at, at_once)) return false;
        return true;
    }

    static void check_same_heads(const Contender& first, const Contender& other)
    {
        if (first.map.layers == other.map.layers && first.map.kv_heads == other.map.kv_heads) return;
        throw Error(ErrorKind::Usage, ErrorCode::IncomparableSessions, Text("session '{0}'", printable(other.spec)),
                    Text("its model has other layers and heads than that of '{0}'", printable(first.spec)),
                    Text("compare sessions of one model"));
    }

    static Contender contender_of(StoredSession& stored, const Coverage& coverage)
    {
        engine::Session& session = stored.session();
        return {.spec = stored.name(),
                .options = session.options(),
                .budget = budget_of(session),
                .policy = PolicyReport::of(session),
                .lengths = lengths_sentence(session),
                .protocol = stored.question().empty() ? Protocol::Blind : Protocol::Steered,
                .telemetry = session.telemetry(),
                .map = session.retention(),
                .loss = {},
                .tokens_per_second = {},
                .complete = coverage.complete()};
    }

    void show(const engine::Model& model, const std::vector<Contender>& contenders, const Coverage& coverage,
              Console& console) const
    {
        if (common_.json) return write_json(console.out, json(model, contenders, coverage));
        console.out << table(contenders, console.wording);
        for (const Contender& c : contenders)
            console.out << '\n'
                        << title(c, console.wording) << '\n'
                        << unicode_picture(c.map, {}, 80, console.wording);
        if (common_.events)
            write_event(console.err, {{"event", "receipt"}, {"coverage", coverage.json()}});
        else
            console.err << console.wording.of(Text("coverage: {0}", coverage.sentence())) << std::endl;
    }

    Contender read(const std::shared_ptr<const engine::Model>& model, const std::string& policy,
                   const std::string& budget, const SourceTokens& tokens, const engine::Pins& pins,
                   Console& console) const
    {
        CommonOptions options = common_;
        options.policy = policy;
        options.budget = budget;
        engine::MeasuredReading reading = measured_reading(model, options, tokens, pins);
        engine::Session& session = reading.session();
        Contender c{.spec = policy,
                    .options = session.options(),
                    .budget = budget_of(session),
                    .policy = {},
                    .lengths = {},
                    .protocol = Protocol::Blind,
                    .telemetry = {},
                    .map = {},
                    .loss = {},
                    .tokens_per_second = {},
                    .complete = reading.is_complete()};
        if (!read_all(reading, tokens, policy, options, console))
            throw Interrupted{Text("stopped while comparing; nothing was written")};
        c.tokens_per_second = reading.tokens_per_second();
        c.telemetry = session.telemetry();
        c.policy = PolicyReport::of(session);
        c.lengths = lengths_sentence(session);
        c.map = session.retention();
        c.loss = reading.losses().all();
        return c;
    }

    static std::string title(const Contender& c, const CommandWording& wording)
    {
        const std::string settings =
            wording.of(Text("{0}, budget {1}, chunk {2}, {3} positions", c.options.policy.text(), c.budget,
                            c.options.chunk, name_of(c.options.positions))) +
            (c.protocol == Protocol::Blind ? "" : std::string(", ") + name_of(c.protocol)) +
            (c.lengths.empty() ? "" : "\n" + wording.of(Text("kept: {0}", c.lengths)));
        return c.loss ? settings : row_text(c.spec) + ": " + settings;
    }

    static std::string shown(const Contender& c) { return engine::visible_line(c.spec); }

    static constexpr size_t min_name_width = 30; // columns, as in the table's head

    static size_t name_width(const std::vector<Contender>& contenders)
    {
        size_t width = min_name_width;
        for (const Contender& c : contenders)
            width = std::max(width, engine::display_width(shown(c)));
        return width;
    }

    static std::string rounded(const std::optional<double>& number, int digits)
    {
        char text[32] = "-";
        if (number) std::snprintf(text, sizeof text, "%.*f", digits, *number);
        return text;
    }

    static std::string table(const std::vector<Contender>& contenders, const CommandWording& wording)
    {
        const bool computed = contenders[0].loss.has_value();
        std::string out = wording.of(computed ? Text("policy                         budget  perplexity    tok/s   "
                                                     "    cache  full cache  median age")
                                              : Text("session                        budget  perplexity    tok/s   "
                                                     "    cache  full cache  median age"));
        const size_t names = name_width(contenders);
        out.insert(min_name_width, names - min_name_width, ' ');
        out += '\n';
        bool cut = false;
        for (const Contender& c : contenders) {
            const engine::Telemetry& t = c.telemetry;
            char line[200];
            out += engine::padded(engine::isolated(shown(c)), names);
            std::snprintf(line, sizeof line, " %6d  %10s %8s %11s %11s %11s%s\n", c.budget,
                          rounded(c.loss ? std::optional(c.loss->perplexity()) : std::nullopt, 3).c_str(),
                          rounded(c.tokens_per_second, 0).c_str(), format_bytes(t.cache_bytes).c_str(),
                          format_bytes(t.full_cache_bytes).c_str(),
                          format_count(engine::reach(c.map).median_age).c_str(), c.complete ? "" : " *");
            out += line;
            cut = cut || !c.complete;
        }
        if (cut && computed)
            out += wording.of(Text("* grows with what is read: read only as far as the model's context\n"));
        if (cut && !computed) out += wording.of(Text("* not read to the end\n"));
        if (computed) out += wording.of(Text("tok/s includes the loss of every token\n"));
        if (contenders.size() < 2) return out;
        out += wording.of(Text("\noverlap of the kept sets, % of either\n"));
        for (size_t i = 0; i < contenders.size(); ++i) {
            char line[64];
            out += engine::padded(engine::isolated(shown(contenders[i])), names);
            for (size_t j = 0; j < contenders.size(); ++j) {
                std::snprintf(line, sizeof line, " %5.1f",
                              100 * engine::overlap(contenders[i].map, contenders[j].map));
                out += line;
            }
            out += '\n';
        }
        return out;
    }

    static ordered_json json(const engine::Model& model, const std::vector<Contender>& contenders,
                             const Coverage& coverage)
    {
        ComparisonReport report{.model = ModelReport::of(model), .coverage = coverage};
        for (const Contender& c : contenders)
            report.contenders.push_back({.policy = c.policy,
                                         .protocol = c.protocol,
                                         .complete = c.complete,
                                         .loss = c.loss,
                                         .tokens_per_second = c.tokens_per_second,
                                         .telemetry = c.telemetry,
                                         .map = &c.map});
        report.overlap = [&](size_t a, size_t b) { return engine::overlap(contenders[a].map, contenders[b].map); };
        ordered_json document = report.json();
        for (size_t i = 0; i < contenders.size(); ++i)
            if (!contenders[i].loss) document["results"][i]["session"] = contenders[i].spec;
        return document;
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    TokenSource source_;
    std::string policies_, budgets_, database_;
    std::vector<std::string> sessions_;
};

} // namespace

std::unique_ptr<Command> make_compare(CLI::App& parent)
{
    return std::make_unique<Compare>(parent);
}

} // namespace palimpsest::app
