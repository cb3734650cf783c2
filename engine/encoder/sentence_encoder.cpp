#include "engine/encoder/sentence_encoder.h"

#include <cmath>
#include <utility>

#include "engine/encoder/encoder_batches.h"
#include "engine/encoder/encoder_change.h"
#include "engine/model/config/limits.h"
#include "engine/model/files/content_hash.h"
#include "engine/model/files/mapped_file.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

// Appends the mean of the rows of `states`, [tokens, width], divided by its length. The sum has its direction.
void append_mean_direction(std::span<const float> states, size_t width, std::vector<float>& out)
{
    std::vector<double> sum(width);
    for (size_t row = 0; row < states.size(); row += width)
        for (size_t i = 0; i < width; ++i)
            sum[i] += static_cast<double>(states[row + i]);
    double squares = 0;
    for (const double x : sum)
        squares += x * x;
    const double length = std::sqrt(squares);
    if (!std::isfinite(length) || length == 0)
        throw Error(ErrorKind::Failed, ErrorCode::ModelG15, Text("sentence encoder"),
                    Text("a text has no embedding: its numbers are not finite, or all 0"),
                    Text("download the encoder again or use another one"));
    for (const double x : sum)
        out.push_back(static_cast<float>(x / length));
}

} // namespace

std::unique_ptr<SentenceEncoder> SentenceEncoder::open(const std::filesystem::path& folder,
                                                       kernels::Backend& backend)
{
    return std::unique_ptr<SentenceEncoder>(new SentenceEncoder(open_encoder_folder(folder), backend));
}

SentenceEncoder::SentenceEncoder(EncoderFolder folder, kernels::Backend& backend)
    : backend_(backend), folder_(std::move(folder)), identity_(folder_.identity),
      tokenizer_(std::move(folder_.vocabulary)), model_(model_with(folder_.tensors))
{
}

std::unique_ptr<BertModel> SentenceEncoder::model_with(const BertTensors& tensors) const
{
    return std::make_unique<BertModel>(folder_.config, tensors, backend_,
                                       encoder_batch_tokens + folder_.max_tokens);
}

void SentenceEncoder::change(const std::filesystem::path& change)
{
    const auto file = MappedFile::open(change, limits::file_bytes, ErrorCode::ModelS1);
    BertTensors tensors = changed(folder_.tensors, file);
    ContentHash hash;
    hash.add(std::as_bytes(std::span(identity_)));
    hash.add(file->bytes());
    std::string identity = hash.hex();
    file->check_unchanged();
    model_ = model_with(tensors);
    folder_.tensors = std::move(tensors);
    identity_ = std::move(identity);
}

std::vector<float> SentenceEncoder::encode(std::span<const std::string_view> texts, const std::stop_token& stop)
{
    std::vector<float> out;
    const auto columns = static_cast<size_t>(width());
    out.reserve(texts.size() * columns);
    const auto ids_of = [&](size_t i) { return tokenizer_.encode(texts[i], max_tokens()); };
    const auto take = [&](std::span<const float> states) { append_mean_direction(states, columns, out); };
    if (!run_in_batches(*model_, texts.size(), columns, ids_of, take, stop)) return {};
    return out;
}

std::unique_ptr<CrossEncoder> SentenceEncoder::cross_encoder(const std::filesystem::path& change) const
{
    return std::make_unique<CrossEncoder>(folder_.config, folder_.tensors, change, tokenizer_, backend_);
}

} // namespace palimpsest::engine
