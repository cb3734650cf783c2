#include "engine/encoder/cross_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "engine/encoder/encoder_batches.h"
#include "engine/encoder/encoder_change.h"
#include "engine/model/config/limits.h"
#include "engine/model/files/mapped_file.h"
#include "engine/model/files/refusal.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr int32_t least_positions = 8; // of which a quarter, less one, is one token
constexpr int32_t longest_row =
    CrossEncoder::question_tokens + CrossEncoder::sentence_tokens + CrossEncoder::before_tokens + 4;

ScoredChange read_change(const BertConfig& config, const BertTensors& tensors, const std::filesystem::path& path)
{
    const auto file = MappedFile::open(path, limits::file_bytes, ErrorCode::ModelS1);
    if (config.positions < least_positions)
        Refusal(file->name())
            .fail(ErrorCode::ModelS9, Text("the encoder reads only {0} tokens at once", config.positions),
                  Text("install the program again"));
    ScoredChange change = scored_change(tensors, config.width, file);
    file->check_unchanged();
    return change;
}

} // namespace

CrossEncoder::CrossEncoder(const BertConfig& config, const BertTensors& tensors,
                           const std::filesystem::path& change, const WordPiece& tokenizer,
                           kernels::Backend& backend)
    : CrossEncoder(config, read_change(config, tensors, change), tokenizer, backend)
{
}

CrossEncoder::CrossEncoder(const BertConfig& config, ScoredChange change, const WordPiece& tokenizer,
                           kernels::Backend& backend)
    : config_(config), tokenizer_(tokenizer), tensors_(std::move(change.tensors)), score_(std::move(change.score)),
      model_(config, tensors_, backend, encoder_batch_tokens + longest_row)
{
}

std::vector<TokenId> CrossEncoder::first_tokens(std::string_view text, int32_t most) const
{
    return tokenizer_.encode(text, std::min(most, config_.positions / 4 - 1) + 2);
}

std::vector<TokenId> CrossEncoder::last_tokens(std::string_view text, int32_t most) const
{
    constexpr int32_t looked_at = 4096;
    std::vector<TokenId> ids = tokenizer_.encode(text, looked_at);
    const auto kept = static_cast<std::ptrdiff_t>(std::min(most, config_.positions / 4 - 1));
    const std::ptrdiff_t left_out = std::max(std::ssize(ids) - 2 - kept, std::ptrdiff_t{0});
    ids.erase(ids.begin() + 1, ids.begin() + 1 + left_out);
    return ids;
}

std::vector<float> CrossEncoder::scores(std::string_view question, std::span<const SentenceInPlace> sentences,
                                        const std::stop_token& stop)
{
    const std::vector<TokenId> asked = first_tokens(question, question_tokens);
    const auto ids_of = [&](size_t i) {
        std::vector<TokenId> ids = asked;
        for (const auto& part :
             {first_tokens(sentences[i].text, sentence_tokens), last_tokens(sentences[i].before, before_tokens)})
            ids.insert(ids.end(), part.begin() + 1, part.end());
        return ids;
    };
    std::vector<float> scores;
    scores.reserve(sentences.size());
    const auto take = [&](std::span<const float> states) {
        const auto score =
            static_cast<float>(std::inner_product(score_.begin(), score_.end(), states.begin(), 0.0));
        if (!std::isfinite(score))
            throw Error(ErrorKind::Failed, ErrorCode::ModelG15, Text("sentence encoder"),
                        Text("a sentence has no score: its numbers are not finite"),
                        Text("install the program again"));
        scores.push_back(score);
    };
    if (!run_in_batches(model_, sentences.size(), static_cast<size_t>(config_.width), ids_of, take, stop))
        return {};
    return scores;
}

} // namespace palimpsest::engine
