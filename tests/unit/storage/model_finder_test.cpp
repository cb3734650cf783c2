// Finding models of this machine by name, in folders laid out like those of LM Studio, Ollama and the Hugging Face
// hub.

#include "storage/models/model_finder.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include "kernels/base/error.h"
#include "storage/models/default_model.h"
#include "storage/session/model_choice.h"
#include "tests/support/catch.h"
#include "tests/support/fixtures/refused.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using namespace palimpsest::test;

namespace fs = std::filesystem;

namespace {

const std::string digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

std::string header(const std::string& architecture, uint32_t file_type, const std::string& purpose = "")
{
    GgufBuilder file;
    file.set_string("general.architecture", architecture);
    file.set_strings("tokenizer.ggml.tokens", {"a", "b"}); // other programs write this before the type
    if (!purpose.empty()) file.set_string("general.type", purpose);
    file.set_u32("general.file_type", file_type);
    return std::string(file.build().text());
}

std::string runnable()
{
    return std::string(tiny_gguf().build().text());
}

// Puts config.json and the user's models folder below `folder`.
class OwnData {
public:
    explicit OwnData(const fs::path& folder)
    {
        for (const char* variable : {"XDG_CONFIG_HOME", "XDG_DATA_HOME"}) {
            before_.emplace_back(variable, std::getenv(variable));
            setenv(variable, folder.c_str(), 1);
        }
    }
    ~OwnData()
    {
        for (const auto& [variable, value] : before_)
            setenv(variable.c_str(), value.c_str(), 1);
    }
    OwnData(const OwnData&) = delete;
    OwnData& operator=(const OwnData&) = delete;

private:
    std::vector<std::pair<std::string, std::string>> before_;
};

class Machine {
public:
    Machine()
    {
        std::string name = (fs::temp_directory_path() / "palimpsest-models-XXXXXX").string();
        root_ = mkdtemp(name.data());
        folders.own = root_ / "own";
        folders.lm_studio = {root_ / "lmstudio"};
        folders.ollama = {root_ / "ollama"};
        folders.hugging_face = {root_ / "hub"};
    }
    ~Machine() { fs::remove_all(root_); }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    fs::path write(const std::string& path, const std::string& content) const
    {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path, std::ios::binary) << content;
        return root_ / path;
    }
    void manifest(const std::string& path, const std::string& content) const
    {
        write("ollama/manifests/registry.ollama.ai/" + path, content);
    }
    void link(const std::string& path, const std::string& target) const
    {
        fs::create_directories((root_ / path).parent_path());
        fs::create_symlink(target, root_ / path);
    }

    FoundModels find(FindDetail detail = FindDetail::Headers) const
    {
        FoundModels found = find_models(folders, detail);
        std::erase_if(found.models, [](const FoundModel& m) { return m.source == ModelSource::Shipped; });
        return found;
    }
    // Returns "NAME ARCHITECTURE TYPE" of each model.
    std::vector<std::string> listed() const
    {
        std::vector<std::string> lines;
        for (const FoundModel& model : find().models)
            lines.push_back(model.name + " " + model.architecture + " " + model.type);
        return lines;
    }

    const fs::path& root() const { return root_; }
    ModelFolders folders;

private:
    fs::path root_;
};

std::string layers(const std::string& type, const std::string& named)
{
    return R"({"schemaVersion": 2, "layers": [{"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:00"},
        {"mediaType": ")" +
           type + R"(", "digest": ")" + named + R"(", "size": 5}]})";
}

const std::string model_type = "application/vnd.ollama.image.model";

} // namespace

TEST_CASE("files and folders of the models folder are found, projectors are not")
{
    const Machine machine;
    machine.write("own/b.gguf", header("llama", 15));
    machine.write("own/more/a.gguf", header("qwen2", 7));
    machine.write("own/mmproj-b.gguf", header("clip", 1));
    machine.write("own/projector.gguf", header("llama", 1, "mmproj"));
    machine.write("own/notes.txt", "no model");
    machine.write("own/folder/config.json", R"({"model_type": "qwen3", "torch_dtype": "bfloat16"})");
    machine.write("own/folder/model.safetensors", "12345");
    machine.write("own/no-weights/config.json", "{}");
    const std::vector<std::string> expected = {"b llama Q4_K_M", "folder qwen3 BF16", "more/a qwen2 Q8_0"};
    CHECK(machine.listed() == expected);
    CHECK(machine.find().models[1].bytes == 5);
}

