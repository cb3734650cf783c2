// palimpsest-reader: reads one document from standard input and writes its text as messages to standard output
// (docs/formats.md). It is started by the program palimpsest, not by users.
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/reader/document_parser.h"
#include "app/reader/sandbox.h"
#include "app/reader/text_writer.h"
#include "kernels/base/sanitized.h"
#include "storage/reader/frame.h"

namespace {

using palimpsest::Text;
using palimpsest::reader::Problem;
using palimpsest::reader::TextWriter;
using palimpsest::storage::DocumentProblem;

// Ends this process if the pipe is closed: the process that started it has ended, or wants no more text.
void write_frame(const palimpsest::storage::ReaderFrame& frame)
{
    const std::string bytes = encoded(frame);
    for (std::string_view rest = bytes; !rest.empty();) {
        const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
        if (written < 0) _exit(1);
        rest.remove_prefix(static_cast<size_t>(written));
    }
}

// The file on standard input. It is mapped, because the sandbox forbids to open anything later.
std::string_view mapped_document()
{
    struct stat file {};
    if (fstat(STDIN_FILENO, &file) != 0 || !S_ISREG(file.st_mode))
        throw Problem{DocumentProblem::Unreadable, Text("it is not a file"), Text("give a file")};
    constexpr off_t largest = off_t{1} << 30;
    if (file.st_size > largest)
        throw Problem{DocumentProblem::TooLarge, Text("it is larger than 1 GiB, the limit for its format"),
                      Text("convert it to plain text or Markdown")};
    if (file.st_size == 0) return {};
    const auto size = static_cast<size_t>(file.st_size);
    const void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
    if (bytes == MAP_FAILED)
        throw Problem{DocumentProblem::Unreadable, Text("it cannot be read"), Text("check the disk and try again")};
    return {static_cast<const char*>(bytes), size};
}

void read_document(const std::string& ending)
{
    TextWriter writer(write_frame);
    try {
        const std::string_view document = mapped_document();
        palimpsest::reader::enter_sandbox();
        parse_document(document, ending, writer);
        writer.finish();
    } catch (const Problem& problem) {
        writer.refuse(problem);
    } catch (const std::bad_alloc&) {
        writer.refuse({DocumentProblem::TooLarge, Text("opening it needs more than 512 MiB of memory"),
                       Text("divide it into several files")});
    }
}

int show_sandbox()
{
    const palimpsest::reader::Sandbox sandbox = palimpsest::reader::enter_sandbox();
#ifdef PALIMPSEST_WITH_PDF
    std::printf("PDF: yes\n");
#else
    std::printf("PDF: no\n");
#endif
    std::printf("sanitized: %s\nno new privileges: %s\nLandlock: %s\nseccomp: %s\n",
                palimpsest::is_sanitized ? "yes" : "no", sandbox.has_no_new_privileges ? "yes" : "no",
                sandbox.forbids_files ? "yes" : "no", sandbox.allows_few_system_calls ? "yes" : "no");
    for (const auto& trial : palimpsest::reader::try_sandbox())
        std::printf("%s: %s\n", trial.what.c_str(), trial.is_forbidden ? "forbidden" : "POSSIBLE");
    return 0;
}

} // namespace

// The search for leaks needs what the sandbox forbids.
// NOLINTNEXTLINE(bugprone-reserved-identifier): AddressSanitizer's name for it
extern "C" const char* __asan_default_options()
{
    return "detect_leaks=0";
}

int main(int argc, char** argv)
{
    const std::string argument = argc > 1 ? argv[1] : "";
    if (argument == "--show-sandbox") return show_sandbox();
    read_document(argument);
    return 0;
}
