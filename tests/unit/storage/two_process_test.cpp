// Several processes use one database: two write alternately while two read, and some writers are killed. Nothing
// acknowledged is lost, no process sees incomplete data, and none waits longer than the store's lock timeout.
//
// The processes run this program again, with one hidden test case each. A journal outside the database records what
// a writer has acknowledged.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "storage/conversations.h"
#include "storage/snapshots.h"
#include "tests/support/catch.h"
#include "tests/support/test_level.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::at_full_level;
using palimpsest::tests::ScratchDatabase;

namespace {

constexpr int writers = 2, readers = 2;
// How long a writer keeps the database open; well below the lock timeout of the other writer.
constexpr auto writing_time = std::chrono::milliseconds(300);

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string writer_name(int writer)
{
    return "writer " + std::to_string(writer);
}

engine::SessionState state_at(uint64_t tokens)
{
    engine::SessionState state;
    state.policy = state.given = {"streaming", {}};
    state.tokens_seen = tokens;
    state.logits.assign(600, static_cast<float>(tokens));
    return state;
}

enum class Kind { Say, Grow, Save, Fade, TakeBack, BeginAgain, CopyAndRemove };

Kind kind_of(int64_t number)
{
    switch (number % 8) {
    case 3:
        return Kind::Grow;
    case 5:
        return Kind::Save;
    case 6:
        return Kind::Fade;
    case 7:
        if (number % 128 == 127) return Kind::BeginAgain;
        return number % 32 == 7 ? Kind::CopyAndRemove : Kind::TakeBack;
    default:
        return Kind::Say;
    }
}
constexpr int taken_back = 3; // Of the four messages that eight operations add, three are removed again.

int64_t operations_done(Database& database, int writer)
{
    return database.guarded([&] {
        auto query = database.statement("SELECT value FROM settings WHERE key = ?");
        query.bind(1, writer_name(writer));
        return query.executeStep() ? std::stoll(query.getColumn(0).getString()) : 0;
    });
}

// The operations of one writer. The content of its session depends only on how many of them were done.
class Operations {
public:
    Operations(Database& database, int writer) : db_(database), talk_(database), states_(database), writer_(writer)
    {
        if (const auto found = talk_.find(writer_name(writer)))
            session_ = found->id;
        else
            session_ =
                talk_.create({.name = writer_name(writer), .model = "m", .model_name = "m", .options = "{}"});
    }

    int64_t done() { return operations_done(db_, writer_); }

    // Runs one acknowledged operation: one transaction, or several, the last of which counts it.
    void run(int64_t number)
    {
        switch (kind_of(number)) {
        case Kind::Say:
            return say(number);
        case Kind::Grow:
            return grow(number);
        case Kind::Save:
            return save(number);
        case Kind::Fade:
            return fade(number);
        case Kind::TakeBack:
            return take_back(number);
        case Kind::BeginAgain:
            return begin_again(number);
        case Kind::CopyAndRemove:
            return copy_and_remove(number);
        }
    }

private:
    void count(int64_t number)
    {
        auto set = db_.statement("INSERT INTO settings(key, value) VALUES(?, ?) "
                                 "ON CONFLICT(key) DO UPDATE SET value = excluded.value");
        set.bind(1, writer_name(writer_));
        set.bind(2, std::to_string(number + 1));
        set.exec();
    }

    void say(int64_t number)
    {
        db_.transaction([&] {
            const Message message{.text = std::to_string(number), .ids = {1, 2, static_cast<int32_t>(number)}};
            const int64_t id = talk_.add_message(session_, message);
            talk_.append(session_, StreamMessage{.id = id});
            count(number);
        });
    }
    void grow(int64_t number)
    {
        Message last = talk_.messages(session_).back();
        last.text = std::to_string(number);
        last.ids.push_back(static_cast<int32_t>(number));
        db_.transaction([&] {
            talk_.update_message(last);
            count(number);
        });
    }
    void save(int64_t number)
    {
        states_.save(session_, state_at(static_cast<uint64_t>(number)), [&] { count(number); });
    }
    void fade(int64_t number)
    {
        const engine::EvictionEvent event{0, static_cast<uint32_t>(number), 0};
        db_.transaction([&] {
            talk_.append_fade_record(session_, std::span(&event, 1), static_cast<uint64_t>(number));
            count(number);
        });
    }
    void take_back(int64_t number)
    {
        const auto messages = talk_.messages(session_);
        db_.transaction([&] {
            talk_.remove_messages_from(session_, messages[messages.size() - taken_back].id);
            count(number);
        });
    }
    void begin_again(int64_t number)
    {
        const int64_t first = talk_.messages(session_).front().id;
        db_.transaction([&] {
            talk_.remove_messages_from(session_, first);
            talk_.drop_fade_record_after(session_, 0);
            count(number);
        });
    }
    void copy_and_remove(int64_t number)
    {
        const std::string name = "copy of " + writer_name(writer_);
        if (const auto left = talk_.find(name)) talk_.remove(left->id); // left by a killed process
        const int64_t copy = talk_.fork(session_, name);
        for (const SnapshotInfo& state : states_.of(session_))
            states_.share(state.id, copy);
        talk_.remove(copy);
        db_.transaction([&] { count(number); });
    }