TEST_CASE("sentence encoders are not listed as models, and no note complains about them")
{
    const Machine machine;
    for (const std::string name : {"own/all-MiniLM-L6-v2/", "hub/models--maker--embedder/snapshots/abc/"}) {
        machine.write(name + "config.json", R"({"model_type": "bert"})");
        machine.write(name + "model.safetensors", "12345");
    }
    machine.write("own/all-MiniLM-L6-v2/sentence_bert_config.json", "{}");
    machine.write("hub/models--maker--embedder/snapshots/abc/modules.json", "[]");
    machine.write("hub/models--maker--embedder/refs/main", "abc");
    for (const FindDetail detail : {FindDetail::Names, FindDetail::Headers}) {
        const FoundModels found = machine.find(detail);
        CHECK(found.models.empty());
        CHECK(found.notes.empty());
    }
}

TEST_CASE("a model in several files is listed once, and a missing part gives a note")
{
    const Machine machine;
    const std::string part = header("llama", 15);
    machine.write("lmstudio/maker/repo/big-00001-of-00002.gguf", part);
    machine.write("lmstudio/maker/repo/big-00002-of-00002.gguf", "rest");
    machine.write("lmstudio/maker/repo/cut-00001-of-00003.gguf", part);
    const FoundModels found = machine.find();
    REQUIRE(found.models.size() == 1);
    CHECK(found.models[0].name == "maker/repo/big");
    CHECK(found.models[0].path.filename() == "big-00001-of-00002.gguf");
    CHECK(found.models[0].bytes == part.size() + 4);
    CHECK(source_name(found.models[0].source).english() == "LM Studio");
    REQUIRE(found.notes.size() == 1);
    CHECK(found.notes[0].english().find("part 2 of 3 is missing") != std::string::npos);
}

TEST_CASE("a manifest of Ollama leads to its blob")
{
    const Machine machine;
    const fs::path blob = machine.write("ollama/blobs/sha256-" + digest, header("llama", 2));
    machine.manifest("library/llama3.2/1b", layers(model_type, "sha256:" + digest));
    machine.manifest("someone/tuned/latest", layers(model_type, "sha256:" + digest));
    machine.write("ollama/manifests/hf.co/maker/repo/Q4_0", layers(model_type, "sha256:" + digest));
    const FoundModels found = machine.find();
    const std::vector<std::string> expected = {"hf.co/maker/repo:Q4_0 llama Q4_0", "llama3.2:1b llama Q4_0",
                                               "someone/tuned:latest llama Q4_0"};
    CHECK(machine.listed() == expected);
    CHECK(found.models[1].path == blob);
    CHECK(choose_model(found.models, "LLAMA3.2:1b").path == blob);
    CHECK(choose_model(found.models, "tuned").name == "someone/tuned:latest");
}

TEST_CASE("a broken manifest is skipped with a note")
{
    const std::vector<std::pair<std::string, std::string>> broken = {
        {"", "empty"},
        {"{", ""},
        {"[]", "no list of layers"},
        {R"({"layers": 5})", "no list of layers"},
        {R"({"layers": [7, {}, {"mediaType": 3}]})", "no layer with a GGUF file"},
        {layers("application/vnd.ollama.image.adapter", "sha256:" + digest), "adapter"},
        {layers(model_type, "sha256:" + digest), "is missing"},
        {layers(model_type, "sha256:../../../../etc/passwd"), "no SHA-256"},
        {layers(model_type, "md5:" + digest), "no SHA-256"},
        {R"({"layers": [{"mediaType": ")" + model_type + R"("}]})", "no SHA-256"},
        {std::string(5000, '['), ""}};
    for (const auto& [content, why] : broken) {
        INFO(content.substr(0, 80));
        const Machine machine;
        machine.manifest("library/broken/latest", content);
        machine.write("own/good.gguf", header("llama", 2));
        const FoundModels found = machine.find();
        CHECK(found.models.size() == 1);
        REQUIRE(found.notes.size() == 1);
        CHECK(found.notes[0].english().find("broken") != std::string::npos);
        CHECK(found.notes[0].english().find(why) != std::string::npos);
    }
}

