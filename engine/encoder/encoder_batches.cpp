#include "engine/encoder/encoder_batches.h"

#include <iterator>
#include <utility>

namespace palimpsest::engine {
namespace {

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

} // namespace

bool run_in_batches(BertModel& model, size_t count, size_t width,
                    const std::function<std::vector<TokenId>(size_t)>& ids_of,
                    const std::function<void(std::span<const float>)>& take, const std::stop_token& stop)
{
    const StopScope scope(model, stop);
    TextBatch batch;
    for (size_t i = 0; i < count; ++i) {
        batch.add(ids_of(i));
        if (std::ssize(batch.ids) < encoder_batch_tokens && i + 1 < count) continue;
        std::span<const float> states = model.run(batch.ids, batch.lengths);
        if (stop.stop_requested()) return false;
        for (const int32_t length : batch.lengths) {
            take(states.first(static_cast<size_t>(length) * width));
            states = states.subspan(static_cast<size_t>(length) * width);
        }
        batch.clear();
    }
    return true;
}

} // namespace palimpsest::engine
