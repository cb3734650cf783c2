// Size, time and cost of checkpoints in each form, as tab-separated lines.
//
//   snapshot-bench MODEL [--text FILE] [--budget 2048] [--read 16384] [--rounds 1] [--measured 512] [--repeats 5]
//
// Reads tokens (of the text, else random ones), then per form takes the state, stores it in a database in the
// current folder, loads and restores it, `repeats` times; prints medians. `hashing` is the time of the hashes of
// the state's blocks, over that of taking and storing the state. With a text also two perplexities per form.
// "perplexity": a session is restored from a checkpoint, and reads the next `measured` tokens; each further round
// reads `read` tokens more and measures again. "again": a session that was saved and restored before every round
// reads the `measured` tokens after the last one.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "kernels/backend.h"
#include "storage/conversations.h"
#include "storage/packing.h"
#include "storage/snapshots.h"
#include "tests/bench/median.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::storage;
using palimpsest::bench::median;

namespace {

constexpr SnapshotForm forms[] = {SnapshotForm::Exact, SnapshotForm::Q8, SnapshotForm::Q4};

struct Options {
    std::string model, text;
    int32_t budget = 2048;
    size_t read = 16384, rounds = 1, measured = 512, repeats = 5;
};

Options parsed(int count, char** arguments)
{
    Options options;
    const std::map<std::string, size_t*> numbers{{"--read", &options.read},
                                                 {"--rounds", &options.rounds},
                                                 {"--measured", &options.measured},
                                                 {"--repeats", &options.repeats}};
    for (int i = 1; i < count; ++i) {
        const std::string name = arguments[i];
        const auto value = [&] {
            if (++i == count) throw std::invalid_argument(name + " needs a value");
            return arguments[i];
        };
        if (name == "--text")
            options.text = value();
        else if (name == "--budget")
            options.budget = std::atoi(value());
        else if (const auto number = numbers.find(name); number != numbers.end())
            *number->second = static_cast<size_t>(std::atoll(value()));
        else
            options.model = name;
    }
    return options;
}

std::vector<TokenId> tokens_of(const Options& options, const Model& model)
{
    const size_t wanted = options.read * options.rounds + options.measured;
    std::vector<TokenId> ids;
    if (!options.text.empty()) {
        std::ostringstream text;
        text << std::ifstream(options.text, std::ios::binary).rdbuf();
        ids = model.tokenizer()->encode(text.str(), true);
        if (ids.size() < wanted) std::fprintf(stderr, "the text has %zu tokens\n", ids.size());
        ids.resize(std::min(ids.size(), wanted));
        return ids;
    }
    std::mt19937 random(1);
    for (size_t i = 0; i < wanted; ++i)
        ids.push_back(static_cast<TokenId>(random() % static_cast<uint32_t>(model.config().vocabulary)));
    return ids;
}

template<class Work>
double milliseconds(Work&& work)
{
    const auto before = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
}

SessionState state_of(Session& session, SnapshotForm form)
{
    return session.state(rounding_of(form, *session.options().kv_type, session.model().config().head_dim));
}

// Time of the hashes of a state's blocks, each right after the block was made, as in saving.
double hashing(const SessionState& state, SnapshotForm form)
{
    int64_t sum = 0; // printed, so that no hash can be left out
    double time = 0;
    encode(state, form, [&](const BlockName&, std::span<const std::byte> block) {
        const std::vector<std::byte> raw(block.begin(), block.end()), stored = pack(raw);
        time += milliseconds([&] { sum += hash64(stored); });
        const std::vector<std::byte> again(block.begin(), block.end());
        time += milliseconds([&] { sum += static_cast<int64_t>(hash128(again)[0]); });
    });
    std::fprintf(stderr, "hashes %llx\n", static_cast<unsigned long long>(sum));
    return time;
}

// Mean loss of the tokens, each given those before it, as the session reads on.
double loss(Session& session, std::span<const TokenId> tokens)
{
    double total = 0;
    FeedOptions feed;
    feed.loss = [&](uint64_t, TokenId, double nll) { total += nll; };
    session.feed(tokens, feed);
    session.logits(); // computes the last chunk
    return total / static_cast<double>(tokens.size());
}

class Bench {
public:
    explicit Bench(const Options& options)
        : options_(options),
          model_(Model::load(options.model, kernels::open_backend({.device = "cpu", .threads = 0, .simd = ""}))),
          tokens_(tokens_of(options, *model_)), session_(model_, session_options())
    {
    }