TEST_CASE("the snapshot that refs/main names is found in the Hugging Face cache")
{
    const Machine machine;
    const std::string repository = "hub/models--maker--some--name/";
    machine.write(repository + "blobs/1", header("gemma3", 18));
    machine.write(repository + "refs/main", "aaaa\n");
    machine.link(repository + "snapshots/aaaa/good.gguf", "../../blobs/1");
    machine.link(repository + "snapshots/aaaa/gone.gguf", "../../blobs/2");
    machine.link(repository + "snapshots/bbbb/other.gguf", "../../blobs/1");
    machine.write("hub/models--plain/snapshots/cccc/config.json", R"({"model_type": "llama", "dtype": "float32"})");
    machine.write("hub/models--plain/snapshots/cccc/model.safetensors", "1234");
    machine.write("hub/datasets--maker--set/snapshots/dddd/x.gguf", header("llama", 1));
    const std::vector<std::string> expected = {"maker/some--name/good gemma3 Q6_K", "plain llama F32"};
    CHECK(machine.listed() == expected);
    const FoundModels found = machine.find();
    REQUIRE(found.notes.size() == 1);
    CHECK(found.notes[0].english().find("gone.gguf is left out: it is a link to a file that is missing") !=
          std::string::npos);
    CHECK(model_name(found.models[0].path) == found.models[0].name);
}

TEST_CASE("a revision cannot lead out of the Hugging Face cache")
{
    const Machine machine;
    machine.write("outside/x.gguf", header("llama", 1));
    machine.write("hub/models--a--b/refs/main", "../../../outside");
    machine.write("hub/models--a--b/snapshots/.keep", "");
    CHECK(machine.find().models.empty());
}

TEST_CASE("files with truncated headers are skipped with a note")
{
    const std::string whole = header("llama", 15);
    for (size_t size = 0; size < whole.size(); size += 3) {
        const Machine machine;
        machine.write("own/cut.gguf", whole.substr(0, size));
        INFO(size);
        const FoundModels found = machine.find();
        CHECK(found.models.size() + found.notes.size() == 1);
        if (size < 100) CHECK(found.models.empty());
    }
    const Machine machine;
    machine.write("own/text.gguf", std::string(300, 'x'));
    CHECK(machine.find().notes.size() == 1);
}

TEST_CASE("a model without file type has the type of most of its weights")
{
    const Machine machine;
    GgufBuilder file = tiny_gguf();
    file.remove("general.file_type");
    machine.write("own/tiny.gguf", std::string(file.build().text()));
    CHECK(machine.listed() == std::vector<std::string>{"tiny llama F32"});
}

TEST_CASE("a model is found by its whole name, the last part of it or a unique beginning")
{
    const auto model = [](const std::string& name, ModelSource source = ModelSource::LmStudio) {
        return FoundModel{name, source, "/somewhere/" + name + ".gguf"};
    };
    const std::vector<FoundModel> models = {model("SmolLM2-135M-Instruct.Q4_1", ModelSource::Own),
                                            model("maker/repo/Qwen2.5-0.5B-Q4_K_M"),
                                            model("maker/repo/Qwen2.5-0.5B-Q8_0"),
                                            model("maker/repo/Qwen2.5-0.5B-Q8_0-more"),
                                            model("llama3.2:1b", ModelSource::Ollama),
                                            model("llama3.2:3b", ModelSource::Ollama),
                                            model("phi3:latest", ModelSource::Ollama)};
    const auto chosen = [&](const std::string& name) { return choose_model(models, name).name; };
    CHECK(chosen("smollm2") == "SmolLM2-135M-Instruct.Q4_1");
    CHECK(chosen("smollm2-135m-instruct.q4_1.gguf") == "SmolLM2-135M-Instruct.Q4_1");
    CHECK(chosen("qwen2.5-0.5b-q8_0") == "maker/repo/Qwen2.5-0.5B-Q8_0"); // preferred to names that begin with it
    CHECK(chosen("maker/repo/qwen2.5-0.5b-q4") == "maker/repo/Qwen2.5-0.5B-Q4_K_M");
    CHECK(chosen("llama3.2:1b") == "llama3.2:1b");
    CHECK(chosen("phi3") == "phi3:latest");

    const Refused several = refused([&] { chosen("llama3.2"); });
    CHECK(several.says("PAL-MODEL-20"));
    CHECK(several.says("llama3.2:1b (Ollama), llama3.2:3b (Ollama)"));
    CHECK(refused([&] { chosen("smolm2-135M-instruct.Q4_1"); }).says("did you mean 'SmolLM2-135M-Instruct.Q4_1'?"));
    CHECK(refused([&] { chosen("zzz"); }).says("see the list of models"));
    CHECK(refused([&] { chosen(""); }).says("PAL-MODEL-00"));
}

