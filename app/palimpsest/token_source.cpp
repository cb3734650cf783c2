#include "app/palimpsest/token_source.h"

#include <CLI/CLI.hpp>

#include "app/palimpsest/console_listener.h"
#include "kernels/base/error.h"
#include "storage/session/document.h"
#include "storage/session/reading.h"

namespace palimpsest::app {
namespace {

using storage::Document;
using storage::encode_document;
using storage::read_token_ids;
using storage::report_notes;
using storage::require_tokenizer;

} // namespace

void add_token_source(CLI::App& command, TokenSource& source)
{
    command.add_option("FILE", source.file, "a document, or - for standard input");
    command.add_option("--token-ids", source.token_ids, "a file of whitespace-separated token ids instead of FILE");
}

void add_first_option(CLI::App& command, std::string& first)
{
    command.add_option("--first", first, "read no more than this many tokens of each document, such as 16k");
}

uint64_t most_tokens(const std::string& first)
{
    return first.empty() ? UINT64_MAX : parse_length("--first", first);
}

void check_token_source(const TokenSource& source)
{
    if (source.file.empty() == source.token_ids.empty())
        throw Error(ErrorKind::Usage, ErrorCode::InvalidArguments, Text("command line"),
                    source.file.empty() ? Text("there is no FILE")
                                        : Text("FILE and --token-ids exclude each other"),
                    Text("give a file or --token-ids"));
}

SourceTokens read_source(const TokenSource& source, const engine::Model& model, uint64_t most, Console& console,
                         bool events)
{
    SourceTokens result;
    if (!source.token_ids.empty()) {
        result.ids = read_token_ids(source.token_ids, console.in, console.stop);
        result.coverage.tokens_in_input = result.ids.size();
    } else {
        const engine::Tokenizer& tokenizer = require_tokenizer(model);
        Document document(source.file, console.in, console.stop);
        if (tokenizer.adds_bos()) result.ids.push_back(tokenizer.bos());
        result.added = result.ids.size();
        const auto text = encode_document(document, tokenizer, true, result.coverage);
        result.ids.insert(result.ids.end(), text.begin(), text.end());
        result.words = document.words();
        ConsoleListener listener(console, events);
        report_notes(document, listener);
    }
    if (result.coverage.tokens_in_input == 0)
        throw Error(ErrorKind::Failed, ErrorCode::EmptyDocument, Text::escaped(source.name()),
                    Text("it has no text"), Text("give a document with text"));
    if (result.coverage.tokens_in_input > most) result.ids.resize(result.added + most);
    return result;
}

} // namespace palimpsest::app
