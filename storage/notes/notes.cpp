#include "storage/notes/notes.h"

#include <array>

#include "storage/note_rows.h"

namespace palimpsest::storage {
namespace {

int64_t hash_of(const Note& note)
{
    const Stretch& about = note.about;
    const std::array<uint64_t, 7> numbers{about.first_token,
                                          about.end_token,
                                          about.first_byte,
                                          about.end_byte,
                                          static_cast<uint64_t>(about.section),
                                          static_cast<uint64_t>(note.origin),
                                          static_cast<uint64_t>(note.repeats)};
    return hash_of_note(numbers, note.text, note.refused);
}

Note note_of(SQLite::Statement& row)
{
    const auto number = [&](int column) { return static_cast<uint64_t>(row.getColumn(column).getInt64()); };
    return {.document = row.getColumn(0).getInt64(),
            .about = {.first_token = number(1),
                      .end_token = number(2),
                      .first_byte = number(3),
                      .end_byte = number(4),
                      .section = row.getColumn(5).getInt64()},
            .origin = row.getColumn(6).getInt() == 0 ? NoteOrigin::Written : NoteOrigin::Quoted,
            .repeats = row.getColumn(7).getInt() != 0,
            .text = row.getColumn(8).getString(),
            .refused = row.getColumn(9).getString(),
            .tokens = number(10),
            .seconds = row.getColumn(11).getDouble()};
}

#define PALIMPSEST_NOTE_COLUMNS                                                                                    \
    "document, first_token, end_token, first_byte, end_byte, section, origin, repeats, text, refused, tokens, "    \
    "seconds, hash"

struct ReadNotes {
    std::vector<Note> notes;
    size_t left_out = 0;
};

ReadNotes all_of(SQLite::Statement& query)
{
    ReadNotes read;
    while (query.executeStep()) {
        Note note = note_of(query);
        if (hash_of(note) == query.getColumn(12).getInt64())
            read.notes.push_back(std::move(note));
        else
            ++read.left_out;
    }
    return read;
}

ReadNotes of_session(Database& database, int64_t session)
{
    return database.guarded([&] {
        auto query = database.statement("SELECT " PALIMPSEST_NOTE_COLUMNS
                                        " FROM notes WHERE session = ? ORDER BY document, first_token");
        query.bind(1, session);
        return all_of(query);
    });
}

} // namespace

void Notes::put(int64_t session, const Note& note)
{
    db_.in_transaction([&] {
        auto insert = db_.statement("INSERT OR REPLACE INTO notes(session, " PALIMPSEST_NOTE_COLUMNS
                                    ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        insert.bind(1, session);
        insert.bind(2, note.document);
        insert.bind(3, static_cast<int64_t>(note.about.first_token));
        insert.bind(4, static_cast<int64_t>(note.about.end_token));
        insert.bind(5, static_cast<int64_t>(note.about.first_byte));
        insert.bind(6, static_cast<int64_t>(note.about.end_byte));
        insert.bind(7, note.about.section);
        insert.bind(8, static_cast<int>(note.origin));
        insert.bind(9, note.repeats ? 1 : 0);
        insert.bind(10, note.text);
        insert.bind(11, note.refused);
        insert.bind(12, static_cast<int64_t>(note.tokens));
        insert.bind(13, note.seconds);
        insert.bind(14, hash_of(note));
        insert.exec();
        db_.count_written(note.text.size());
    });
}

std::vector<Note> Notes::of(int64_t session)
{
    return of_session(db_, session).notes;
}

std::vector<Note> Notes::of(int64_t session, int64_t document)
{
    return db_.guarded([&] {
        auto query = db_.statement("SELECT " PALIMPSEST_NOTE_COLUMNS
                                   " FROM notes WHERE session = ? AND document = ? ORDER BY first_token");
        query.bind(1, session);
        query.bind(2, document);
        return all_of(query).notes;
    });
}

size_t Notes::count_left_out(int64_t session)
{
    return of_session(db_, session).left_out;
}

} // namespace palimpsest::storage
