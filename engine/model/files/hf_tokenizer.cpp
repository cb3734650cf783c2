#include "engine/model/files/hf_tokenizer.h"

#include <charconv>

#include "engine/model/config/limits.h"
#include "engine/model/files/json_fields.h"
#include "engine/model/files/spm_model_check.h"
#include "engine/model/files/strict_json.h"
#include "engine/model/files/tokenizer_json.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

// tokenizer_config.json (docs/validation.md, T1 and T7).
class TokenizerConfig {
public:
    TokenizerConfig(const json& root, const Refusal& refuse, uint64_t rows)
        : fields_(root, refuse, ErrorCode::ModelT1), refuse_(refuse), rows_(rows)
    {
        read_added_tokens();
    }

    std::optional<bool> add_bos() const { return fields_.boolean("add_bos_token"); }

    // The id of a named special token, or -1. `ids` are the ids of the vocabulary's pieces.
    TokenId special(const char* key, const std::unordered_map<std::string, TokenId>& ids) const
    {
        const json* token = fields_.find(key);
        if (token && token->is_object()) token = JsonFields(*token, refuse_, ErrorCode::ModelT7).find("content");
        if (!token) return -1;
        if (!token->is_string()) refuse_.fail(ErrorCode::ModelT7, Text("{0} is not a token", in_quotes(key)));
        const auto& spelling = token->get_ref<const std::string&>();
        if (const auto added = added_.find(spelling); added != added_.end()) return added->second;
        const auto piece = ids.find(spelling);
        return piece == ids.end() ? -1 : piece->second;
    }

    std::string chat_template() const
    {
        const json* source = fields_.find("chat_template");
        if (source && source->is_array()) source = named_default(*source);
        if (!source) return {};
        if (!source->is_string()) refuse_.fail(ErrorCode::ModelT1, Text("'chat_template' is not a string"));
        return source->get<std::string>();
    }

private:
    void read_added_tokens()
    {
        const json* added = fields_.find("added_tokens_decoder");
        if (!added) return;
        if (!added->is_object() || added->size() > limits::added_tokens)
            refuse_.fail(ErrorCode::ModelT7,
                         Text("'added_tokens_decoder' is not an object of at most 65536 tokens"));
        for (const auto& [text, token] : added->items()) {
            TokenId id = -1;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
            if (error != std::errc() || end != text.data() + text.size() || id < 0 ||
                static_cast<uint64_t>(id) >= rows_)
                refuse_.fail(ErrorCode::ModelT7,
                             Text("the added token {0} has no id below {1}", in_quotes(text), rows_));
            const auto spelling = JsonFields(token, refuse_, ErrorCode::ModelT7).string("content").value_or("");
            if (spelling.empty())
                refuse_.fail(ErrorCode::ModelT7, Text("the added token {0} is empty", in_quotes(text)));
            added_.emplace(spelling, id);
        }
    }

    const json* named_default(const json& templates) const
    {
        for (const json& entry : templates) {
            const JsonFields fields(entry, refuse_, ErrorCode::ModelT1);
            if (fields.string("name") == "default") return fields.find("template");
        }
        return nullptr;
    }

    JsonFields fields_;
    const Refusal& refuse_;
    uint64_t rows_;
    std::unordered_map<std::string, TokenId> added_;
};

SpmFacts read_model(const MappedFile& file, uint64_t rows, Vocabulary& vocabulary)
{
    const Refusal refuse(file.name());
    SpmFacts facts = check_spm_model(file.text(), refuse);
    if (facts.ids.size() > rows) {
        refuse.fail(ErrorCode::ModelT2,
                    Text("the vocabulary has {0} pieces but the embedding has {1} rows", facts.ids.size(), rows),
                    Text("use the tokenizer that belongs to the model"));
    }
    vocabulary.kind = Vocabulary::Kind::SpmModel;
    vocabulary.model = file.text();
    vocabulary.unknown = facts.unknown;
    return facts;
}

TokenId first_known(std::initializer_list<TokenId> ids)
{
    for (const TokenId id : ids)
        if (id >= 0) return id;
    return -1;
}

