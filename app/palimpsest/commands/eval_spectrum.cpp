// `eval spectrum`: how much what the last token of a text gets from the others differs between neighbours, by place
// and scale (TreeKV, figure 2).

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "app/palimpsest/chosen_model.h"
#include "app/palimpsest/command.h"
#include "app/palimpsest/common_options.h"
#include "app/palimpsest/journal.h"
#include "app/palimpsest/long_measurement.h"
#include "app/palimpsest/output.h"
#include "app/palimpsest/table.h"
#include "app/palimpsest/token_source.h"
#include "engine/eval/attention_spectrum.h"
#include "engine/eval/full_session.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/session_report.h"

namespace palimpsest::app {
namespace {

using engine::HaarMagnitudes;
using engine::TokenId;
using nlohmann::ordered_json;
using storage::model_json;

constexpr int levels = 5;
constexpr size_t widest_block = size_t{1} << levels;
// Left out of means over places, as in the figure: the first and last 32 tokens, which are a block of the last
// level.
constexpr size_t blocks_left_out = 1;

struct Piece {
    std::string document;
    std::string key; // of its result in the journal
    std::vector<TokenId> ids;
};

struct Spectrum {
    HaarMagnitudes all;                               // mean over layers and pieces
    std::vector<std::array<double, levels>> by_layer; // mean over places and pieces
};

ordered_json magnitudes_json(const HaarMagnitudes& magnitudes)
{
    return {{"details", magnitudes.details}, {"approximation", magnitudes.approximation}};
}

HaarMagnitudes magnitudes_of(const ordered_json& json)
{
    HaarMagnitudes magnitudes;
    for (const ordered_json& detail : json["details"])
        magnitudes.details.push_back(detail);
    magnitudes.approximation = json["approximation"].get<std::vector<double>>();
    return magnitudes;
}

double mean(std::span<const double> numbers)
{
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

// Mean over the places [first, last) of blocks of the last level.
double mean_between(const HaarMagnitudes& magnitudes, size_t level, size_t first, size_t last)
{
    const std::vector<double>& blocks = magnitudes.details[level];
    const size_t each = widest_block >> (level + 1);
    return mean(std::span(blocks).subspan(first * each, (last - first) * each));
}

class EvalSpectrum final : public Command {
public:
    explicit EvalSpectrum(CLI::App& parent)
    {
        command_ = parent.add_subcommand(
            "spectrum", "how much attended values differ between neighbouring tokens, by place and scale");
        command_->add_option("FILE", files_, "documents")->required();
        command_->add_option("--length", length_, "tokens of a piece, the last of which attends to the others")
            ->capture_default_str();
        command_->add_option("--pieces", pieces_, "pieces of each document, spread over it without overlap")
            ->capture_default_str()
            ->check(CLI::Range(1, 100000));
        add_measurement_options(*command_, common_, journal_);
    }
    bool chosen() const override { return command_->parsed(); }
    bool wants_json() const override { return common_.json; }
    bool wants_events() const override { return common_.events; }

    void run(Console& console) override
    {
        const uint64_t length = parse_length("--length", length_);
        if (length < 3 * widest_block || length % widest_block != 0)
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--length"),
                        Text("{0} tokens are not a multiple of {1}, or fewer than {2}", length, widest_block,
                             3 * widest_block),
                        Text("give a length such as 512"));
        const auto model = load_chosen_model(common_, console);
        if (length > static_cast<uint64_t>(model->config().context))
            throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text::verbatim("--length"),
                        Text("a text of {0} tokens does not fit the {1} positions the model was trained on", length,
                             model->config().context),
                        Text("choose a shorter length"));
        std::vector<Piece> pieces;
        for (const std::string& file : files_)
            add_pieces(file, length, *model, console, pieces);
        Journal journal(journal_, measurement(*model));
        const Spectrum spectrum = measure(model, pieces, journal, console);
        if (common_.json)
            write_json(console.out, json(*model, length, pieces.size(), spectrum));
        else
            write_table(length, pieces.size(), spectrum, console);
    }

private:
    void add_pieces(const std::string& file, uint64_t length, const engine::Model& model, Console& console,
                    std::vector<Piece>& pieces) const
    {
        const SourceTokens document = read_source({file, ""}, model, UINT64_MAX, console, common_.events);
        const uint64_t tokens = document.ids.size() - document.added, own = length - document.added;
        if (tokens < own)
            throw Error(
                ErrorKind::Usage, ErrorCode::InvalidArguments, Text::escaped(file),
                Text("it has {0} tokens, too few for a text of {1}", format_count(tokens), format_count(length)),
                Text("give a longer document, or choose a shorter length"));
        const uint64_t count = std::min(pieces_, tokens / own);
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t begin = document.added + (count == 1 ? 0 : (tokens - own) * i / (count - 1));
            Piece piece;
            const auto add = [&](uint64_t from, uint64_t size) {
                const auto part = std::span(document.ids).subspan(from, size);
                piece.ids.insert(piece.ids.end(), part.begin(), part.end());
            };
            add(0, document.added);
            add(begin, own);
            piece.document = file;
            piece.key = input_key(file, piece.ids);
            pieces.push_back(std::move(piece));
        }
    }

    // The settings of this run. A journal with other settings is refused.
    ordered_json measurement(const engine::Model& model) const
    {
        ordered_json all = measurement_of("spectrum", model, common_);
        all.update({{"length", parse_length("--length", length_)}});
        return all;
    }

