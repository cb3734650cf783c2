// Takes away from this process what a document's parser does not need.
#pragma once

#include <string>
#include <vector>

namespace palimpsest::reader {

struct Sandbox {
    bool has_no_new_privileges = false;
    bool forbids_files = false;           // by Landlock, which older kernels lack
    bool allows_few_system_calls = false; // by seccomp
};

// Limits memory, computing time, files and processes, then forbids to open files, connections and programs. What is
// open stays open. Cannot be undone. A kernel without a protection is no error: the limits hold everywhere, and the
// process that started this one ends it when it is slow or silent.
Sandbox enter_sandbox();

struct SandboxTrial {
    std::string what; // "open a file"
    bool is_forbidden = false;
};

// Tries, in this process, what the sandbox forbids.
std::vector<SandboxTrial> try_sandbox();

} // namespace palimpsest::reader
