#include "engine/model/files/vocabulary_file.h"

#include "engine/model/config/limits.h"
#include "engine/model/files/gguf_file.h"
#include "engine/model/files/gguf_vocabulary.h"
#include "engine/model/files/hf_tokenizer.h"
#include "engine/model/files/mapped_file.h"

namespace palimpsest::engine {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<MappedFile> open_if_present(const fs::path& path, uint64_t limit)
{
    std::error_code ignored;
    return fs::exists(path, ignored) ? MappedFile::open(path, limit, ErrorCode::ModelT1) : nullptr;
}

// The file may have no tensors, so the number of tokens stands in for the rows of the embedding.
Vocabulary of_gguf(const fs::path& path, std::vector<Text>& warnings)
{
    const auto file = MappedFile::open(path, limits::file_bytes, ErrorCode::ModelG1);
    const Refusal refuse(file->name());
    const GgufFile gguf = GgufFile::parse(file->bytes(), refuse);
    const uint64_t rows = gguf.has("tokenizer.ggml.tokens")
                              ? gguf.string_array("tokenizer.ggml.tokens", limits::vocabulary).size()
                              : 0;
    return gguf_vocabulary(gguf, rows, refuse, warnings);
}

Vocabulary of_folder(const fs::path& folder, const fs::path& tokenizer_json, std::vector<Text>& warnings)
{
    HfTokenizerFiles files;
    files.tokenizer_json = open_if_present(tokenizer_json, limits::tokenizer_bytes);
    files.model = open_if_present(folder / "tokenizer.model", limits::tokenizer_bytes);
    files.config = open_if_present(folder / "tokenizer_config.json", limits::tokenizer_bytes);
    files.chat_template = open_if_present(folder / "chat_template.jinja", limits::chat_template_bytes);
    files.generation_config = open_if_present(folder / "generation_config.json", limits::config_bytes);
    HfConfig any_size;
    any_size.model.vocabulary = static_cast<int32_t>(limits::vocabulary);
    return hf_vocabulary(files, any_size, warnings);
}

} // namespace

Vocabulary open_vocabulary(const fs::path& path, std::vector<Text>& warnings)
{
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return of_folder(path, path / "tokenizer.json", warnings);
    if (path.extension() == ".json") return of_folder(path.parent_path(), path, warnings);
    return of_gguf(path, warnings);
}

} // namespace palimpsest::engine