    Spectrum measure(const std::shared_ptr<const engine::Model>& model, const std::vector<Piece>& pieces,
                     Journal& journal, Console& console) const
    {
        uint64_t tokens = 0;
        for (const Piece& piece : pieces)
            tokens += piece.ids.size();
        LongMeasurement measurement(console, common_.events, "spectrum", tokens, journal);
        Spectrum spectrum;
        spectrum.by_layer.resize(static_cast<size_t>(model->config().layers));
        for (const Piece& piece : pieces) {
            const ordered_json found =
                measurement.part(piece.key, piece.ids.size(), [&](const LongMeasurement::Report& report) {
                    return read(model, piece, report, console.stop);
                });
            const double weight = 1.0 / static_cast<double>(pieces.size());
            engine::add(magnitudes_of(found["all"]), weight, spectrum.all);
            for (size_t l = 0; l < spectrum.by_layer.size(); ++l)
                for (size_t i = 0; i < levels; ++i)
                    spectrum.by_layer[l][i] += weight * found["by_layer"].at(l).at(i).get<double>();
        }
        return spectrum;
    }

    // Null: stopped.
    static ordered_json read(const std::shared_ptr<const engine::Model>& model, const Piece& piece,
                             const LongMeasurement::Report& report, const std::stop_token& stop)
    {
        const auto full = engine::full_session(model, {}, piece.ids.size(), {.window = 1, .head_moments = true});
        const engine::FeedOptions feed{
            .stop = stop, .progress = [&](const engine::Telemetry& now) { report(*full, now); }, .loss = {}};
        const auto layers = engine::attention_spectrum(*full, piece.ids, levels, feed);
        if (!layers) return nullptr;
        for (const HaarMagnitudes& layer : *layers)
            if (!std::ranges::all_of(layer.approximation, [](double x) { return std::isfinite(x); }))
                throw not_finite(*model, piece.document);
        HaarMagnitudes all;
        ordered_json by_layer = ordered_json::array();
        const size_t blocks = piece.ids.size() / widest_block;
        for (const HaarMagnitudes& layer : *layers) {
            engine::add(layer, 1.0 / static_cast<double>(layers->size()), all);
            ordered_json means = ordered_json::array();
            for (size_t i = 0; i < levels; ++i)
                means.push_back(mean_between(layer, i, blocks_left_out, blocks - blocks_left_out));
            by_layer.push_back(means);
        }
        return {{"all", magnitudes_json(all)}, {"by_layer", by_layer}};
    }

    static std::string shown(double magnitude)
    {
        char text[32];
        std::snprintf(text, sizeof text, "%.3g", magnitude);
        return text;
    }

    static void write_table(uint64_t length, size_t pieces, const Spectrum& spectrum, Console& console)
    {
        constexpr size_t most_rows = 16;
        const CommandWording& wording = console.wording;
        console.out << wording.of(
            Text("mean magnitude of the details of attention times value at scale 2^level, over "
                 "{0} pieces of {1} tokens (Haar wavelet)\n\n",
                 pieces, format_count(length)));
        Table table;
        std::vector<std::string> head = {wording.of(Text("tokens"))};
        for (int l = 1; l <= levels; ++l)
            head.push_back(wording.of(Text("level {0}", l)));
        table.add(head);
        const auto add_row = [&](size_t first, size_t last) {
            std::vector<std::string> row = {format_count(first * widest_block) + "-" +
                                            format_count(last * widest_block - 1)};
            for (size_t i = 0; i < levels; ++i)
                row.push_back(shown(mean_between(spectrum.all, i, first, last)));
            table.add(row);
        };
        // The blocks that are left out of means have rows of their own.
        const size_t end = length / widest_block - blocks_left_out;
        const size_t between = most_rows - 2, step = (end - blocks_left_out + between - 1) / between;
        add_row(0, blocks_left_out);
        for (size_t first = blocks_left_out; first < end; first += step)
            add_row(first, std::min(first + step, end));
        add_row(end, end + blocks_left_out);
        table.write_columns(console);
    }

    ordered_json json(const engine::Model& model, uint64_t length, size_t pieces, const Spectrum& spectrum) const
    {
        ordered_json by_level = ordered_json::array(), by_layer = by_level;
        for (size_t i = 0; i < levels; ++i)
            by_level.push_back(
                {{"level", i + 1},
                 {"block", size_t{2} << i},
                 {"mean", mean_between(spectrum.all, i, blocks_left_out, length / widest_block - blocks_left_out)},
                 {"magnitudes", spectrum.all.details[i]}});
        for (size_t l = 0; l < spectrum.by_layer.size(); ++l)
            by_layer.push_back({{"layer", l}, {"means", spectrum.by_layer[l]}});
        return {{"schema", "palimpsest.spectrum/1"},
                {"model", model_json(model)},
                {"wavelet", "haar"},
                {"length", length},
                {"pieces", pieces},
                {"documents", files_},
                {"by_level", by_level},
                {"approximation", {{"block", widest_block}, {"magnitudes", spectrum.all.approximation}}},
                {"by_layer", by_layer}};
    }

    CLI::App* command_ = nullptr;
    CommonOptions common_;
    std::vector<std::string> files_;
    std::string length_ = "512", journal_;
    uint64_t pieces_ = 16;
};

} // namespace

std::unique_ptr<Command> make_eval_spectrum(CLI::App& parent)
{
    return std::make_unique<EvalSpectrum>(parent);
}

} // namespace palimpsest::app
