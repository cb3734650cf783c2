// A model file seen from outside, for tests/integration/real_models.py:
//   model-probe logits MODEL IDS OUT     writes the logits after every id as little-endian f32, [ids, vocabulary]
//   model-probe greedy MODEL IDS COUNT   prints the most likely continuation, one id a line
//   model-probe encode MODEL STRINGS     STRINGS is a JSON array of strings; prints a JSON array of arrays of ids
// IDS is a file of ids separated by white space. The cache is f32 and nothing is evicted.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/session/session.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

std::shared_ptr<const Model> load(const char* path)
{
    return Model::load(path, kernels::open_backend({.device = "cpu", .threads = 0, .simd = ""}));
}

std::vector<TokenId> read_ids(const char* path)
{
    std::ifstream file(path);
    return {std::istream_iterator<TokenId>(file), {}};
}

SessionOptions exact()
{
    SessionOptions options;
    options.policy = {"full", {}};
    options.chunk = 64;
    options.kv_type = kernels::DType::F32;
    options.sampler.temperature = 0;
    return options;
}

void write_logits(const char* model, const char* ids, const char* out)
{
    Session session(load(model), exact());
    std::ofstream file(out, std::ios::binary);
    for (const TokenId id : read_ids(ids)) {
        session.feed(std::span(&id, 1));
        const std::vector<float>& logits = session.logits();
        file.write(reinterpret_cast<const char*>(logits.data()),
                   static_cast<std::streamsize>(logits.size() * sizeof(float)));
    }
    if (!file.flush()) throw std::runtime_error(std::string(out) + " cannot be written");
}

void print_greedy(const char* model, const char* ids, int count)
{
    Session session(load(model), exact());
    session.feed(read_ids(ids));
    GenerateOptions options;
    options.max_tokens = count;
    options.is_end = [](TokenId) { return false; };
    for (const TokenId id : session.generate(options).tokens)
        std::cout << id << '\n';
}

void print_encoded(const char* path, const char* strings)
{
    const auto model = load(path);
    if (!model->tokenizer()) throw std::runtime_error(std::string(path) + " has no tokenizer");
    std::ifstream file(strings);
    nlohmann::json encoded = nlohmann::json::array();
    for (const auto& text : nlohmann::json::parse(file))
        encoded.push_back(model->tokenizer()->encode(text.get<std::string>(), true));
    std::cout << encoded << '\n';
}

} // namespace

int main(int argc, char** argv)
try {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "logits" && argc == 5)
        write_logits(argv[2], argv[3], argv[4]);
    else if (what == "greedy" && argc == 5)
        print_greedy(argv[2], argv[3], std::stoi(argv[4]));
    else if (what == "encode" && argc == 4)
        print_encoded(argv[2], argv[3]);
    else
        throw std::runtime_error("usage: model-probe logits|greedy|encode MODEL ...");
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "model-probe: %s\n", error.what());
    return 1;
}
