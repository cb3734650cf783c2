#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/files/gguf_vocabulary.h"
#include "engine/model/files/hf_tokenizer.h"
#include "engine/model/files/spm_model_check.h"
#include "engine/model/files/tokenizer_json.h"
#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer.h"
#include "kernels/base/error.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

void read_config(std::string_view text)
{
    HfTokenizerFiles files;
    files.model = test::in_memory(test::tiny_spm_model(), "tokenizer.model");
    files.config = test::in_memory(test::Bytes(text), "tokenizer_config.json");
    HfConfig config;
    config.model.vocabulary = 20;
    std::vector<Text> warnings;
    const Vocabulary vocabulary = hf_vocabulary(files, config, warnings);
    if (vocabulary.bos >= 20 || vocabulary.eos >= 20) __builtin_trap();
}

// A vocabulary that passed the readers must make a tokenizer or be refused by it.
void use(const Vocabulary& vocabulary)
{
    const Tokenizer tokenizer(vocabulary);
    constexpr std::string_view text = "A palimpsest, na\xC3\xAFve \xEF\xAC\x81t 1234\n\xE2\x96\x81\xFF!  <|x|>'s";
    for (const bool first : {true, false}) {
        IncrementalDetokenizer detokenizer(tokenizer, first);
        for (const TokenId id : tokenizer.encode(text, first)) {
            if (id < 0 || id >= tokenizer.size()) __builtin_trap();
            if (tokenizer.is_control(id)) __builtin_trap();
            detokenizer.push(id);
        }
        detokenizer.finish();
    }
}

void use_model(std::string_view bytes)
{
    check_spm_model(bytes, Refusal("tokenizer.model"));
    Vocabulary vocabulary;
    vocabulary.kind = Vocabulary::Kind::SpmModel;
    vocabulary.model = bytes;
    use(vocabulary);
}

void use_json(std::string_view bytes)
{
    use(read_tokenizer_json(bytes, 4096, Refusal("tokenizer.json")).vocabulary);
}

void use_gguf(std::string_view bytes)
{
    const Refusal refuse("fuzz.gguf");
    const auto file = GgufFile::parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, refuse);
    const uint64_t rows = file.string_array("tokenizer.ggml.tokens", 4096).size();
    std::vector<Text> warnings;
    const Vocabulary vocabulary = gguf_vocabulary(file, rows, refuse, warnings);
    if (vocabulary.kind != Vocabulary::Kind::None) use(vocabulary);
}

} // namespace

// The first byte selects the format of the rest: 'm' tokenizer.model, 'j' tokenizer.json, 'g' GGUF, any other
// tokenizer_config.json.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        switch (data[0]) {
        case 'm':
            use_model(rest);
            break;
        case 'j':
            use_json(rest);
            break;
        case 'g':
            use_gguf(rest);
            break;
        default:
            read_config(rest);
        }
    } catch (const Error&) {
    } catch (const UnsupportedTokenizer&) {
    }
    return 0;
}