    void run()
    {
        std::printf("form\tbytes\ttake ms\tstore ms\tload ms\trestore ms\thashing\n");
        session_.feed(std::span(tokens_).first(options_.read));
        for (const SnapshotForm form : forms)
            measure_times(form);
        if (!options_.text.empty()) measure_losses();
    }

private:
    SessionOptions session_options() const
    {
        SessionOptions options;
        options.budget = options_.budget;
        return options;
    }

    void measure_times(SnapshotForm form)
    {
        std::vector<double> take, store, load, restore, hash;
        uint64_t bytes = 0;
        for (size_t i = 0; i < options_.repeats; ++i) {
            const std::filesystem::path file = "snapshot-bench.db";
            for (const char* end : {"", "-wal", "-shm"})
                std::filesystem::remove(file.string() + end);
            Database database(file, Database::Access::Write);
            Snapshots snapshots(database);
            const int64_t owner = Conversations(database).create({.name = "s", .options = "{}"});
            SessionState state;
            int64_t id = 0;
            take.push_back(milliseconds([&] { state = state_of(session_, form); }));
            store.push_back(milliseconds([&] { id = snapshots.save(owner, state, {}, form); }));
            hash.push_back(hashing(state, form) / (take.back() + store.back()));
            SessionState loaded;
            load.push_back(milliseconds([&] { loaded = snapshots.load(id); }));
            restore.push_back(milliseconds([&] { Session::restore(model_, loaded); }));
            bytes = snapshots.of(owner).front().bytes;
        }
        std::printf("%s\t%llu\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f %%\n", std::string(name_of(form)).c_str(),
                    static_cast<unsigned long long>(bytes), median(take), median(store), median(load),
                    median(restore), 100 * median(hash));
    }

    void measure_losses()
    {
        std::map<SnapshotForm, double> once;
        std::map<SnapshotForm, std::unique_ptr<Session>> again;
        for (const SnapshotForm form : forms)
            again[form] = Session::restore(model_, state_of(session_, form));
        for (size_t round = 0; round < options_.rounds; ++round) {
            const auto rest = std::span(tokens_).subspan((round + 1) * options_.read);
            if (rest.size() < options_.measured) break;
            for (const SnapshotForm form : forms) {
                const auto on = Session::restore(model_, state_of(session_, form));
                once[form] += loss(*on, rest.first(options_.measured)) / static_cast<double>(options_.rounds);
            }
            if (round + 1 == options_.rounds) break;
            session_.feed(rest.first(options_.read));
            for (auto& [form, session] : again) {
                session->feed(rest.first(options_.read));
                session = Session::restore(model_, state_of(*session, form));
            }
        }
        std::printf("form\tperplexity\tagain\n");
        const auto last = std::span(tokens_).subspan(options_.rounds * options_.read).first(options_.measured);
        for (const SnapshotForm form : forms)
            std::printf("%s\t%.4f\t%.4f\n", std::string(name_of(form)).c_str(), std::exp(once[form]),
                        std::exp(loss(*again[form], last)));
    }

    Options options_;
    std::shared_ptr<const Model> model_;
    std::vector<TokenId> tokens_;
    Session session_;
};

} // namespace

int main(int count, char** arguments)
try {
    const Options options = parsed(count, arguments);
    if (options.model.empty()) {
        std::fprintf(stderr, "usage: snapshot-bench MODEL [--text FILE] [--budget N] [--read N] [--rounds N] "
                             "[--measured N] [--repeats N]\n");
        return 2;
    }
    Bench(options).run();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
