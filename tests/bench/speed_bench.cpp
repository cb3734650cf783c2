// Tokens per second of one session per policy and budget, prefill and decode, on any device; a JSON line for each,
// with what a token costs at least, so that the reader can divide by ceilings measured in the same run.
//
//   speed-bench MODEL [--device NAME] [--threads N] [--budgets N,N] [--policies SPEC;SPEC] [--tokens N] [--decode
//   N]
//               [--chunk N] [--rows N]
//
// The reading comes twice, the first time to warm up and to fill the lists; `windows` are tokens per second of
// every 4,096 tokens of the second. `ids` identifies what was generated: equal on one device from run to run.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "kernels/base/error.h"
#include "tests/bench/model_costs.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

struct Options {
    std::string model, device = "cpu";
    int threads = 0;
    std::vector<std::string> budgets = {"2048", "1024", "8192"};
    // Nothing asked of attention; the last rows of a chunk; all rows.
    std::vector<std::string> policies = {"treekv", "streaming", "snapkv"};
    int64_t tokens = 16384, window = 4096;
    int32_t decode = 64, chunk = 512, rows = 4096;
};

std::vector<std::string> parts_of(const std::string& text, char mark)
{
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, mark);)
        parts.push_back(part);
    return parts;
}

bool read_option(Options& o, const std::string& name, const char* value)
{
    if (name == "--device")
        o.device = value;
    else if (name == "--threads")
        o.threads = std::atoi(value);
    else if (name == "--budgets")
        o.budgets = parts_of(value, ',');
    else if (name == "--policies")
        o.policies = parts_of(value, ';');
    else if (name == "--tokens")
        o.tokens = std::max(1LL, std::atoll(value));
    else if (name == "--decode")
        o.decode = std::max(1, std::atoi(value));
    else if (name == "--chunk")
        o.chunk = std::atoi(value);
    else if (name == "--rows")
        o.rows = std::atoi(value);
    else
        return false;
    return true;
}

Options parse(int argc, char** argv)
{
    Options o;
    bool fits = true;
    for (int i = 1; i < argc && fits; ++i) {
        const std::string word = argv[i];
        if (!word.starts_with("--"))
            o.model = word;
        else
            fits = ++i < argc && read_option(o, word, argv[i]);
    }
    if (fits && !o.model.empty()) return o;
    std::fprintf(stderr,
                 "usage: speed-bench MODEL [--device NAME] [--threads N] [--budgets N,N] [--policies SPEC;SPEC] "
                 "[--tokens N] [--decode N] [--chunk N] [--rows N]\n");
    std::exit(2);
}

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// FNV-1a.
uint64_t mixed(uint64_t hash, TokenId id)
{
    return (hash ^ static_cast<uint64_t>(id)) * 1099511628211u;
}

class Speeds {
public:
    explicit Speeds(const Options& o)
        : o_(o), model_(Model::load(o.model,
                                    kernels::open_backend({.device = o.device, .threads = o.threads, .simd = ""})))
    {
        std::mt19937_64 random(1);
        tokens_.resize(static_cast<size_t>(o.tokens));
        for (TokenId& token : tokens_)
            token = static_cast<TokenId>(random() % static_cast<uint64_t>(model_->config().vocabulary));
    }

    // Returns false if one of them could not be measured.
    bool run() const
    {
        bool all = true;
        for (const std::string& budget : o_.budgets) {
            for (const std::string& policy : o_.policies) {
                try {
                    measure(policy, std::atoi(budget.c_str()));
                } catch (const Error& error) {
                    std::printf("{\"policy\":\"%s\",\"budget\":%s,\"error\":\"%s\"}\n", policy.c_str(),
                                budget.c_str(), escaped(error.what()).c_str());
                    all = false;
                }
                std::fflush(stdout);
            }
        }
        return all;
    }

private:
    static std::string escaped(const std::string& text)
    {
        std::string out;
        for (const char c : text)
            out += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '\'' : c;
        return out;
    }

    std::vector<double> read(Session& session) const
    {
        std::vector<double> speeds;
        for (size_t from = 0; from < tokens_.size(); from += static_cast<size_t>(o_.window)) {
            const size_t count = std::min(tokens_.size() - from, static_cast<size_t>(o_.window));
            const double start = now();
            session.feed({tokens_.data() + from, count});
            session.finish();
            session.logits(); // waits for the device
            speeds.push_back(static_cast<double>(count) / (now() - start));
        }
        return speeds;
    }

    double generate(Session& session, int32_t tokens, uint64_t& ids) const
    {
        const double start = now();
        session.generate({.max_tokens = tokens,
                          .stop = {},
                          .token = [&](TokenId id) { return ids = mixed(ids, id), true; },
                          .is_end = {}});
        session.logits();
        return (now() - start) / tokens;
    }

    void measure(const std::string& policy, int32_t budget) const
    {
        SessionOptions options;
        options.policy = PolicySpec::parse(policy);
        options.budget = budget;
        options.chunk = o_.chunk;
        options.rows_at_once = o_.rows;
        Session session(model_, options);
        read(session);
        const double start = now();
        const std::vector<double> windows = read(session);
        const double prefill = static_cast<double>(tokens_.size()) / (now() - start);
        uint64_t ids = 14695981039346656037u;
        generate(session, 8, ids); // warms up
        const double decode = generate(session, o_.decode, ids);
        std::string windows_text;
        for (const double speed : windows)
            windows_text += (windows_text.empty() ? "" : ",") + std::to_string(static_cast<int64_t>(speed));
        std::printf(
            "{\"bench\":\"speed\",\"device\":\"%s\",\"target\":\"%s\",\"policy\":\"%s\",\"budget\":%d,"
            "\"chunk\":%d,\"rows\":%d,\"tokens\":%lld,\"prefill_tokens_per_second\":%.2f,"
            "\"prefill_flops_per_token\":%.0f,\"decode_tokens_per_second\":%.3f,"
            "\"decode_bytes_per_token\":%.0f,\"scratch_bytes\":%llu,\"ids\":\"%016llx\",\"windows\":[%s]}\n",
            model_->backend().name().c_str(), model_->backend().simd_target().c_str(), policy.c_str(), budget,
            o_.chunk, o_.rows, static_cast<long long>(o_.tokens), prefill,
            bench::prefill_operations(*model_, budget, o_.chunk), 1 / decode, bench::decode_bytes(*model_, budget),
            static_cast<unsigned long long>(model_->backend().scratch_bytes()),
            static_cast<unsigned long long>(ids), windows_text.c_str());
    }

    Options o_;
    std::shared_ptr<const Model> model_;
    std::vector<TokenId> tokens_;
};

} // namespace

int main(int argc, char** argv)
try {
    return Speeds(parse(argc, argv)).run() ? 0 : 1;
} catch (const Error& error) {
    std::fprintf(stderr, "speed-bench: %s\n", error.what());
    return static_cast<int>(error.kind());
}
