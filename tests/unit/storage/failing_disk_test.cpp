// The store on a disk of which one call after another is made to fail: every error is a documented one, and on a
// healthy disk all acknowledged data are there again. Tests every 7th call by default, every one with
// PALIMPSEST_TEST_LEVEL=full (docs/validation.md, V8 and P4).
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sys/mount.h>

#include "engine/session/session.h"
#include "kernels/base/printable.h"
#include "storage/conversations.h"
#include "storage/document_import.h"
#include "storage/library.h"
#include "storage/schema.h"
#include "storage/snapshots.h"
#include "storage/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"
#include "tests/unit/storage/failing_disk.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::documented;
using palimpsest::tests::Fault;
using palimpsest::tests::FaultVfs;
using palimpsest::tests::quick_folder;
namespace fs = std::filesystem;

namespace {

std::vector<std::byte> bytes_of(const engine::SessionState& state)
{
    std::vector<std::byte> all;
    const auto header = encode(state, SnapshotForm::Exact, [&](const BlockName&, std::span<const std::byte> raw) {
        all.insert(all.end(), raw.begin(), raw.end());
    });
    all.insert(all.end(), header.begin(), header.end());
    return all;
}

// Three successive states of one session.
const std::vector<engine::SessionState>& states()
{
    static const auto all = [] {
        const auto path =
            tests::random_model({.layers = 2, .dim = 16, .heads = 2, .kv_heads = 1, .head_dim = 8, .ffn = 16});
        const auto model =
            engine::Model::load(path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
        fs::remove(path);
        engine::SessionOptions options;
        options.policy = engine::PolicySpec::parse("treekv");
        options.budget = 24;
        options.chunk = 16;
        engine::Session session(model, options);
        std::vector<engine::SessionState> made;
        for (int i = 0; i < 3; ++i) {
            std::vector<engine::TokenId> tokens(40);
            for (int t = 0; t < 40; ++t)
                tokens[static_cast<size_t>(t)] = (t * 7 + i) % 96;
            session.feed(tokens);
            made.push_back(session.state());
        }
        return made;
    }();
    return all;
}

const std::vector<std::byte>& state_bytes(uint64_t tokens_seen)
{
    static const auto all = [] {
        std::map<uint64_t, std::vector<std::byte>> made;
        for (const auto& state : states())
            made[state.tokens_seen] = bytes_of(state);
        return made;
    }();
    return all.at(tokens_seen);
}

const std::string& book()
{
    static const std::string text = [] {
        std::mt19937 random(5);
        std::string made;
        for (int i = 0; i < 300000; ++i)
            made += static_cast<char>('a' + random() % 26);
        return made;
    }();
    return text;
}

constexpr uint64_t book_tokens = 70000;

int64_t import_book(Database& database, const std::string& title)
{
    Import import(database, title, title + ".txt", "fingerprint");
    import.add_text(book());
    std::vector<engine::EncodedToken> tokens;
    for (uint64_t i = 0; i < book_tokens; ++i)
        tokens.push_back({.id = static_cast<engine::TokenId>(i % 7919), .begin = i * 4, .end = i * 4 + 4});
    import.add_tokens(tokens);
    import.add_section({.title = "One"});
    return import.finish({.words = 9});
}

std::string text_of(Database& database, int64_t document)
{
    std::string text;
    for (int64_t i = 0;; ++i) {
        const std::string block = Library(database).text_block(document, i);
        if (block.empty()) return text;
        text += block;
    }
}

std::string reply(size_t tokens)
{
    std::string text;
    for (size_t i = 0; i < tokens; ++i)
        text += "word" + std::to_string(i) + " ";
    return text;
}

// Everything that was acknowledged, and the step that was in progress at a failure.
struct Journal {
    std::set<std::string> documents, sessions, gone;
    std::map<std::string, std::vector<std::string>> messages; // by session
    std::map<std::string, std::vector<Pin>> pins;
    std::map<std::string, uint64_t> state; // by session: tokens_seen of its newest checkpoint
    bool exported = false;
    std::string doing;
};

// A long sequence of work with the store, in steps that can each be retried.
class Scenario {
public:
    Scenario(fs::path file, Journal& journal) : file_(std::move(file)), journal_(journal)
    {
        const auto open = [&] {
            database_.reset();
            database_ = std::make_unique<Database>(file_, Database::Access::Write);
            database_->guarded([&] { database_->sql().exec("PRAGMA cache_size = 10"); }); // forces more reads
            Snapshots(*database_).sweep();
            Library(*database_).sweep();
        };
        step("open", open);
        step("create", [&] { create("talk"); });
        step("create another", [&] { create("secret"); });
        step("import", [&] {
            const int64_t document = import_book(*database_, "book");
            database_->transaction([&] {
                talks().append(id("talk"), StreamFraming{.ids = {1, 2, 3}});
                talks().append(id("talk"), StreamDocument{.id = document, .tokens = book_tokens});
            });
            journal_.documents.insert("book");
        });
        step("save", [&] { save("talk", 0); });
        step("say", [&] { say("talk", "who?"); });
        step("answer", [&] { say("talk", ""); });
        for (const size_t tokens : {40, 400, 4000})
            step("grow", [&, tokens] { grow("talk", tokens); });
        step("pin", [&] {
            const std::vector<Pin> pins{{.first = 3, .last = 9, .since = 40, .label = "name"}};
            talks().set_pins(id("talk"), pins);
            journal_.pins["talk"] = pins;
        });
        step("save again", [&] { save("talk", 1); });
        step("open again", open);
        step("say there", [&] { say("secret", "31-7-19"); });
        step("save there", [&] { save("secret", 0); });
        step("save a third time", [&] { save("talk", 2); });
        step("resume", [&] {
            const auto newest = Snapshots(*database_).of(id("talk")).at(0);
            const auto loaded = Snapshots(*database_).load(newest.id);
            if (bytes_of(loaded) != state_bytes(newest.tokens_seen)) throw std::logic_error("another state");
        });
        step("rename", [&] {
            talks().rename(id("talk"), "talk of the book");
            rename("talk", "talk of the book");
        });
        step("export", [&] {
            fs::remove(exported());
            export_session(*database_, id("secret"), exported());
            journal_.exported = true;
        });
        step("import export", [&] {
            if (!talks().find("taken in")) import_session(*database_, exported(), "taken in");
            journal_.sessions.insert("taken in");
            journal_.messages["taken in"] = journal_.messages["secret"];
            journal_.state["taken in"] = journal_.state["secret"];
        });
        step("forget", [&] {
            journal_.gone.insert("secret");
            if (talks().find("secret")) talks().remove(id("secret"));
            database_->shrink();
            journal_.sessions.erase("secret");
        });
        step("open a third time", open);
        step("say more", [&] { say("talk of the book", "and then?"); });
        step("close", [&] { database_.reset(); });
    }

    void run(const std::function<bool(const std::string& step, const Error&)>& failed)
    {
        for (const auto& [name, work] : steps_) {
            journal_.doing = name;
            if (!perform(name, work, failed)) return;
        }
        journal_.doing.clear();
    }
    Database* database() { return database_.get(); }

private:
    void step(const std::string& name, std::function<void()> work) { steps_.emplace_back(name, std::move(work)); }

    // Returns false if the run must not continue.
    static bool perform(const std::string& name, const std::function<void()>& work,
                        const std::function<bool(const std::string&, const Error&)>& failed)
    {
        for (;;) {
            try {
                work();
                return true;
            } catch (const Error& error) {
                if (!failed(name, error)) return false;
            }
        }
    }

    fs::path exported() const { return file_.parent_path() / "export.db"; }
    Conversations talks() { return Conversations(*database_); }
    int64_t id(const std::string& session) { return talks().get(session).id; }

    void create(const std::string& session)
    {
        if (talks().find(session)) throw std::logic_error("a session that was refused is there");
        talks().create({.name = session, .model = "m", .model_name = "m", .options = "{}"});
        journal_.sessions.insert(session);
    }

    void say(const std::string& session, const std::string& text)
    {
        Message message{.role = text.empty() ? Role::Assistant : Role::User, .text = text, .ids = {4, 5}};
        database_->transaction([&] {
            message.id = talks().add_message(id(session), message);
            talks().append(id(session), StreamMessage{.id = message.id});
        });
        journal_.messages[session].push_back(text);
        last_ = message;
    }

    void grow(const std::string& session, size_t tokens)
    {
        Message grown = last_;
        grown.text = reply(tokens);
        grown.ids.assign(tokens, 7);
        database_->transaction([&] { talks().update_message(grown); });
        journal_.messages[session].back() = grown.text;
    }

    void save(const std::string& session, size_t moment)
    {
        const auto& state = states()[moment];
        const int64_t owner = id(session);
        const std::vector<engine::EvictionEvent> faded(50, {0, 3, 1});
        Snapshots(*database_).save(owner, state, [&] {
            talks().append_fade_record(owner, faded, state.tokens_seen);
            talks().touch(owner);
        });
        journal_.state[session] = state.tokens_seen;
    }

    void rename(const std::string& from, const std::string& to)
    {
        journal_.sessions.erase(from);
        journal_.sessions.insert(to);
        journal_.messages[to] = journal_.messages[from];
        journal_.pins[to] = journal_.pins[from];
        journal_.state[to] = journal_.state[from];
    }

    fs::path file_;
    Journal& journal_;
    std::vector<std::pair<std::string, std::function<void()>>> steps_;
    std::unique_ptr<Database> database_;
    Message last_;
};

void check_messages(Database& database, const Journal& journal, const std::string& name, int64_t id)
{
    const auto acknowledged = journal.messages.find(name);
    const size_t known = acknowledged == journal.messages.end() ? 0 : acknowledged->second.size();
    const auto found = Conversations(database).messages(id);
    REQUIRE(found.size() >= known);
    REQUIRE(found.size() <= known + 1); // one more may come from the step that was in progress
    for (size_t i = 0; i < found.size(); ++i) {
        REQUIRE_FALSE(found[i].damaged);
        if (i >= known || found[i].text == acknowledged->second[i]) continue;
        REQUIRE(journal.doing == "grow");
        REQUIRE((found[i].text == reply(40) || found[i].text == reply(400) || found[i].text == reply(4000)));
    }
}

void check_states(Database& database, const Journal& journal, const std::string& name, int64_t id)
{
    Snapshots snapshots(database);
    const auto found = snapshots.of(id);
    const auto newest = journal.state.find(name);
    if (newest != journal.state.end()) {
        REQUIRE_FALSE(found.empty());
        REQUIRE(found[0].tokens_seen >= newest->second);
    }
    for (const SnapshotInfo& info : found)
        REQUIRE(bytes_of(snapshots.load(info.id)) == state_bytes(info.tokens_seen));
    if (!found.empty()) REQUIRE(Conversations(database).fade_record(id).size() % 50 == 0);
}

void check_pins(Database& database, const Journal& journal, const std::string& name, int64_t id)
{
    const auto found = Conversations(database).pins(id);
    const auto acknowledged = journal.pins.find(name);
    if (acknowledged == journal.pins.end() || acknowledged->second.empty())
        REQUIRE((found.empty() || journal.doing == "pin"));
    else
        REQUIRE((found.size() == 1 && found[0].label == "name"));
}

// Checks on a healthy disk that everything acknowledged is there, and nothing is incomplete.
void check_integrity(const fs::path& file, const Journal& journal)
{
    Database database(file, Database::Access::Write);
    Snapshots(database).sweep();
    Library(database).sweep();
    REQUIRE(database.sql().execAndGet("PRAGMA integrity_check").getString() == "ok");
    REQUIRE_FALSE(database.statement("PRAGMA foreign_key_check").executeStep());

    std::set<std::string> documents, sessions;
    for (const DocumentInfo& info : Library(database).list()) {
        documents.insert(info.title);
        REQUIRE(Library(database).verify(info.id) == book_tokens);
        REQUIRE(text_of(database, info.id) == book());
    }
    for (const std::string& title : journal.documents)
        REQUIRE(documents.count(title) == 1);
    if (journal.documents.empty()) REQUIRE((documents.empty() || journal.doing == "import"));

    for (const SessionInfo& info : Conversations(database).list()) {
        INFO(info.name);
        sessions.insert(info.name);
        std::string name = info.name;
        if (journal.sessions.count(name) == 0) { // it was being created, renamed or removed
            const std::set<std::string> begun{"create", "create another", "rename", "import export", "forget"};
            REQUIRE(begun.count(journal.doing) == 1);
            if (journal.doing == "rename") name = "talk";
        }
        check_messages(database, journal, name, info.id);
        check_states(database, journal, name, info.id);
        check_pins(database, journal, name, info.id);
    }
    for (const std::string& name : journal.sessions)
        REQUIRE((sessions.count(name) == 1 ||
                 (journal.doing == "rename" && sessions.count("talk of the book") == 1) ||
                 (journal.doing == "forget" && journal.gone.count(name) == 1)));
    const fs::path exported = file.parent_path() / "export.db";
    REQUIRE((fs::exists(exported) || !journal.exported));
    if (fs::exists(exported)) import_session(database, exported, "once more");
    // The store is usable.
    Conversations(database).create({.name = "afterwards", .model = "m", .model_name = "m", .options = "{}"});
}

// After a failure that leaves the content of the disk unknown, writes are refused at once, without a disk access.
void check_refuses_to_write(FaultVfs& disk, Database& database)
{
    const uint64_t before = disk.changes();
    REQUIRE(tests::refusal([&] {
                Conversations(database).create({.name = "x", .model = "m", .model_name = "m", .options = "{}"});
            }) == "PAL-DISK-02");
    REQUIRE(tests::refusal([&] { Conversations(database).touch(1); }) == "PAL-DISK-02");
    REQUIRE(tests::refusal([&] { database.shrink(); }) == "PAL-DISK-02");
    REQUIRE(disk.changes() == before);
}

struct Tally {
    uint64_t points = 0, refused = 0, overcome = 0;
};

void run_scenario(FaultVfs& disk, Fault fault, uint64_t nth, bool persistent, Tally& tally)
{
    tests::ScratchDatabase folder(quick_folder());
    folder.clear();
    Journal journal;
    bool refused = false, in_doubt = false;
    {
        Scenario scenario(folder.file(), journal);
        disk.arm(fault, nth, persistent);
        int tries = 0;
        scenario.run([&](const std::string& step, const Error& error) {
            INFO(step << ": " << error.what());
            REQUIRE(documented().count(std::string(name_of(error.code()))) == 1);
            refused = true;
            in_doubt = error.code() == ErrorCode::DiskFailed &&
                       error.subject().english() == printable(folder.file().string());
            if (error.code() != ErrorCode::DiskFull) return false;
            REQUIRE(fault == Fault::Full);
            REQUIRE((persistent || tries == 0)); // with space again the same connection works
            return ++tries < 2;
        });
        if (in_doubt && scenario.database()) check_refuses_to_write(disk, *scenario.database());
    }
    tally.points += disk.failures() > 0;
    tally.refused += refused;
    tally.overcome += disk.failures() > 0 && !refused;
    disk.heal();
    check_integrity(folder.file(), journal);
}

uint64_t calls_of(FaultVfs& disk, Fault fault)
{
    tests::ScratchDatabase folder(quick_folder());
    folder.clear();
    Journal journal;
    Scenario scenario(folder.file(), journal);
    disk.arm(fault, 0, false);
    scenario.run([](const std::string& step, const Error& error) -> bool {
        FAIL(step << ": " << error.what());
        return false;
    });
    const uint64_t calls = disk.calls();
    disk.heal();
    return calls;
}

} // namespace

TEST_CASE("V8: whichever disk call fails, no acknowledged data are lost and no incomplete data are shown")
{
    FaultVfs disk;
    for (const Fault fault : tests::every_fault) {
        const uint64_t calls = calls_of(disk, fault);
        for (const bool persistent : {false, true}) {
            Tally tally;
            const auto failing = tests::failing_calls(calls);
            for (const uint64_t nth : failing) {
                INFO(name_of(fault) << (persistent ? " from call " : " at call ") << nth << " of " << calls);
                run_scenario(disk, fault, nth, persistent, tally);
            }
            CHECK((tally.points + 1) * 10 >= failing.size() * 9);     // the number of calls varies a little
            if (fault == Fault::ShortRead) CHECK(tally.refused == 0); // short reads are continued
            std::printf("%-12s %-9s: %4llu points, %4llu refused, %4llu overcome\n", name_of(fault),
                        persistent ? "from then" : "once", static_cast<unsigned long long>(tally.points),
                        static_cast<unsigned long long>(tally.refused),
                        static_cast<unsigned long long>(tally.overcome));
        }
    }
}

TEST_CASE("after a failed WAL checkpoint a connection refuses writes, and committed data are still there")
{
    FaultVfs disk;
    const std::string text(9 << 20, 'x'); // more than the write-ahead log may hold before a WAL checkpoint
    uint64_t refused = 0, committed = 0;
    for (const Fault fault : {Fault::Sync, Fault::Write}) {
        // The first calls belong to the commit, the last to the WAL checkpoint.
        for (const uint64_t before_last : {400u, 100u, 1u, 0u}) {
            INFO(name_of(fault) << " " << before_last);
            tests::ScratchDatabase folder(quick_folder());
            const int64_t session =
                Conversations(*folder).create({.name = "s", .model = "m", .model_name = "m", .options = "{}"});
            const auto say = [&] {
                folder->transaction([&] { Conversations(*folder).add_message(session, {.text = text}); });
            };
            disk.arm(fault, 0, false);
            say();
            if (disk.calls() <= before_last) continue;
            disk.arm(fault, disk.calls() - before_last, false);
            const std::string refusal = tests::refusal(say);
            CHECK((refusal.empty() || refusal == "PAL-DISK-02"));
            REQUIRE(disk.failures() == 1);
            refusal.empty() ? ++committed : ++refused;
            check_refuses_to_write(disk, *folder);
            disk.heal();
            folder.close();
            folder.open();
            CHECK(folder->sql().execAndGet("PRAGMA integrity_check").getString() == "ok");
            const size_t found = Conversations(*folder).messages(session).size();
            CHECK(found >= (refusal.empty() ? 2 : 1));
        }
    }
    CHECK(committed >= 2);
}

namespace {

class SmallDisk { // 2 MiB; not mounted without the permission to mount
public:
    SmallDisk() : folder_(folder.file().parent_path() / "small")
    {
        fs::create_directory(folder_);
        mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=2m") == 0;
    }
    ~SmallDisk()
    {
        if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    bool mounted() const { return mounted_; }
    fs::path operator/(const char* name) const { return folder_ / name; }

private:
    tests::ScratchDatabase folder;
    fs::path folder_;
    bool mounted_ = false;
};

} // namespace

TEST_CASE("on a full disk writes are refused, and succeed when there is space again (P4)")
{
    const SmallDisk disk;
    if (!disk.mounted()) {
        WARN("skipped: no right to mount a small file system");
        return;
    }
    const auto fill = [&] {
        std::ofstream filler(disk / "filler", std::ios::binary | std::ios::app);
        while (filler.write(std::string(4096, 'f').data(), 4096) && filler.flush()) {
        }
    };
    const fs::path file = disk / "palimpsest.db";
    size_t said = 0;
    {
        Database database(file, Database::Access::Write);
        Conversations conversations(database);
        const int64_t session =
            conversations.create({.name = "s", .model = "m", .model_name = "m", .options = "{}"});
        const auto say = [&] {
            database.transaction([&] { conversations.add_message(session, {.text = std::string(20000, 's')}); });
            ++said;
        };
        for (int i = 0; i < 10; ++i)
            say();
        fill();
        std::string refusal;
        for (int i = 0; i < 200 && refusal.empty(); ++i)
            refusal = tests::refusal(say);
        CHECK(refusal == "PAL-DISK-01");
        CHECK(tests::refusal([&] { Snapshots(database).save(session, states()[0]); }) == "PAL-DISK-01");
        CHECK(conversations.messages(session).size() == said); // still readable
        fs::remove(disk / "filler");
        REQUIRE_NOTHROW(say()); // on the same connection
        REQUIRE_NOTHROW(Snapshots(database).save(session, states()[0]));
    }
    {
        Database database(file, Database::Access::Write);
        CHECK(database.sql().execAndGet("PRAGMA integrity_check").getString() == "ok");
        CHECK(Conversations(database).messages(1).size() == said);
        CHECK(bytes_of(Snapshots(database).load(Snapshots(database).of(1).at(0).id)) ==
              state_bytes(states()[0].tokens_seen));
    }
    fill();
    CHECK(tests::refusal([&] { Database(file, Database::Access::Write); }) == "PAL-DISK-01");
    CHECK(tests::refusal([&] { Database(disk / "another.db", Database::Access::Write); }) == "PAL-DISK-01");
    fs::remove(disk / "filler");
    CHECK(Conversations(*std::make_unique<Database>(file, Database::Access::Write)).messages(1).size() == said);
}
