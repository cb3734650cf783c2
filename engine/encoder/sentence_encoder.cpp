#include "engine/encoder/sentence_encoder.h"

#include <cmath>
#include <utility>

#include "engine/encoder/encoder_change.h"
#include "engine/model/config/limits.h"
#include "engine/model/files/content_hash.h"
#include "engine/model/files/mapped_file.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

// A batch grows text by text until it has this many tokens.
constexpr int64_t batch_tokens = 512;

// Lets the model stop early for as long as this exists.
class StopScope {
public:
    StopScope(BertModel& model, std::stop_token stop) : model_(model) { model_.set_stop(std::move(stop)); }
    ~StopScope() { model_.set_stop({}); }
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

private:
    BertModel& model_;
};

struct TextBatch {
    std::vector<TokenId> ids;
    std::vector<int32_t> lengths;

    void add(const std::vector<TokenId>& text)
    {
        ids.insert(ids.end(), text.begin(), text.end());
        lengths.push_back(static_cast<int32_t>(text.size()));
    }
    void clear() { ids.clear(), lengths.clear(); }
};

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
    return std::make_unique<BertModel>(folder_.config, tensors, backend_, batch_tokens + folder_.max_tokens);
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
    const StopScope scope(*model_, stop);
    std::vector<float> out;
    out.reserve(texts.size() * static_cast<size_t>(width()));
    TextBatch batch;
    for (size_t i = 0; i < texts.size(); ++i) {
        batch.add(tokenizer_.encode(texts[i], max_tokens()));
        if (std::ssize(batch.ids) < batch_tokens && i + 1 < texts.size()) continue;
        const std::span<const float> states = model_->run(batch.ids, batch.lengths);
        if (stop.stop_requested()) return {};
        append_embeddings(states, batch.lengths, out);
        batch.clear();
    }
    return out;
}

void SentenceEncoder::append_embeddings(std::span<const float> states, std::span<const int32_t> lengths,
                                        std::vector<float>& out) const
{
    const auto columns = static_cast<size_t>(width());
    for (const int32_t length : lengths) {
        const size_t floats = static_cast<size_t>(length) * columns;
        append_mean_direction(states.first(floats), columns, out);
        states = states.subspan(floats);
    }
}

} // namespace palimpsest::engine
