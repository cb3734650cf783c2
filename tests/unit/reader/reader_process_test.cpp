// The parent's side: readers that fail, stop, wait, lie and write too much, played by scripts of the shell.
#include "storage/reader/reader_process.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "storage/interrupted.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/scratch_folder.h"

namespace palimpsest::tests {

using namespace palimpsest::storage;

namespace {

// A document, and a reader for it.
class Play {
public:
    explicit Play(const std::string& script)
    {
        std::ofstream(program()) << "#!/bin/sh\n" << script << "\n";
        chmod(program().c_str(), 0700);
        std::ofstream(folder_.path() / "book.epub") << "a document\n";
        file_ = open((folder_.path() / "book.epub").c_str(), O_RDONLY | O_CLOEXEC);
    }
    ~Play() { close(file_); }
    Play(const Play&) = delete;
    Play& operator=(const Play&) = delete;

    std::string program() const { return (folder_.path() / "reader").string(); }
    // Writes frames to a file that a script can copy to its output.
    std::string frames(const std::vector<ReaderFrame>& frames)
    {
        const std::string name = (folder_.path() / "frames").string();
        std::ofstream out(name, std::ios::binary);
        for (const ReaderFrame& frame : frames)
            out << encoded(frame);
        return name;
    }
    ReaderProcess start(std::stop_token stop = {}, ReaderLimits limits = {}) const
    {
        return {file_, "book.epub", ".epub", std::move(stop), limits, program()};
    }

private:
    test::ScratchFolder folder_;
    int file_ = -1;
};

void fails(ReaderProcess& reader, ErrorCode code, const std::string& sentence)
{
    try {
        while (reader.next()) {
        }
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.code() == code);
        CHECK_THAT(error.what(), Catch::Contains(sentence));
        CHECK_THAT(error.what(), Catch::StartsWith("book.epub: "));
    }
}

void fails(const std::string& script, ErrorCode code, const std::string& sentence, ReaderLimits limits = {})
{
    const Play play(script);
    ReaderProcess reader = play.start({}, limits);
    fails(reader, code, sentence);
}

} // namespace

TEST_CASE("what a reader writes arrives, and it gets the document and nothing else")
{
    Play play("");
    const std::string frames = play.frames(
        {ReaderHello{.format = "EPUB"}, ReaderFact{DocumentFact::Title, "T"}, ReaderText{"abc"}, ReaderEnd{3}});
    // The shell itself has opened its script.
    std::ofstream(play.program()) << "#!/bin/sh\nread line; test \"$line\" = 'a document' || exit 2\n"
                                  << "test \"$1\" = .epub || exit 3\ntest -z \"$HOME\" || exit 4\n"
                                  << "test -e /proc/$$/fd/3 && exit 5\ncat " << frames << "\n";
    ReaderProcess reader = play.start();
    CHECK(reader.next() == ReaderFrame(ReaderFact{DocumentFact::Title, "T"}));
    CHECK(reader.next() == ReaderFrame(ReaderText{"abc"}));
    CHECK(reader.format() == "EPUB");
    CHECK_FALSE(reader.next());
    CHECK_FALSE(reader.next());
}

TEST_CASE("a reader that ends before the document's end is reported")
{
    fails("exit 3", ErrorCode::ReaderFailed, "exit 3");
    fails("kill -SEGV $$", ErrorCode::ReaderFailed, "signal 11");
    fails("kill -XCPU $$", ErrorCode::ReaderFailed, "computing time");
}

TEST_CASE("a reader that closes its output and goes on is ended")
{
    fails("exec 1>&-; exec sleep 1000", ErrorCode::ReaderFailed, "stopped writing");
    const Play play("exit 3");
    ReaderProcess reader = play.start();
    fails(reader, ErrorCode::ReaderFailed, "exit 3");
    fails(reader, ErrorCode::ReaderFailed, "stopped writing"); // asked again
}

TEST_CASE("a reader that says why it cannot read is quoted")
{
    Play play("");
    const std::string frames =
        play.frames({ReaderHello{.format = "EPUB"},
                     ReaderProblem{DocumentProblem::Protected, Text("it is protected"), Text("save a copy")}});
    std::ofstream(play.program()) << "#!/bin/sh\ncat " << frames << "\n";
    ReaderProcess reader = play.start();
    fails(reader, ErrorCode::ProtectedDocument, "it is protected; save a copy");
}

