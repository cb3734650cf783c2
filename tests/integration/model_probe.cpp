// Runs a model file for scripts that compare it with other programs (real_models.py,
// reference_vocabularies_test.py):
//   model-probe logits MODEL IDS OUT COMPUTE     writes the logits after every id as little-endian f32,
//                                                [ids, vocabulary]
//   model-probe greedy MODEL IDS COUNT COMPUTE   prints the most likely continuation, one id a line
//   model-probe encode VOCABULARY                reads one JSON value a line, a string or {"hex": "..."} for bytes
//                                                that are not UTF-8, and prints the ids of each as a JSON array
// IDS is a file of ids separated by white space, COMPUTE is f32 or auto as for --compute. The cache is f32 and
// nothing is evicted. VOCABULARY is a file or folder that engine/model/files/vocabulary_file.h opens; each text is
// a stream of its own, without BOS.

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/model/files/vocabulary_file.h"
#include "engine/session/session.h"
#include "engine/text/document_encoder.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

std::shared_ptr<const Model> load(const char* path, std::string_view compute)
{
    if (compute != "f32" && compute != "auto") throw std::runtime_error("COMPUTE is f32 or auto");
    return Model::load(path, kernels::open_backend(
                                 {.device = "cpu", .threads = 0, .simd = "", .exact_products = compute == "f32"}));
}

std::vector<TokenId> read_ids(const char* path)
{
    std::ifstream file(path);
    return {std::istream_iterator<TokenId>(file), {}};
}

SessionOptions unevicted()
{
    SessionOptions options;
    options.policy = {"full", {}};
    options.chunk = 64;
    options.kv_type = kernels::DType::F32;
    options.sampler.temperature = 0;
    return options;
}

void write_logits(const char* model, const char* ids, const char* out, std::string_view compute)
{
    Session session(load(model, compute), unevicted());
    std::ofstream file(out, std::ios::binary);
    for (const TokenId id : read_ids(ids)) {
        session.feed(std::span(&id, 1));
        const std::vector<float>& logits = session.logits();
        file.write(reinterpret_cast<const char*>(logits.data()),
                   static_cast<std::streamsize>(logits.size() * sizeof(float)));
    }
    if (!file.flush()) throw std::runtime_error(std::string(out) + " cannot be written");
}

void print_greedy(const char* model, const char* ids, int count, std::string_view compute)
{
    Session session(load(model, compute), unevicted());
    session.feed(read_ids(ids));
    GenerateOptions options;
    options.max_tokens = count;
    options.is_end = [](TokenId) { return false; };
    for (const TokenId id : session.generate(options).tokens)
        std::cout << id << '\n';
}

std::string text_of(const nlohmann::json& line)
{
    if (line.is_string()) return line.get<std::string>();
    const auto hex = line.at("hex").get<std::string>();
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        unsigned value = 0;
        std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
        bytes += static_cast<char>(value);
    }
    return bytes;
}

void print_encoded(const char* path)
{
    std::vector<Text> warnings;
    const Vocabulary vocabulary = open_vocabulary(path, warnings);
    for (const Text& warning : warnings)
        std::fprintf(stderr, "%s\n", warning.english().c_str());
    if (vocabulary.kind == Vocabulary::Kind::None)
        throw std::runtime_error(std::string(path) + " has no tokenizer");
    const Tokenizer tokenizer(vocabulary);
    for (std::string line; std::getline(std::cin, line);) {
        DocumentEncoder encoder(tokenizer, true);
        std::vector<EncodedToken> tokens;
        encoder.push(text_of(nlohmann::json::parse(line)), tokens);
        encoder.finish(tokens);
        nlohmann::json ids = nlohmann::json::array();
        for (const EncodedToken& token : tokens)
            ids.push_back(token.id);
        std::cout << ids << '\n';
    }
}

} // namespace

int main(int argc, char** argv)
try {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "logits" && argc == 6)
        write_logits(argv[2], argv[3], argv[4], argv[5]);
    else if (what == "greedy" && argc == 6)
        print_greedy(argv[2], argv[3], std::stoi(argv[4]), argv[5]);
    else if (what == "encode" && argc == 3)
        print_encoded(argv[2]);
    else
        throw std::runtime_error("usage: model-probe logits|greedy|encode MODEL ...");
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "model-probe: %s\n", error.what());
    return 1;
}
