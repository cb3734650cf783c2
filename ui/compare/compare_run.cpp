#include "ui/compare/compare_run.h"

#include <algorithm>
#include <chrono>

#include "engine/eval/measured_reading.h"
#include "kernels/base/error.h"

namespace palimpsest::ui {
namespace {

using Clock = std::chrono::steady_clock;
using Tokens = std::span<const engine::TokenId>;

double seconds_since(Clock::time_point begin)
{
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void refuse(Text what, Text remedy)
{
    throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text("comparison"), std::move(what),
                std::move(remedy));
}

// One contender's pass over the text.
class Reading {
public:
    Reading(const std::shared_ptr<const engine::Model>& model, const Contender& contender, Tokens tokens)
        : reading_(model, contender.options, tokens)
    {
        result_.spec = contender.spec;
        result_.options = reading_.session().options();
        result_.policy = storage::PolicyReport::of(reading_.session());
        result_.complete = reading_.is_complete();
        look();
    }

    uint64_t last() const { return reading_.last(); }
    uint64_t read() const { return reading_.read(); }
    bool done() const { return reading_.is_done(); }
    double seconds_left() const
    {
        return read() == 0
                   ? 0
                   : reading_.seconds() / static_cast<double>(read()) * static_cast<double>(last() - read());
    }
    const CompareResult& result() const { return result_; }

    // Reads up to the token `end`. Returns false if stopped.
    bool read_up_to(uint64_t end, std::stop_token stop)
    {
        engine::FeedOptions feed;
        feed.stop = std::move(stop);
        if (!reading_.read_up_to(end, feed)) return false;
        look();
        return true;
    }

    void note_step(uint64_t tokens, const CompareResult& first)
    {
        const bool same_length = result_.kept->tokens_seen == first.kept->tokens_seen;
        CompareStep step{.perplexity = result_.loss.perplexity(),
                         .overlap = {},
                         .tokens_per_second = result_.tokens_per_second,
                         .cache_bytes = result_.telemetry.cache_bytes};
        if (same_length) step.overlap = engine::overlap(*first.kept, *result_.kept);
        result_.steps.add(tokens, step);
    }

private:
    void look()
    {
        result_.tokens_read = read();
        result_.telemetry = reading_.session().telemetry();
        result_.loss = reading_.losses().all();
        result_.tokens_per_second = reading_.tokens_per_second();
        result_.telemetry.tokens_per_second = result_.tokens_per_second;
        result_.kept = std::make_shared<const engine::RetentionMap>(reading_.session().retention());
        result_.reach = engine::reach(*result_.kept);
    }

    engine::MeasuredReading reading_;
    CompareResult result_;
};

class Comparison {
public:
    Comparison(const std::shared_ptr<const engine::Model>& model, const CompareJob& job, const CompareSink& sink)
        : model_(*model), model_report_(storage::ModelReport::of(*model)), job_(job), sink_(sink)
    {
        for (const Contender& contender : job.contenders)
            readings_.emplace_back(model, contender, job.tokens);
    }

    std::shared_ptr<const CompareState> run(const std::stop_token& stop)
    {
        const auto chunk = static_cast<uint64_t>(job_.chunk);
        for (uint64_t end = chunk; !done(); end += chunk)
            if (!read_in_turn(end, stop)) return publish(CompareState::Phase::Stopped);
        return publish(CompareState::Phase::Finished);
    }

private:
    bool done() const
    {
        return std::all_of(readings_.begin(), readings_.end(), [](const Reading& r) { return r.done(); });
    }

    bool read_in_turn(uint64_t end, const std::stop_token& stop)
    {
        std::vector<Reading*> reading;
        for (Reading& r : readings_)
            if (!r.done()) reading.push_back(&r);
        for (Reading* r : reading) {
            if (stop.stop_requested() || !r->read_up_to(end, stop)) return false;
            if (sink_ && seconds_since(published_) >= between_publications) publish(CompareState::Phase::Running);
        }
        for (Reading* r : reading)
            r->note_step(r->read(), readings_.front().result());
        return true;
    }

    std::shared_ptr<const CompareState> publish(CompareState::Phase phase)
    {
        auto state = std::make_shared<CompareState>();
        state->phase = phase;
        state->what = job_.what;
        state->model = model_report_;
        state->coverage = coverage();
        state->tokens_total = job_.tokens.size();
        uint64_t read = 0, all = 0;
        double left = 0;
        for (const Reading& r : readings_) {
            read += r.read();
            all += r.last();
            left += r.seconds_left();
            state->results.push_back(r.result());
        }
        state->share = static_cast<double>(read) / static_cast<double>(all);
        const bool timed =
            std::all_of(readings_.begin(), readings_.end(), [](const Reading& r) { return r.read() > 0; });
        if (phase == CompareState::Phase::Running && timed) state->seconds_left = left;
        if (phase != CompareState::Phase::Running) state->overlaps = overlaps();
        if (sink_) sink_(state);
        published_ = Clock::now();
        return state;
    }

    // Returns the coverage of the contender that read the fewest tokens.
    storage::Coverage coverage() const
    {
        storage::Coverage coverage = job_.coverage;
        const uint64_t framing = job_.tokens.size() - coverage.tokens_in_input;
        coverage.tokens_read = coverage.tokens_in_input;
        for (const Reading& r : readings_)
            coverage.tokens_read = std::min(coverage.tokens_read, r.read() - std::min(framing, r.read()));
        return coverage;
    }

    std::vector<std::vector<double>> overlaps() const
    {
        const size_t n = readings_.size();
        std::vector<std::vector<double>> all(n, std::vector<double>(n, 1.0));
        for (size_t a = 0; a < n; ++a)
            for (size_t b = a + 1; b < n; ++b)
                all[a][b] = all[b][a] = engine::overlap(*readings_[a].result().kept, *readings_[b].result().kept);
        return all;
    }

    static constexpr double between_publications = 0.1; // in seconds
    const engine::Model& model_;
    const storage::ModelReport model_report_;
    const CompareJob& job_;
    const CompareSink& sink_;
    std::vector<Reading> readings_;
    Clock::time_point published_ = Clock::now();
};

void check(const CompareJob& job)
{
    const size_t count = job.contenders.size();
    if (count < fewest_contenders || count > most_contenders)
        refuse(Text("{0} policies cannot be compared", count),
               Text("choose from {0} to {1}", fewest_contenders, most_contenders));
    if (job.chunk < 1) refuse(Text("a chunk of {0} tokens is not possible", job.chunk), Text("give 1 or more"));
    if (job.tokens.empty()) refuse(Text("there is nothing to read"), Text("choose a document with text"));
}

} // namespace

std::shared_ptr<const CompareState> compare(const std::shared_ptr<const engine::Model>& model,
                                            const CompareJob& job, const std::stop_token& stop,
                                            const CompareSink& sink)
{
    check(job);
    require_memory(memory_of(*model, job.contenders), memory_left(*model), job.contenders.size());
    return Comparison(model, job, sink).run(stop);
}

} // namespace palimpsest::ui