TEST_CASE("two names of one file are not ambiguous")
{
    const Machine machine;
    machine.write("own/real.gguf", header("llama", 15));
    machine.link("own/real-too.gguf", "real.gguf");
    const auto models = machine.find().models;
    CHECK(models.size() == 2);
    CHECK(fs::equivalent(choose_model(models, "rea").path, machine.root() / "own/real.gguf"));
}

TEST_CASE("the installed model of the models folder is the default, otherwise the first that can be run")
{
    const Machine machine;
    CHECK_FALSE(installed_model(machine.folders).model);
    machine.write("lmstudio/m/r/other.gguf", runnable());
    CHECK_FALSE(installed_model(machine.folders).model);
    machine.write("own/a-damaged.gguf", "GGUF");
    machine.write("own/b-bert.gguf", header("bert", 15));
    machine.write("own/c-cut.gguf", header("llama", 15)); // a valid header, and nothing else
    machine.write("own/d.gguf", runnable());
    machine.write("own/e.gguf", runnable());
    const InstalledModel installed = installed_model(machine.folders);
    CHECK(installed.model->name == "d");
    REQUIRE(installed.skipped.size() == 3);
    const auto says = [&](size_t i, const std::string& text) {
        INFO(installed.skipped[i].english());
        CHECK(installed.skipped[i].english().find(text) != std::string::npos);
    };
    says(0, "a-damaged.gguf is left out");
    says(1, "b-bert of the models folder is not the default: ");
    says(1, "'bert'");
    says(2, "c-cut of the models folder is not the default: ");
    machine.write("own/SmolLM2-135M-Instruct.Q4_1.gguf", runnable());
    CHECK(installed_model(machine.folders).model->name == "SmolLM2-135M-Instruct.Q4_1");
}

TEST_CASE("a default that was set by its name is not a file of the current folder")
{
    const Machine machine;
    const OwnData own(machine.root());
    machine.write("palimpsest/models/named.gguf", runnable());
    const fs::path installed = machine.root() / "palimpsest/models/named.gguf";
    machine.write("here/named", runnable());
    const fs::path before = fs::current_path();
    fs::current_path(machine.root() / "here");
    const auto set_to = [](const std::string& model) {
        set_default(model);
        return default_model();
    };
    CHECK(find_model("named") == "named"); // a name given here means the file
    CHECK(set_to("named") == installed);
    CHECK(set_to(installed.string()) == installed);
    CHECK(set_to("./named") == "./named");
    CHECK(refused([&] { set_to("missing"); }).says("not on this machine any more"));
    machine.write("here/missing", runnable());
    CHECK(refused([&] { set_to("missing"); }).says("not on this machine any more"));
    CHECK(refused([&] { set_to("/nowhere/at/all.gguf"); }).says("not on this machine any more"));
    set_default(std::nullopt);
    CHECK(default_model() == installed);
    fs::current_path(before);
}

TEST_CASE("a file of Ollama is called by the name of its manifest")
{
    const Machine machine;
    const fs::path blob = machine.write("ollama/blobs/sha256-" + digest, runnable());
    CHECK(model_name(blob) == "Ollama model 0123456789ab");
    machine.manifest("library/llama3.2/1b", layers(model_type, "sha256:" + digest));
    CHECK(model_name(blob) == "llama3.2:1b");
    CHECK(model_name(machine.write("elsewhere/sha256-" + digest, "")) == "sha256-" + digest);

    SessionChoice choice;
    choice.model = blob.string();
    const auto model = load_model(choice);
    CHECK(display_name(*model) == "llama3.2:1b");
    CHECK(model_title(model->files()) == "llama3.2:1b");
    machine.write("ollama/blobs/sha256-" + digest, std::string(runnable()).substr(0, 5000));
    const Refused refusal = refused([&] { load_model(choice); });
    CHECK(refusal.message.starts_with("llama3.2:1b: "));
    CHECK_FALSE(refusal.says("sha256"));
}

TEST_CASE("a folder with too many entries gives a note")
{
    Machine machine;
    for (char name = 'a'; name < 'k'; ++name)
        machine.write(std::string("lmstudio/m/r/") + name + ".gguf", header("llama", 15));
    machine.folders.max_entries = 12; // two folders and ten files
    CHECK(machine.find().models.size() == 10);
    CHECK(machine.find().notes.empty());
    machine.folders.max_entries = 11;
    const FoundModels found = machine.find();
    CHECK(found.models.size() == 9);
    REQUIRE(found.notes.size() == 1);
    CHECK(found.notes[0].english().find("lmstudio has more than 11 files and folders") != std::string::npos);
}
