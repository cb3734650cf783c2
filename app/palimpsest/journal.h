// A file to which a long measurement writes every result as soon as it has it. After a stop or a crash the same
// command reads the results from the file and measures only the rest.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "engine/text/subwords/vocabulary.h"

namespace CLI {
class App;
}

namespace palimpsest::app {

void add_journal_option(CLI::App& command, std::string& file); // --journal

// An input in the keys of a journal: its name and what it holds, since files change between two runs.
std::string input_key(const std::string& name, std::span<const engine::TokenId> tokens);

class Journal {
public:
    // `measurement`: what is measured and how; results of anything else are not taken. An empty `file`: results are
    // kept in memory alone. A last line that was not written to its end is dropped. Locks the file. Throws Error:
    // Usage (InvalidArguments) if it holds another measurement or something else, Failed (PAL-DISK-03) if it cannot
    // be written or another process has it.
    Journal(std::string file, const nlohmann::ordered_json& measurement);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    const std::string& file() const { return file_; }
    size_t size() const { return results_.size(); }
    // Null: not measured yet. Valid until the next call of add.
    const nlohmann::ordered_json* find(const std::string& key) const;
    // The result is on stable storage when this returns. Throws Error (Resources, PAL-DISK-01) if there is no room;
    // the results before it stay. REQUIRES: find(key) is null.
    void add(const std::string& key, nlohmann::ordered_json result);

private:
    void open();
    void read(const nlohmann::ordered_json& measurement);
    void append(const nlohmann::ordered_json& line);

    std::string file_;
    int descriptor_ = -1;
    std::map<std::string, nlohmann::ordered_json> results_;
};

} // namespace palimpsest::app
