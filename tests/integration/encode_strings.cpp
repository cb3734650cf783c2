// encode-strings VOCABULARY: reads one JSON value a line from standard input and writes the ids of each as a JSON
// list: a string, or {"hex": "..."} for bytes that are not UTF-8. For scripts that compare ids with other programs'.
//
// VOCABULARY is what engine/model/vocabulary_file.h opens. Each text is a stream of its own, without BOS.

#include <charconv>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/model/vocabulary_file.h"
#include "engine/text/document_encoder.h"
#include "engine/text/tokenizer.h"
#include "kernels/base/error.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

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

} // namespace

int main(int argc, char** argv)
try {
    if (argc != 2) {
        std::fputs("usage: encode-strings VOCABULARY\n", stderr);
        return 2;
    }
    std::vector<std::string> warnings;
    const Vocabulary vocabulary = open_vocabulary(argv[1], warnings);
    for (const std::string& warning : warnings)
        std::fprintf(stderr, "%s\n", warning.c_str());
    if (vocabulary.kind == Vocabulary::Kind::None) return 1;
    const Tokenizer tokenizer(vocabulary);
    std::string line;
    while (std::getline(std::cin, line)) {
        DocumentEncoder encoder(tokenizer, true);
        std::vector<EncodedToken> tokens;
        encoder.push(text_of(nlohmann::json::parse(line)), tokens);
        encoder.finish(tokens);
        nlohmann::json ids = nlohmann::json::array();
        for (const EncodedToken& token : tokens)
            ids.push_back(token.id);
        std::cout << ids << '\n';
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
