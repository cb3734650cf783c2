// A database with three sessions, and what its texts are, for tests that damage it.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "storage/rescue.h"
#include "tests/unit/storage/book_session.h"

namespace palimpsest::tests {

inline std::string bytes_of_file(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::filesystem::path& file, const std::string& bytes)
{
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

struct Said {
    int64_t session = 0;
    Role role = Role::User;
    std::string text{};
    bool operator==(const Said&) const = default;
};

// A document or message in the stream of a session.
struct Place {
    int64_t session = 0;
    size_t position = 0;
    int64_t row = 0;
    auto operator<=>(const Place&) const = default; // NOLINT(modernize-use-nullptr): no pointer here
};

// The texts that a reader takes for genuine, by the ids of their rows, and where they are.
struct Content {
    std::map<int64_t, std::string> sessions{}, documents{};
    std::map<int64_t, Said> messages{};
    std::set<Place> read{}, said{};
    size_t all_documents = 0;             // damaged ones included
    std::map<int64_t, uint64_t> states{}; // intact saved states of a session
    std::map<int64_t, std::vector<std::pair<uint64_t, uint64_t>>> pins{};
    std::map<std::string, std::string> settings{};

    static Content of(Store& store)
    {
        Content all;
        for (const SessionInfo& info : store.conversations.list()) {
            all.sessions[info.id] = info.name;
            for (const Message& message : store.conversations.messages(info.id))
                if (!message.damaged)
                    all.messages[message.id] = {.session = info.id, .role = message.role, .text = message.text};
            const auto stream = store.conversations.stream(info.id);
            for (size_t i = 0; i < stream.size(); ++i) {
                if (const StreamDocument* document = document_in(stream[i]))
                    all.read.insert({.session = info.id, .position = i, .row = document->id});
                if (const StreamMessage* message = message_in(stream[i]))
                    if (all.messages.contains(*message->id))
                        all.said.insert({.session = info.id, .position = i, .row = *message->id});
            }
            for (const SnapshotInfo& snapshot : store.snapshots.of(info.id))
                if (refusal([&] { store.snapshots.load(snapshot.id); }).empty()) ++all.states[info.id];
            for (const Pin& pin : store.conversations.pins(info.id))
                all.pins[info.id].emplace_back(pin.first, pin.last);
        }
        all.all_documents = store.library.list().size();
        for (const DocumentInfo& info : store.library.list())
            if (refusal([&] { store.library.verify(info.id); }).empty())
                all.documents[info.id] = store.library.text(info.id, 0, info.bytes);
        if (const auto value = store.settings.get("kept")) all.settings["kept"] = *value;
        return all;
    }
    static Content of(const std::filesystem::path& file)
    {
        return of(*open_store(file.string(), Database::Access::Write));
    }
};

// Every text is one of the original.
inline void check_texts(const Content& found, const Content& original)
{
    for (const auto& [id, message] : found.messages)
        CHECK((original.messages.contains(id) && original.messages.at(id).text == message.text));
    for (const auto& [id, text] : found.documents)
        CHECK((original.documents.contains(id) && original.documents.at(id) == text));
}

// Every text is one of the original, in its session, in its place, and by the one who wrote it.
inline void check_genuine(const Content& found, const Content& original)
{
    check_texts(found, original);
    for (const auto& [id, message] : found.messages)
        CHECK((original.messages.contains(id) && original.messages.at(id) == message));
    CHECK(std::includes(original.read.begin(), original.read.end(), found.read.begin(), found.read.end()));
    CHECK(std::includes(original.said.begin(), original.said.end(), found.said.begin(), found.said.end()));
}

// Sessions "first", "second" and "third", each with a document, a question with its answer, saved states and a pin.
// The files are those of a database that was closed in good order.
class ThreeSessions {
public:
    ThreeSessions()
    {
        for (const char* name : {"first", "second", "third"}) {
            if (std::string(name) == "third") before_third = bytes_of_file(database());
            StoredSession& session = book_.open(name);
            const std::filesystem::path text = book_.folder() / (std::string(name) + ".txt");
            write_file(text, std::string(name) + " book. " + sixty_years());
            Document document(text.string(), std::cin);
            session.read(document);
            session.pin({.first = 3, .last = 9}, std::string("pin of ") + name);
            say(session, std::string("What was kept in the ") + name + " year?");
            session.save();
            book_.store().settings.set("kept", "value");
            book_.close();
        }
        original = bytes_of_file(database());
        content = Content::of(database());
        original = bytes_of_file(database());
    }
    std::filesystem::path database() const { return book_.folder() / "palimpsest.db"; }
    std::filesystem::path folder() const { return book_.folder(); }
    // Puts these bytes in the place of the database, without the files around it.
    void put(const std::string& bytes) const
    {
        for (const auto& entry : std::filesystem::directory_iterator(folder()))
            if (entry.path().filename().string().starts_with("palimpsest"))
                std::filesystem::remove_all(entry.path());
        write_file(database(), bytes);
        std::filesystem::permissions(database(), std::filesystem::perms(0600));
    }

    std::string original, before_third;
    Content content;

private:
    BookSession book_;
};

} // namespace palimpsest::tests