    Database& db_;
    Conversations talk_;
    Snapshots states_;
    int writer_;
    int64_t session_ = 0;
};

// What the first `done` operations of a writer leave in the database.
struct Expected {
    std::vector<std::string> messages{};
    size_t faded = 0;
    std::vector<uint64_t> states{}; // newest first

    explicit Expected(int64_t done)
    {
        for (int64_t number = 0; number < done; ++number) {
            const std::string text = std::to_string(number);
            switch (kind_of(number)) {
            case Kind::Say:
                messages.push_back(text);
                break;
            case Kind::Grow:
                messages.back() = text;
                break;
            case Kind::Save:
                states.insert(states.begin(), static_cast<uint64_t>(number));
                break;
            case Kind::Fade:
                ++faded;
                break;
            case Kind::TakeBack:
                messages.resize(messages.size() - taken_back);
                break;
            case Kind::BeginAgain:
                messages.clear();
                faded = 0;
                break;
            case Kind::CopyAndRemove:
                break;
            }
            states.resize(std::min<size_t>(states.size(), 2));
        }
    }
};

// Checks what the database holds at one moment. Returns how many operations its content corresponds to.
int64_t check_view(Database& database, int writer)
{
    const SQLite::Transaction view(database.sql(), SQLite::TransactionBehavior::DEFERRED);
    Conversations talk(database);
    Snapshots snapshots(database);
    const int64_t session = talk.get(writer_name(writer)).id;
    const int64_t done = operations_done(database, writer);
    const Expected expected(done);
    INFO(writer_name(writer) << " after " << done);
    std::vector<std::string> texts;
    for (const Message& message : talk.messages(session))
        texts.push_back(message.damaged ? "damaged" : message.text);
    CHECK(texts == expected.messages);
    CHECK(talk.stream(session).size() == texts.size());
    CHECK(talk.fade_record(session).size() == expected.faded);
    std::vector<uint64_t> states;
    for (const SnapshotInfo& info : snapshots.of(session)) {
        states.push_back(info.tokens_seen);
        CHECK(snapshots.load(info.id).logits == state_at(info.tokens_seen).logits);
    }
    CHECK(states == expected.states);
    return done;
}

// Runs this program again, with one hidden test case.
class Process {
public:
    Process(const std::string& test, const std::vector<std::pair<std::string, std::string>>& variables,
            const std::filesystem::path& log)
        : log_(log)
    {
        pid_ = fork();
        REQUIRE(pid_ >= 0);
        if (pid_ > 0) return;
        for (const auto& [name, value] : variables)
            setenv(name.c_str(), value.c_str(), 1);
        const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        execl("/proc/self/exe", "storage-test", test.c_str(), "--abort", nullptr);
        _exit(127);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process()
    {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    void kill() const { ::kill(pid_, SIGKILL); }
    // Returns whether the process was killed. Fails the test if it ended with an error.
    bool wait()
    {
        int status = 0;
        REQUIRE(waitpid(pid_, &status, 0) == pid_);
        pid_ = -1;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
        std::ifstream log(log_);
        INFO(std::string(std::istreambuf_iterator<char>(log), {}));
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
        return false;
    }

private:
    pid_t pid_ = -1;
    std::filesystem::path log_;
};

// A database, its journals, and the processes that use it.
class Scene {
public:
    Scene()
    {
        for (int writer = 0; writer < writers; ++writer)
            Operations(*scratch_, writer);
        scratch_.close();
    }

    std::unique_ptr<Process> writer(int writer, int64_t target) const
    {
        return start("a writer of two", writer, {{"TEST_TARGET", std::to_string(target)}});
    }
    std::unique_ptr<Process> reader(int reader) const { return start("a reader of two", reader, {}); }
    void stop_readers() const { std::ofstream(file("stop")) << "stop"; }
    int64_t views(int reader) const { return last_line("reader", reader) + 1; }

    int64_t acknowledged(int writer) const { return last_line("writer", writer) + 1; }
    // Checks that every acknowledged operation is in the database, and none that was not begun.
    int64_t check(int writer) const
    {
        Database database(scratch_.file(), Database::Access::Read);
        const int64_t done = check_view(database, writer);
        CHECK(done >= acknowledged(writer));
        CHECK(done <= acknowledged(writer) + 1);
        return done;
    }
    void check_file()
    {
        scratch_.open();
        CHECK(scratch_->sql().execAndGet("PRAGMA integrity_check").getString() == "ok");
        CHECK_FALSE(scratch_->statement("PRAGMA foreign_key_check").executeStep());
        Snapshots(*scratch_).sweep();
        CHECK(scratch_->sql().execAndGet("SELECT count(*) FROM snapshots").getInt() == 2 * writers);
        CHECK(scratch_->sql().execAndGet("SELECT count(*) FROM sessions").getInt() == writers);
    }

private:
    std::filesystem::path file(const std::string& name) const { return scratch_.file().parent_path() / name; }
    std::filesystem::path journal(const std::string& role, int number) const
    {
        return file(role + std::to_string(number) + ".journal");
    }
    int64_t last_line(const std::string& role, int number) const
    {
        std::ifstream in(journal(role, number));
        int64_t last = -1;
        for (int64_t value = 0; in >> value;)
            last = value;
        return last;
    }
    std::unique_ptr<Process> start(const std::string& test, int number,
                                   std::vector<std::pair<std::string, std::string>> variables) const
    {
        const std::string role = test.find("writer") != std::string::npos ? "writer" : "reader";
        variables.insert(variables.end(), {{"TEST_DATABASE", scratch_.file().string()},
                                           {"TEST_NUMBER", std::to_string(number)},
                                           {"TEST_STOP", file("stop").string()},
                                           {"TEST_JOURNAL", journal(role, number).string()}});
        return std::make_unique<Process>(test, variables, file(role + std::to_string(number) + ".log"));
    }

    ScratchDatabase scratch_;
};

class Journal {
public:
    Journal() : file_(open(environment("TEST_JOURNAL").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600))
    {
        REQUIRE(file_ >= 0);
    }
    ~Journal() { close(file_); }
    void acknowledge(int64_t number) const
    {
        const std::string line = std::to_string(number) + "\n";
        REQUIRE(write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    }

private:
    int file_;
};

} // namespace

TEST_CASE("a writer of two", "[.process]")
{
    const int writer = std::stoi(environment("TEST_NUMBER"));
    const int64_t target = std::stoll(environment("TEST_TARGET"));
    const Journal journal;
    Database database(environment("TEST_DATABASE"), Database::Access::Write);
    Snapshots(database).sweep(); // as the command does at its start
    Operations operations(database, writer);
    const auto end = std::chrono::steady_clock::now() + writing_time;
    for (int64_t number = operations.done(); number < target && std::chrono::steady_clock::now() < end; ++number) {
        operations.run(number);
        journal.acknowledge(number);
    }
}

TEST_CASE("a reader of two", "[.process]")
{
    const bool stays =
        environment("TEST_NUMBER") == "1"; // this reader keeps its connection while writers start and stop
    const Journal journal;
    std::vector<int64_t> seen(writers);
    for (int64_t views = 0; !std::filesystem::exists(environment("TEST_STOP"));) {
        Database database(environment("TEST_DATABASE"), Database::Access::Read);
        for (int again = stays ? 50 : 1; again > 0; --again) {
            for (int writer = 0; writer < writers; ++writer) {
                const int64_t done = check_view(database, writer);
                REQUIRE(done >= seen[static_cast<size_t>(writer)]);
                seen[static_cast<size_t>(writer)] = done;
            }
            journal.acknowledge(views++);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
}

TEST_CASE("two alternating writers and two readers lose no data and see no incomplete data")
{
    const int64_t target = (at_full_level() ? 20000 : 600) / writers;
    const int kill_every = at_full_level() ? 5 : 2; // rounds
    Scene scene;
    std::vector<std::unique_ptr<Process>> reading;
    for (int reader = 0; reader < readers; ++reader)
        reading.push_back(scene.reader(reader));
    std::mt19937 random(1);
    int killed = 0;
    bool finished = false;
    for (int round = 0; !finished; ++round) {
        std::vector<std::unique_ptr<Process>> writing;
        for (int writer = 0; writer < writers; ++writer)
            writing.push_back(scene.writer(writer, target));
        if (round % kill_every == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(random() % (round == 0 ? 60 : 1500)));
            writing[random() % writers]->kill();
        }
        for (auto& process : writing)
            killed += process->wait();
        finished = true;
        for (int writer = 0; writer < writers; ++writer)
            finished = scene.check(writer) >= target && finished;
    }
    scene.stop_readers();
    for (int reader = 0; reader < readers; ++reader) {
        reading[static_cast<size_t>(reader)]->wait();
        CHECK(scene.views(reader) > 0);
    }
    CHECK(killed > 0);
    scene.check_file();
}