TEST_CASE("a reader that speaks another protocol is ended")
{
    fails("echo hello", ErrorCode::ReaderFailed, "no message");
    fails("cat /dev/zero", ErrorCode::ReaderFailed, "no message");
    const auto refused = [](const std::vector<ReaderFrame>& said, const std::string& sentence) {
        Play play("");
        const std::string frames = play.frames(said);
        std::ofstream(play.program()) << "#!/bin/sh\ncat " << frames << "\n";
        ReaderProcess reader = play.start();
        fails(reader, ErrorCode::ReaderFailed, sentence);
    };
    refused({ReaderHello{.version = 2, .format = "EPUB"}}, "another version");
    refused({ReaderText{"abc"}}, "no message");
    refused({ReaderHello{}, ReaderHello{}}, "no message");
    refused({ReaderHello{}, ReaderText{"abc"}, ReaderEnd{4}}, "no message");
    refused({ReaderHello{}, ReaderText{"abc"}, ReaderFact{DocumentFact::Title, "T"}}, "no message");
}

TEST_CASE("a reader that is silent, slow or endless is ended")
{
    using std::chrono::milliseconds;
    fails("exec sleep 1000", ErrorCode::ReaderFailed, "no progress", {.silence = milliseconds(100)});
    Play play("");
    const std::string frames = play.frames({ReaderHello{.format = "EPUB"}});
    const std::string text = play.frames({ReaderHello{.format = "EPUB"}, ReaderText{std::string(1000, 'a')}});
    std::ofstream(play.program()) << "#!/bin/sh\ncat " << text << "\nexec sleep 1000\n";
    {
        ReaderProcess reader = play.start({}, {.text_bytes = 999});
        fails(reader, ErrorCode::DocumentTooLarge, "999 bytes");
    }
    std::vector<ReaderFrame> notes{ReaderHello{.format = "EPUB"}};
    for (int i = 0; i < 1000; ++i)
        notes.push_back(ReaderNote{Text("something is missing, and something else, and more of it")});
    Play chatter("");
    const std::string said = chatter.frames(notes);
    const std::string rest = chatter.program() + ".rest";
    std::ofstream(rest, std::ios::binary) << [&] {
        std::string bytes;
        for (const ReaderFrame& frame : notes)
            if (!std::holds_alternative<ReaderHello>(frame)) bytes += encoded(frame);
        return bytes;
    }();
    std::ofstream(chatter.program()) << "#!/bin/sh\ncat " << said << "\nwhile cat " << rest << "; do :; done\n";
    {
        ReaderProcess reader = chatter.start();
        fails(reader, ErrorCode::ReaderFailed, "no message");
    }
    ReaderProcess reader = play.start({}, {.all = milliseconds(100)});
    fails(reader, ErrorCode::ReaderFailed, "takes more than");
}

TEST_CASE("a stop ends the waiting")
{
    const Play play("exec sleep 1000");
    std::stop_source stop;
    ReaderProcess reader = play.start(stop.get_token());
    std::jthread later([&] { stop.request_stop(); });
    CHECK_THROWS_AS(reader.next(), Interrupted);
}

TEST_CASE("a reader that is no longer needed is gone")
{
    const Play play("echo $$ >&1; exec sleep 1000");
    pid_t process = 0;
    {
        const ReaderProcess reader = play.start();
        process = reader.process();
        REQUIRE(process > 0);
        CHECK(kill(process, 0) == 0);
    }
    CHECK(kill(process, 0) != 0);
}

TEST_CASE("a reader that cannot be started is named")
{
    const Play play("");
    const auto start = [&](const std::string& program) {
        const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
        CHECK_THROWS_WITH(ReaderProcess(file, "book.epub", ".epub", {}, {}, program),
                          Catch::Contains("palimpsest-reader") || Catch::Contains("/no/such/program"));
        close(file);
    };
    start("");
    start("/no/such/program");
}

TEST_CASE("a document with more pages than the limit is refused")
{
    std::vector<ReaderFrame> all{ReaderHello{.format = "HTML"}};
    for (int page = 0; page < most_reader_pages; ++page)
        all.push_back(ReaderPage{"1"});
    all.push_back(ReaderEnd{0});
    Play play("cat \"$(dirname \"$0\")/frames\"");
    play.frames(all);
    {
        ReaderProcess reader = play.start();
        size_t pages = 0;
        while (reader.next())
            ++pages;
        CHECK(pages == most_reader_pages);
    }
    all.insert(all.end() - 1, ReaderPage{"1"});
    play.frames(all);
    ReaderProcess reader = play.start();
    fails(reader, ErrorCode::DocumentTooLarge, "more than 50000 pages");
}

} // namespace palimpsest::tests