// Reads tokenizer.json; empty if the folder has none, or an unsupported one.
std::optional<TokenizerJson> read_json(const HfTokenizerFiles& files, uint64_t rows, std::vector<Text>& warnings)
{
    if (!files.tokenizer_json) return std::nullopt;
    try {
        return read_tokenizer_json(files.tokenizer_json->text(), rows, Refusal(files.tokenizer_json->name()));
    } catch (const UnsupportedTokenizer& error) {
        warnings.push_back(files.model ? Text("tokenizer.json: {0}: tokenizer.model is used", error.text())
                                       : Text("tokenizer.json: {0}: only token ids can be given", error.text()));
        return std::nullopt;
    }
}

// Reads the end tokens of generation_config.json: one id or a list. Unknown ids are skipped with a warning.
std::vector<TokenId> read_ends(const HfTokenizerFiles& files, uint64_t tokens, std::vector<Text>& warnings)
{
    std::vector<TokenId> ends;
    if (!files.generation_config) return ends;
    const Refusal refuse(files.generation_config->name());
    const json root = parse_strict_json(files.generation_config->text(), {limits::json_depth, limits::json_values},
                                        refuse, ErrorCode::ModelT1);
    const json* ids = JsonFields(root, refuse, ErrorCode::ModelT1).find("eos_token_id");
    if (!ids) return ends;
    for (const json& id : ids->is_array() ? *ids : json::array({*ids})) {
        if (!id.is_number_integer())
            refuse.fail(ErrorCode::ModelT7, Text("'eos_token_id' is neither an id nor a list of ids"));
        if (id.is_number_unsigned() && id.get<uint64_t>() < tokens)
            ends.push_back(id.get<TokenId>());
        else
            warnings.push_back(Text(
                "generation_config.json: the end token {0} is none of the {1} tokens: answers do not end at it",
                id.dump(), tokens));
    }
    return ends;
}

} // namespace

Vocabulary hf_vocabulary(const HfTokenizerFiles& files, const HfConfig& config, std::vector<Text>& warnings)
{
    const auto rows = static_cast<uint64_t>(config.model.vocabulary);
    Vocabulary vocabulary;
    SpmFacts facts;
    if (auto parsed = read_json(files, rows, warnings)) {
        vocabulary = std::move(parsed->vocabulary);
        facts.ids = std::move(parsed->ids);
        facts.bos = vocabulary.bos;
    } else if (files.model) {
        facts = read_model(*files.model, rows, vocabulary);
        vocabulary.add_bos = true;
    } else if (!files.tokenizer_json) {
        warnings.push_back(
            Text("the folder has neither tokenizer.json nor tokenizer.model: only token ids can be given"));
    }

    TokenId named_bos = -1, named_eos = -1;
    std::optional<bool> add_bos;
    if (files.config) {
        const Refusal refuse(files.config->name());
        const json root = parse_strict_json(files.config->text(), {limits::json_depth, limits::json_values}, refuse,
                                            ErrorCode::ModelT1);
        const TokenizerConfig tokenizer(root, refuse, rows);
        named_bos = tokenizer.special("bos_token", facts.ids);
        named_eos = tokenizer.special("eos_token", facts.ids);
        add_bos = tokenizer.add_bos();
        vocabulary.chat_template = tokenizer.chat_template();
    }
    if (files.chat_template) vocabulary.chat_template = files.chat_template->text();
    if (vocabulary.chat_template.size() > limits::chat_template_bytes) {
        Refusal(files.config->name())
            .fail(ErrorCode::ModelT1,
                  Text("the chat template has {0} bytes, the limit is {1}", vocabulary.chat_template.size(),
                       limits::chat_template_bytes),
                  Refusal::other_model());
    }
    vocabulary.bos = first_known({named_bos, config.bos, facts.bos});
    vocabulary.eos = first_known({named_eos, config.eos, facts.eos});
    vocabulary.add_bos = add_bos.value_or(vocabulary.add_bos) && vocabulary.bos >= 0;
    const size_t tokens = vocabulary.kind == Vocabulary::Kind::Bpe ? vocabulary.pieces.size() : facts.ids.size();
    if (vocabulary.kind != Vocabulary::Kind::None) vocabulary.other_ends = read_ends(files, tokens, warnings);
    return vocabulary;
}

} // namespace palimpsest::engine
