#include "engine/encoder/encoder_folder.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/encoder/sentence_settings.h"
#include "engine/encoder/word_piece_file.h"
#include "engine/model/config/limits.h"
#include "engine/model/files/content_hash.h"
#include "engine/model/files/folder_file.h"

namespace palimpsest::engine {
namespace {

namespace fs = std::filesystem;

// Bounds the memory of a forward pass, whatever a file claims; published encoders have 512 positions.
constexpr int32_t most_tokens = 8192;

class EncoderFolderReader {
public:
    explicit EncoderFolderReader(const fs::path& folder) : path_(folder) {}

    EncoderFolder read()
    {
        out_.config = read_config();
        out_.max_tokens = std::min(out_.config.positions, most_tokens);
        read_tokenizer();
        read_settings();
        check_pooling_of_folder();
        const auto weights = open_folder_file(path_, "model.safetensors", limits::file_bytes, ErrorCode::ModelS1);
        out_.tensors = take_bert_tensors(out_.config, weights);
        add(weights->bytes().first(out_.tensors.header_bytes));
        for (const auto& [name, tensor] : out_.tensors.tensors)
            hash_.add_sample({tensor.data, tensor.bytes});
        out_.identity = hash_.hex();
        files_.push_back(weights);
        for (const auto& file : files_)
            file->check_unchanged();
        return std::move(out_);
    }

private:
    // The length is hashed as well, so that bytes cannot move to the next part unnoticed.
    void add(std::span<const std::byte> bytes)
    {
        hash_.add(uint64_t{bytes.size()});
        hash_.add(bytes);
    }

    const MappedFile& keep(std::shared_ptr<MappedFile> file)
    {
        add(file->bytes());
        files_.push_back(std::move(file));
        return *files_.back();
    }

    BertConfig read_config()
    {
        const auto& file = keep(open_folder_file(path_, "config.json", limits::config_bytes, ErrorCode::ModelC1));
        return parse_bert_config(file.text(), Refusal(file.name()));
    }

    void read_tokenizer()
    {
        const auto& file =
            keep(open_folder_file(path_, "tokenizer.json", limits::tokenizer_bytes, ErrorCode::ModelT1));
        out_.vocabulary =
            read_word_piece_file(file.text(), static_cast<uint64_t>(out_.config.vocabulary), Refusal(file.name()));
    }

    void read_settings()
    {
        auto found = find_folder_file(path_, "sentence_bert_config.json", limits::config_bytes, ErrorCode::ModelC1);
        if (!found) return add({});
        const MappedFile& file = keep(std::move(found));
        const Refusal refuse(file.name());
        const SentenceSettings settings = parse_sentence_settings(file.text(), refuse);
        if (settings.longest) out_.max_tokens = std::min(out_.max_tokens, *settings.longest);
        if (settings.lowercases && !out_.vocabulary.normalization.lowercase)
            refuse.fail(ErrorCode::ModelC6, Text("{0} is not supported", in_quotes("do_lower_case")),
                        Refusal::other_model());
    }

    void check_pooling_of_folder()
    {
        const auto file =
            find_folder_file(path_ / "1_Pooling", "config.json", limits::config_bytes, ErrorCode::ModelC1);
        if (file) check_pooling(file->text(), Refusal(file->name()));
    }

    fs::path path_;
    EncoderFolder out_;
    ContentHash hash_;
    std::vector<std::shared_ptr<MappedFile>> files_;
};

} // namespace

EncoderFolder open_encoder_folder(const fs::path& folder)
{
    return EncoderFolderReader(folder).read();
}

} // namespace palimpsest::engine
