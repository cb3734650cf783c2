#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/model/files/hf_folder.h"
#include "kernels/base/error.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;

namespace {

// The configuration that the files of corpus/safetensors fit.
constexpr const char* config = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 8, "num_hidden_layers": 1,
"num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 8, "vocab_size": 3,
"max_position_embeddings": 16, "rms_norm_eps": 1e-5, "tie_word_embeddings": true})";

} // namespace

// Reads the bytes as a model.safetensors file beside a fixed config.json.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    try {
        engine::HfFiles files;
        files.folder = "fuzz";
        files.config = test::in_memory(test::Bytes(config), "config.json");
        files.weights["model.safetensors"] =
            engine::MappedFile::copy(std::as_bytes(std::span(data, size)), "model.safetensors");
        test::touch(engine::assemble_hf_model(files));
    } catch (const Error&) {
    }
    return 0;
}
