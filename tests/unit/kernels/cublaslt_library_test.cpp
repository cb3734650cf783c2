// Choosing one of several cuBLASLt libraries; the libraries are stubs (tests/support/matrix_libraries).

#include <string>
#include <vector>

#include "kernels/cuda/linear/cublaslt_library.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"

using namespace palimpsest::kernels::cuda;

namespace {

std::string made(const std::string& name)
{
    return palimpsest::tests::build_file("tests/support/matrix_libraries/") + name + "/libcublasLt.so.13";
}

CublasLtLibrary opened(const std::vector<std::string>& files, CublasLtTrial trial)
{
    std::vector<const char*> places;
    for (const std::string& file : files)
        places.push_back(file.c_str());
    return open_cublaslt(places, trial);
}

const std::string absent = made("absent"), working = made("working"), failing = made("failing"),
                  lacking = made("lacking");
const std::string no_handle = failing + " is not used: it creates no handle (status 1)";
const std::string no_function = lacking + " is not used: it lacks cublasLtMatmul";
const std::string own_products = "the program's own matrix products are used: ";

} // namespace

TEST_CASE("the first cuBLASLt that creates a handle is used, and those refused before it are named",
          "[matrix library]")
{
    const auto found = opened({absent, lacking, failing, working}, CublasLtTrial::CreateHandle);
    CHECK(found.library != nullptr);
    CHECK(found.handle != nullptr);
    CHECK(found.file == working);
    CHECK(found.problem.english() == no_function + "; " + no_handle);
    const auto at_once = opened({working, failing}, CublasLtTrial::CreateHandle);
    CHECK(at_once.file == working);
    CHECK(at_once.problem.empty());
}

TEST_CASE("if no cuBLASLt creates a handle, the program's own products are used and every reason is named",
          "[matrix library]")
{
    const auto found = opened({failing, failing, lacking}, CublasLtTrial::CreateHandle);
    CHECK(found.library == nullptr);
    CHECK(found.handle == nullptr);
    CHECK(found.file.empty());
    CHECK(found.problem.english() == own_products + no_handle + "; " + no_function);
    CHECK(opened({absent}, CublasLtTrial::CreateHandle).problem.english() ==
          own_products + "no libcublasLt.so.13 or .12 was found");
}

TEST_CASE("without a device, a cuBLASLt needs only its functions", "[matrix library]")
{
    const auto found = opened({lacking, failing}, CublasLtTrial::Load);
    CHECK(found.file == failing);
    CHECK(found.handle == nullptr);
    CHECK(found.problem.english() == no_function);
}
