// The memory that a model and a session need, and the default model.

#include "storage/session/model_choice.h"

#include <regex>

#include "engine/session/host_memory.h"
#include "engine/session/memory_plan.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/project_folders.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::test::Refused;
using palimpsest::test::refused;

namespace {

std::shared_ptr<const engine::Model> shipped()
{
    SessionChoice choice;
    choice.model = "palimpsest-small";
    choice.threads = 1;
    return load_model(choice);
}

uint64_t needed(const engine::Model& model, const engine::SessionOptions& options)
{
    return engine::MemoryPlanner(model, UINT64_MAX).plan(options, 1).total();
}

} // namespace

TEST_CASE("a test sees no model that is installed on this machine")
{
    const std::string own = tests::build_folder().string();
    const ModelFolders folders = model_folders();
    std::vector<std::filesystem::path> all = {folders.own};
    for (const auto& others : {folders.lm_studio, folders.ollama, folders.hugging_face})
        all.insert(all.end(), others.begin(), others.end());
    CHECK(all.size() >= 4);
    for (const auto& folder : all)
        CHECK(folder.string().starts_with(own));
    for (const FoundModel& model : find_models(folders, FindDetail::Names).models)
        CHECK(model.source == ModelSource::Shipped);
}

TEST_CASE("the shipped model has a name, and is the default where none is installed")
{
    const auto model = shipped();
    CHECK(model->files().path == shipped_model());
    CHECK(find_model("") == shipped_model());
    CHECK(display_name(*model) == "palimpsest-small");
    REQUIRE(notes_of_default({}, *model).size() == 1);
    CHECK(notes_of_default({}, *model)[0].english().find("tiny built-in model") != std::string::npos);
    SessionChoice named;
    named.model = "palimpsest-small";
    CHECK(notes_of_default(named, *model).empty());
}

TEST_CASE("a session that does not fit is refused with the memory needed and available, and a budget that fits")
{
    const auto model = shipped();
    engine::SessionOptions options;
    options.chunk = 64;
    options.budget = 1024;
    const uint64_t enough = needed(*model, options);
    CHECK_NOTHROW(engine::MemoryPlanner(*model, enough).require(options, 1));
    const Refused refusal = refused([&] { engine::MemoryPlanner(*model, enough - 1).require(options, 1); });
    CHECK(refusal.says("PAL-MEM-02"));
    CHECK(refusal.says("are available"));
    CHECK_FALSE(refusal.says("device"));

    std::smatch budget;
    REQUIRE(std::regex_search(refusal.message, budget, std::regex("budget[^0-9;]* ([0-9]+)")));
    options.budget = std::stoi(budget[1]);
    CHECK(options.budget > 900);
    CHECK_NOTHROW(engine::MemoryPlanner(*model, enough - 1).require(options, 1));
    CHECK(refused([&] { engine::MemoryPlanner(*model, 1).require(options, 1); }).says("smaller model"));
}

TEST_CASE("the largest budget fits, and a larger one does not")
{
    const auto model = shipped();
    engine::SessionOptions options;
    options.chunk = 64;
    for (const int32_t budget : {100, 500, 1500}) {
        options.budget = budget;
        const uint64_t available = needed(*model, options);
        const int32_t largest = engine::MemoryPlanner(*model, available).largest_budget(options, 1);
        INFO(budget);
        CHECK(largest > budget - 140); // memory is allocated in pages of tokens
        options.budget = largest;
        CHECK(needed(*model, options) <= available + available / 20);
    }
    CHECK(engine::MemoryPlanner(*model, UINT64_MAX).largest_budget(options, 1) == model->config().context - 64);
    CHECK(engine::MemoryPlanner(*model, 1).largest_budget(options, 1) == 0);
}

TEST_CASE("a model file that does not stay in memory gives a warning, not an error")
{
    const auto model = shipped();
    const engine::SessionOptions options;
    const uint64_t taken = needed(*model, options), file = model->files().file_bytes;
    const auto warning = [&](uint64_t available) {
        return engine::MemoryPlanner(*model, available).warning(options, 1).value_or(Text()).english();
    };
    CHECK(warning(2 * (taken + file)).empty());
    CHECK(warning(taken + file + 1).find("little is left") != std::string::npos);
    CHECK(warning(taken + file - 1).find("slow") != std::string::npos);
    CHECK_NOTHROW(engine::MemoryPlanner(*model, taken).require(options, 1));
}

TEST_CASE("the available memory of this machine is known")
{
    CHECK(engine::available_memory() > 1 << 20);
    CHECK(engine::available_memory() < uint64_t{1} << 50);
}
