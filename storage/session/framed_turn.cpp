#include "storage/session/framed_turn.h"

namespace palimpsest::storage {
namespace {

void add(std::vector<engine::TokenId>& ids, const std::vector<engine::TokenId>& more)
{
    ids.insert(ids.end(), more.begin(), more.end());
}

} // namespace

FramedTurn frame_turn(const engine::ChatTemplate& chat_template, const SessionStream& stream,
                      const std::string& message, std::span<const QuotedPassage> passages)
{
    const bool opens_turn = !stream.empty() && !stream.ends_with_document();
    FramedTurn turn;
    if (stream.empty()) add(turn.ids, chat_template.open_user());
    if (opens_turn) add(turn.ids, chat_template.close_assistant_open_user());
    for (const QuotedPassage& passage : passages) {
        add(turn.ids, chat_template.passage(passage.place, opens_turn && turn.passages_at.empty()));
        turn.passages_at.push_back(turn.ids.size());
        add(turn.ids, passage.ids);
    }
    if (!passages.empty() || stream.ends_with_document())
        add(turn.ids, chat_template.question(message));
    else
        add(turn.ids, chat_template.message(message, stream.empty()));
    add(turn.ids, chat_template.close_user_open_assistant());
    return turn;
}

} // namespace palimpsest::storage
