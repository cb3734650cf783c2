#include "engine/session/attention_trace.h"

#include <algorithm>
#include <map>

#include "engine/session/record_all_policy.h"
#include "engine/session/session.h"
#include "engine/session/session_setup.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

int64_t longest_list(const SessionState& state)
{
    size_t longest = 0;
    for (const ListAtRest& list : state.lists)
        longest = std::max(longest, list.tokens.size());
    return static_cast<int64_t>(longest);
}

// Copies a state with all accumulated attention reset to 0.
SessionState without_sums(const SessionState& before)
{
    SessionState state = before;
    for (ListAtRest& list : state.lists) {
        list.tokens.sum.assign(list.tokens.size(), 0);
        list.tokens.count.assign(list.tokens.size(), 0);
        list.tokens.moments.clear();
    }
    return state;
}

// Attention received per stream index, summed over lists.
using Received = std::map<uint32_t, double>;

Received operator-(Received a, const Received& b)
{
    for (const auto& [token, sum] : b)
        a[token] -= sum;
    return a;
}

// Attention that the tokens with stream indices below `tokens` have received so far in one layer.
Received received(const Selection& seen, uint64_t tokens)
{
    Received sums;
    for (const ListState& list : seen.lists)
        for (size_t rank = 0; rank < list.size() && list.stream[rank] < tokens; ++rank)
            sums[list.stream[rank]] += list.sum[rank];
    return sums;
}

} // namespace

std::vector<AttendedToken> attention_trace(const std::shared_ptr<const Model>& model, const SessionState& before,
                                           std::span<const TokenId> question, std::span<const TokenId> answer,
                                           std::stop_token stop)
{
    if (answer.empty() || before.tokens_seen == 0) return {};
    const int64_t rows = std::ssize(question) + std::ssize(answer) + std::ssize(before.pending);
    const int64_t room = longest_list(before) + rows;
    const int32_t context = model->config().context;
    if (room > context)
        throw Error(ErrorKind::Usage, ErrorCode::BudgetDoesNotFit, Text("turn of {0} tokens", rows),
                    Text("it does not fit the model's context beside what is kept, so what it attends to is not "
                         "shown"),
                    Text("use a smaller budget, or shorter answers"));
    SessionOptions options = options_of(before);
    if (!model->config().rope.long_factors.empty())
        options.reach = position_reach(model->config(), options, *policy_of(options, model->config()));
    options.budget = static_cast<int32_t>(room);
    options.pins = Pins();
    options.question_room = 0;
    options.chunk =
        static_cast<int32_t>(std::max({std::ssize(question), std::ssize(answer), std::ssize(before.pending) + 1}));
    const auto lists = static_cast<int64_t>(before.lists.size());
    SessionState state = without_sums(before);
    state.question_ids.clear();
    const SignalNeeds all_rows{.window = SignalNeeds::all};
    const auto session = Session::adopt(
        model, state, options, std::make_unique<RecordAllPolicy>(lists, static_cast<int32_t>(room), all_rows));

    const FeedOptions feed{.stop = std::move(stop), .progress = {}, .loss = {}};
    std::vector<Received> layers(static_cast<size_t>(model->config().layers));
    const uint64_t end_of_question = before.tokens_seen + before.pending.size() + question.size();
    session->set_observer(
        [&](const Selection& seen) { layers[static_cast<size_t>(seen.layer)] = received(seen, end_of_question); });
    if (!session->feed(question, feed) || !session->finish(feed)) return {};
    const std::vector<Received> by_question = layers;
    if (!session->feed(answer, feed) || !session->finish(feed)) return {};

    Received all;
    for (size_t l = 0; l < layers.size(); ++l)
        for (const auto& [token, sum] : layers[l] - by_question[l])
            all[token] += sum / (static_cast<double>(lists) * static_cast<double>(answer.size()));
    std::vector<AttendedToken> attended;
    for (const auto& [token, weight] : all)
        attended.push_back({token, weight});
    return attended;
}

} // namespace palimpsest::engine
