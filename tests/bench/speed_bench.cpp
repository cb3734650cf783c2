// Tokens per second of sessions on any device, as JSON lines, with the minimum cost of a token, so that readers can
// divide by ceilings measured in the same run.
//
//   speed-bench MODEL [--device NAME] [--tasks speeds,stream,depths] ...       (speed_options.h)
//
// speeds: prefill and decode for every budget and policy. Reads the tokens twice, first to warm up and to fill the
//   lists. `ids` is a hash of the generated tokens: equal from run to run on one device.
// stream: one long stream per policy; prints a line per window, with memory, and a summary.
// depths: decode at several depths, for every budget and for the full cache.
// start: prefill of the first tokens of a session, and decode after a single token, as llama-bench measures them
//   (against_llama.py). Runs once to warm up, then `--repeats` times; prints every repeat. Also prints processor
//   time, for machines with other load.
//
// device_bytes: memory in use on the device, by all processes.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "tests/bench/device_state.h"
#include "tests/bench/median.h"
#include "tests/bench/model_costs.h"
#include "tests/bench/speed_options.h"

using namespace palimpsest;
using namespace palimpsest::bench;
using namespace palimpsest::engine;

namespace {

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Processor time of all threads of this process, in seconds.
double processor_now()
{
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// One step of the FNV-1a hash.
uint64_t mixed(uint64_t hash, TokenId id)
{
    return (hash ^ static_cast<uint64_t>(id)) * 1099511628211u;
}

std::string escaped(const std::string& text)
{
    std::string out;
    for (const char c : text)
        out += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '\'' : c;
    return out;
}

// Builds one JSON object and prints it as a line at once.
class Line {
public:
    explicit Line(const std::string& bench) { add("bench", bench); }
    Line& add(const char* name, const std::string& text) { return put(name, '"' + escaped(text) + '"'); }
    Line& add(const char* name, const char* text) { return add(name, std::string(text)); }
    Line& add(const char* name, bool holds) { return put(name, holds ? "true" : "false"); }
    Line& add(const char* name, int64_t number) { return put(name, std::to_string(number)); }
    Line& add(const char* name, int32_t number) { return add(name, int64_t{number}); }
    Line& add(const char* name, uint64_t number) { return put(name, std::to_string(number)); }
    Line& add(const char* name, double number)
    {
        char text[40];
        std::snprintf(text, sizeof text, "%.6g", number);
        return put(name, text);
    }
    template<class Number>
    Line& add(const char* name, const std::vector<Number>& numbers)
    {
        std::string all;
        for (const Number number : numbers)
            all += (all.empty() ? "" : ",") + std::to_string(static_cast<int64_t>(number));
        return put(name, '[' + all + ']');
    }
    void print() const
    {
        std::printf("{%s}\n", text_.c_str());
        std::fflush(stdout);
    }

private:
    Line& put(const char* name, const std::string& value)
    {
        text_ += (text_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + value;
        return *this;
    }
    std::string text_;
};

struct Decoded {
    double seconds = 0;   // per token
    double launches = -1; // kernel launches per token; -1: not counted
};

class Bench {
public:
    explicit Bench(const SpeedOptions& o)
        : o_(o), model_(Model::load(o.model,
                                    kernels::open_backend({.device = o.device, .threads = o.threads, .simd = ""}))),
          random_(1)
    {
    }

    // Returns false if a measurement failed.
    bool run()
    {
        for (const auto& [name, seconds] : o_.tasks) {
            begin_ = now();
            end_ = begin_ + seconds;
            if (name == "speeds") speeds();
            if (name == "stream") streams();
            if (name == "depths") depths();
            if (name == "start") start();
        }
        return whole_;
    }

private:
    static constexpr int32_t warm_up = 8; // tokens generated before the timed ones

    // ---- used by all tasks

    Line line(const std::string& bench, const std::string& policy, int32_t budget) const
    {
        Line to(bench);
        to.add("device", model_->backend().name()).add("target", model_->backend().simd_target());
        to.add("policy", policy).add("budget", budget).add("chunk", o_.chunk).add("rows", o_.rows);
        return to;
    }

    void attempt(const std::string& bench, const std::string& policy, int32_t budget,
                 const std::function<void()>& body)
    {
        if (now() > end_) return line(bench, policy, budget).add("left_out", "no time left").print();
        try {
            body();
        } catch (const Error& error) {
            whole_ = false;
            line(bench, policy, budget).add("error", error.what()).print();
        }
    }

    Session session(const std::string& policy, int32_t budget) const
    {
        SessionOptions options;
        options.policy = PolicySpec::parse(policy);
        options.budget = budget;
        options.chunk = o_.chunk;
        options.rows_at_once = o_.rows;
        options.stops_within_chunk = false;
        return Session(model_, options);
    }

    // Feeds `tokens` more tokens; returns the seconds until the logits are available.
    double read(Session& session, int64_t tokens)
    {
        std::vector<TokenId> ids(static_cast<size_t>(tokens));
        for (TokenId& id : ids)
            id = static_cast<TokenId>(random_() % static_cast<uint64_t>(model_->config().vocabulary));
        const double start = now();
        session.feed(ids);
        session.finish();
        session.logits(); // waits for the device
        return now() - start;
    }

    Decoded generate(Session& session, uint64_t& ids) const
    {
        const auto some = [&](int32_t tokens) {
            session.generate({.max_tokens = tokens,
                              .stop = {},
                              .token = [&](TokenId id) { return ids = mixed(ids, id), true; },
                              .is_end = {}});
            session.logits();
        };
        some(warm_up);
        const auto before = device_state(o_.device);
        const double start = now();
        some(o_.decode);
        Decoded decoded{(now() - start) / o_.decode, -1};
        if (const auto after = device_state(o_.device); before && after)
            decoded.launches = static_cast<double>(after->launches - before->launches) / o_.decode;
        return decoded;
    }
    Decoded generate(Session& session) const
    {
        uint64_t ids = 0;
        return generate(session, ids);
    }

    void add_decoded(Line& to, const Decoded& decoded, int64_t ranks) const
    {
        to.add("decode_tokens_per_second", 1 / decoded.seconds);
        to.add("decode_bytes_per_token", decode_bytes(*model_, ranks));
        if (decoded.launches >= 0) to.add("launches_per_token", decoded.launches);
    }

    // Device memory in use; 0 for the CPU.
    uint64_t device_bytes() const
    {
        const auto state = device_state(o_.device);
        return state ? state->used_bytes : 0;
    }

    // ---- start

    void start()
    {
        const std::string policy = "full";
        const auto room = static_cast<int32_t>(o_.start) + o_.decode + o_.chunk;
        attempt("start", policy, room, [&] {
            random_.seed(1);
            for (int repeat = 0; repeat <= o_.repeats; ++repeat)
                start_once(policy, room, repeat == 0);
        });
    }

    void start_once(const std::string& policy, int32_t room, bool warms_up)
    {
        Session reader = session(policy, room), writer = session(policy, room);
        const double before = processor_now();
        const double seconds = read(reader, o_.start);
        const double prefill_end = processor_now();
        read(writer, 1);
        const double decode_start = processor_now();
        const Decoded decoded = generate(writer);
        const double decode_end = processor_now();
        if (warms_up) return;
        line("start", policy, room)
            .add("tokens", o_.start)
            .add("prefill_tokens_per_second", static_cast<double>(o_.start) / seconds)
            .add("decode_tokens_per_second", 1 / decoded.seconds)
            .add("prefill_processor_seconds", prefill_end - before)
            .add("decode_processor_seconds", (decode_end - decode_start) / (o_.decode + warm_up))
            .print();
    }

    // ---- speeds

    void speeds()
    {
        for (const int32_t budget : o_.budgets)
            for (const std::string& policy : o_.policies)
                attempt("speed", policy, budget, [&] { speed(policy, budget); });
    }

    void speed(const std::string& policy, int32_t budget)
    {
        Session reader = session(policy, budget);
        random_.seed(1);
        read(reader, o_.tokens);
        const double prefill = static_cast<double>(o_.tokens) / read(reader, o_.tokens);
        uint64_t ids = 14695981039346656037u;
        const Decoded decoded = generate(reader, ids);
        char hash[20];
        std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(ids));
        Line to = line("speed", policy, budget);
        to.add("tokens", o_.tokens).add("prefill_tokens_per_second", prefill);
        to.add("prefill_flops_per_token", prefill_operations(*model_, budget, o_.chunk));
        add_decoded(to, decoded, budget);
        to.add("scratch_bytes", model_->backend().scratch_bytes()).add("device_bytes", device_bytes());
        to.add("ids", hash).print();
    }

    // ---- stream

    // Divides the time of the task equally between the policies.
    void streams()
    {
        const double share = (end_ - begin_) / static_cast<double>(o_.stream_policies.size());
        for (size_t i = 0; i < o_.stream_policies.size(); ++i) {
            end_ = begin_ + share * static_cast<double>(i + 1);
            const std::string& policy = o_.stream_policies[i];
            attempt("stream", policy, o_.stream_budget, [&] { stream(policy); });
        }
    }

    // Measurements per window of a stream.
    struct Windows {
        std::vector<double> speeds;
        std::vector<uint64_t> device_bytes, host_bytes;
    };

    void stream(const std::string& policy)
    {
        Session reader = session(policy, o_.stream_budget);
        random_.seed(1);
        Windows windows;
        for (int64_t seen = 0; seen < o_.stream && now() < end_;) {
            const int64_t tokens = std::min(o_.window, o_.stream - seen);
            windows.speeds.push_back(static_cast<double>(tokens) / read(reader, tokens));
            windows.device_bytes.push_back(device_bytes());
            windows.host_bytes.push_back(host_bytes());
            seen += tokens;
            line("window", policy, o_.stream_budget)
                .add("tokens_seen", seen)
                .add("tokens_per_second", windows.speeds.back())
                .add("device_bytes", windows.device_bytes.back())
                .add("host_bytes", windows.host_bytes.back())
                .print();
        }
        const Decoded decoded = generate(reader);
        sum_up(policy, windows, reader.telemetry().tokens_seen, decoded);
    }

    // The medians exclude the first window, which is the warm-up; device memory of later windows is compared with
    // its end.
    void sum_up(const std::string& policy, const Windows& windows, uint64_t seen, const Decoded& decoded) const
    {
        Line to = line("stream", policy, o_.stream_budget);
        to.add("tokens_seen", seen).add("asked", o_.stream).add("window", o_.window);
        const std::vector<double>& speeds = windows.speeds;
        if (speeds.size() > 2) {
            const auto third = std::max<ptrdiff_t>(1, (std::ssize(speeds) - 1) / 3);
            const double early = median({speeds.begin() + 1, speeds.begin() + 1 + third});
            const double late = median({speeds.end() - third, speeds.end()});
            to.add("late_over_early", late / early);
            const std::vector<uint64_t>& bytes = windows.device_bytes;
            if (bytes.front() > 0)
                to.add("device_bytes_constant", std::equal(bytes.begin() + 1, bytes.end(), bytes.begin()));
            to.add("device_bytes", bytes.back()).add("host_bytes", windows.host_bytes.back());
        }
        add_decoded(to, decoded, o_.stream_budget);
        to.add("windows", speeds).print();
    }

    // ---- depths: decode speed after reading 4096, 8192, ... tokens; one session reads on from depth to depth

    void depths()
    {
        for (const int32_t budget : o_.depth_budgets) {
            const std::string policy = budget == 0 ? "full" : "treekv";
            attempt("depth", policy, budget, [&] { depths_of(policy, budget); });
        }
    }

    void depths_of(const std::string& policy, int32_t budget)
    {
        constexpr int32_t generated = 16; // at each depth, besides the measured tokens: more than warm_up
        const auto room = static_cast<int32_t>(o_.depths.back()) + o_.chunk +
                          static_cast<int32_t>(o_.depths.size()) * (o_.decode + generated);
        Session reader = session(policy, budget == 0 ? room : budget);
        random_.seed(1);
        for (const int64_t depth : o_.depths) {
            if (now() > end_) return line("depth", policy, budget).add("left_out", "no time left").print();
            const auto seen = static_cast<int64_t>(reader.telemetry().tokens_seen);
            if (seen < depth) read(reader, depth - seen);
            print_depth(reader, policy, budget, depth, generate(reader));
        }
    }

    void print_depth(const Session& reader, const std::string& policy, int32_t budget, int64_t depth,
                     const Decoded& decoded) const
    {
        const ModelConfig& c = model_->config();
        const Telemetry telemetry = reader.telemetry();
        const int64_t row = 2 * kernels::row_bytes(*reader.options().kv_type, c.head_dim);
        const int64_t ranks = telemetry.slots_used / (int64_t{c.layers} * c.kv_heads);
        Line to = line("depth", policy, budget);
        to.add("depth", depth).add("ranks", ranks).add("kv_bytes", telemetry.slots_used * row);
        to.add("allocated_bytes", telemetry.cache_bytes).add("full_bytes", telemetry.full_cache_bytes);
        add_decoded(to, decoded, ranks);
        to.add("device_bytes", device_bytes()).print();
    }

    SpeedOptions o_;
    std::shared_ptr<const Model> model_;
    std::mt19937_64 random_;
    double begin_ = 0, end_ = 0; // of the task
    bool whole_ = true;
};

} // namespace

int main(int argc, char** argv)
try {
    return Bench(SpeedOptions::parse(argc, argv)).run() ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "speed-bench: %s\n", error.what());
    return static_cast<int>(error.kind());
}
