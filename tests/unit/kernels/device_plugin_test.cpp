// Finding, refusing and using the GPU plugin, with plugins made for this test (tests/support/plugins).

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unistd.h>

#include "kernels/backend.h"
#include "kernels/backends/device_plugin.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "kernels/cpu/simd_target.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

namespace {

const std::string made = tests::build_file("tests/support/plugins/");

// During its lifetime, the program searches for plugins in this folder.
class PluginFolder {
public:
    explicit PluginFolder(const std::string& folder)
    {
        if (const char* before = std::getenv("PALIMPSEST_PLUGINS")) before_ = before;
        setenv("PALIMPSEST_PLUGINS", folder.c_str(), 1);
    }
    ~PluginFolder()
    {
        before_ ? setenv("PALIMPSEST_PLUGINS", before_->c_str(), 1) : unsetenv("PALIMPSEST_PLUGINS");
    }

private:
    std::optional<std::string> before_;
};

class EmptyFolder {
public:
    EmptyFolder()
        : path(std::filesystem::temp_directory_path() / ("palimpsest-plugins-" + std::to_string(getpid())))
    {
        std::filesystem::create_directory(path);
    }
    ~EmptyFolder() { std::filesystem::remove_all(path); }
    const std::filesystem::path path;
};

Error refusal(const std::string& device)
{
    try {
        open_backend({.device = device, .threads = 1, .simd = ""});
    } catch (const Error& error) {
        return error;
    }
    FAIL("the backend opened");
    throw;
}

void check_refused(const std::string& sentence)
{
    INFO(sentence);
    const Error error = refusal("cuda");
    CHECK(error.kind() == ErrorKind::NotFound);
    CHECK(error.code() == ErrorCode::GpuUnavailable);
    CHECK(error.subject().english() == "device 'cuda'");
    CHECK(error.text().english().find(sentence) != std::string::npos);
    CHECK(error.remedy().english().find("set device to cpu") != std::string::npos);
    CHECK(open_backend({.device = "auto", .threads = 3, .simd = ""})->threads() == 3); // falls back to the CPU
    CudaInfo survey;
    CHECK(DevicePlugin::find().survey(survey).problem == error.text());
    CHECK(survey.device_count == 0);
}

} // namespace

TEST_CASE("without a plugin, the error names the folder", "[plugin]")
{
    const EmptyFolder empty;
    const PluginFolder folder(empty.path.string());
    CHECK(DevicePlugin::find().file().empty());
    check_refused("there is no libpalimpsest-cuda.so in " + printable(empty.path.string()));
}

TEST_CASE("a plugin that is not a library, or of another version, or built from other headers is refused",
          "[plugin]")
{
    const EmptyFolder folder;
    const std::filesystem::path file = folder.path / "libpalimpsest-cuda.so";
    std::ofstream(file) << "no library";
    {
        const PluginFolder use(folder.path.string());
        check_refused("is damaged or made for another system");
    }
    for (const char* name : {"other_version", "other_layout"}) {
        const PluginFolder use(made + name);
        CHECK(DevicePlugin::find().file() == made + name + "/libpalimpsest-cuda.so");
        check_refused("belongs to another version of this program");
    }
}

TEST_CASE("a working plugin is used if the device is cuda", "[plugin]")
{
    const PluginFolder use(made + "cpu");
    for (const char* device : {"cuda", "cuda:0"}) // the plugin's backend has one thread
        CHECK(open_backend({.device = device, .threads = 3, .simd = ""})->threads() == 1);
    for (const char* device : {"cpu", "auto"})
        CHECK(open_backend({.device = device, .threads = 3, .simd = ""})->threads() == 3);

    const Error full = refusal("cuda:1");
    CHECK(full.kind() == ErrorKind::Resources);
    CHECK(std::string(full.what()) == "device 'cuda:1': its memory is full; set device to cpu [PAL-GPU-02]");
    CHECK(full.remedy() == Text("set {0} to {1}", Setting::Device, "cpu")); // the Text itself, not yet worded
    const std::string truncated = refusal("cuda:2").text().english();
    CHECK(truncated.size() > 1000);
    CHECK(truncated.find_first_not_of('x') == std::string::npos);
    const Error without_memory = refusal("cuda:3");
    CHECK(without_memory.code() == ErrorCode::OutOfMemory);
    CHECK(without_memory.kind() == ErrorKind::Resources);
    for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "cuda1"})
        CHECK(refusal(name).code() == ErrorCode::UnknownDevice);
}

TEST_CASE("errors of a plugin's backend are Errors, and outlive the backend", "[plugin]")
{
    const PluginFolder use(made + "cpu");
    std::exception_ptr thrown;
    {
        const auto backend = open_backend({.device = "cuda", .threads = 1, .simd = ""});
        try {
            const Buffer buffer(*backend, size_t{1} << 60);
        } catch (const Error&) {
            thrown = std::current_exception();
        }
    }
    REQUIRE(thrown);
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::OutOfMemory);
        CHECK(std::string(error.what()).ends_with("[PAL-MEM-01]"));
    }
}
