// Reads the files that tests/fixtures/text/make_fixtures.py wrote.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/subwords/vocabulary.h"
#include "tests/support/project_folders.h"

namespace palimpsest::engine::fixtures {

inline std::string read(const std::string& name)
{
    std::ifstream file(tests::source_file("tests/fixtures/text/") + name, std::ios::binary);
    if (!file) throw std::runtime_error("no fixture " + name);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct EncodeCase {
    std::string text, decoded;
    std::vector<TokenId> first, later; // ids at the start of a stream, and later in it
};

inline std::vector<EncodeCase> encode_cases(const std::string& model)
{
    const auto json = nlohmann::json::parse(read(model + ".json"));
    std::vector<EncodeCase> cases;
    for (const auto& c : json["cases"])
        cases.push_back({c["text"], c["decoded"], c["first"], c["later"]});
    return cases;
}

inline Vocabulary model_vocabulary(const std::string& model)
{
    Vocabulary vocabulary;
    vocabulary.kind = Vocabulary::Kind::SpmModel;
    vocabulary.model = read(model + ".model");
    return vocabulary;
}

// As a GGUF file stores it.
inline Vocabulary piece_vocabulary(const std::string& model)
{
    const auto json = nlohmann::json::parse(read(model + ".json"));
    Vocabulary vocabulary;
    vocabulary.kind = Vocabulary::Kind::SpmPieces;
    vocabulary.pieces = json["pieces"].get<std::vector<std::string>>();
    vocabulary.scores = json["scores"].get<std::vector<float>>();
    vocabulary.types = json["types"].get<std::vector<int32_t>>();
    vocabulary.unknown = 0;
    vocabulary.bos = 1;
    vocabulary.eos = 2;
    return vocabulary;
}

// A vocabulary like the shipped model's: with turn markers, a template and the "books-1" mapping.
inline Vocabulary default_vocabulary()
{
    Vocabulary vocabulary = piece_vocabulary("palimpsest");
    vocabulary.eot = 5;
    vocabulary.add_bos = true;
    vocabulary.normalizer = "books-1";
    vocabulary.chat_template =
        "{% for m in messages %}{% if m['role'] == 'user' %}<|user|>{{ m['content'] }}<|end|>{% else "
        "%}<|assistant|>{{ "
        "m['content'] }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
    return vocabulary;
}

// Cuts `text` at random places into pieces of up to `longest` bytes.
inline std::vector<std::string_view> random_cuts(std::string_view text, size_t longest, std::mt19937& random)
{
    std::vector<std::string_view> pieces;
    while (!text.empty()) {
        const size_t size = std::min<size_t>(text.size(), 1 + random() % longest);
        pieces.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return pieces;
}

} // namespace palimpsest::engine::fixtures
