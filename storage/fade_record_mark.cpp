#include "storage/fade_record_mark.h"

namespace palimpsest::storage {

FadeRecordMark fade_record_mark(Database& database, int64_t session)
{
    return database.guarded([&] {
        auto query = database.statement(
            "SELECT idx, tokens_seen, hash FROM fading WHERE session = ? ORDER BY idx DESC LIMIT 1");
        query.bind(1, session);
        FadeRecordMark mark{.session = session};
        if (!query.executeStep()) return mark;
        mark.last_row = query.getColumn(0).getInt64();
        mark.tokens_seen = query.getColumn(1).getInt64();
        mark.hash = query.getColumn(2).getInt64();
        return mark;
    });
}

} // namespace palimpsest::storage
