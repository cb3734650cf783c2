#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/hf_tokenizer.h"
#include "engine/model/spm_model_check.h"
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
    std::vector<std::string> warnings;
    const Vocabulary vocabulary = hf_vocabulary(files, config, warnings);
    if (vocabulary.bos >= 20 || vocabulary.eos >= 20) __builtin_trap();
}

// What passed our check must make a tokenizer, or be refused by it.
void use_model(std::string_view bytes)
{
    check_spm_model(bytes, Refusal("tokenizer.model"));
    Vocabulary vocabulary;
    vocabulary.kind = Vocabulary::Kind::SpmModel;
    vocabulary.model = bytes;
    const Tokenizer tokenizer(vocabulary);
    for (const bool first : {true, false})
        tokenizer.encode("A palimpsest, na\xC3\xAFve \xEF\xAC\x81t\n\xE2\x96\x81\xFF!", first);
}

} // namespace

// 'm' and a tokenizer.model, or else a tokenizer_config.json behind any first byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        if (data[0] == 'm')
            use_model(rest);
        else
            read_config(rest);
    } catch (const Error&) {
    }
    return 0;
}
