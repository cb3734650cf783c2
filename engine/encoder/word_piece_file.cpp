#include "engine/encoder/word_piece_file.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/model/config/limits.h"
#include "engine/model/files/json_fields.h"
#include "engine/model/files/strict_json.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

constexpr std::string_view continuation_mark = "##";
constexpr uint64_t longest_word_limit = 1000; // characters; 100 in every published file

class WordPieceReader {
public:
    WordPieceReader(const json& root, uint64_t rows, const Refusal& refuse)
        : root_(root, refuse, ErrorCode::ModelT1), refuse_(refuse), rows_(std::min(rows, limits::vocabulary))
    {
    }

    WordPieceVocabulary read()
    {
        read_normalizer();
        check_pre_tokenizer();
        const JsonFields model = part("model", "WordPiece");
        read_pieces(model);
        read_model(model);
        read_template();
        remove_special_tokens();
        return std::move(out_);
    }

private:
    [[noreturn]] void unsupported(const Text& what) const
    {
        refuse_.fail(ErrorCode::ModelT1, what, Text("use an encoder with the uncased or cased tokenizer of BERT"));
    }

    // A part of the tokenizer, which has exactly this type.
    JsonFields part(const char* key, const char* type) const
    {
        const json* found = root_.find(key);
        if (!found) refuse_.fail(ErrorCode::ModelT1, Text("{0} is missing", in_quotes(key)));
        const JsonFields fields(*found, refuse_, ErrorCode::ModelT1);
        const auto named = fields.string("type").value_or("");
        if (named != type)
            unsupported(
                Text("{0} has type {1}, an encoder needs {2}", in_quotes(key), in_quotes(named), in_quotes(type)));
        return fields;
    }

    void read_normalizer()
    {
        const JsonFields fields = part("normalizer", "BertNormalizer");
        BertNormalization& settings = out_.normalization;
        settings.clean_text = fields.boolean("clean_text").value_or(true);
        settings.spaces_ideographs = fields.boolean("handle_chinese_chars").value_or(true);
        settings.lowercase = fields.boolean("lowercase").value_or(true);
        settings.strip_accents = fields.boolean("strip_accents").value_or(settings.lowercase);
    }

    void check_pre_tokenizer() const { part("pre_tokenizer", "BertPreTokenizer"); }

    void read_pieces(const JsonFields& model)
    {
        const json* pieces = model.find("vocab");
        if (!pieces || !pieces->is_object())
            refuse_.fail(ErrorCode::ModelT1, Text("its model has no object 'vocab'"));
        pieces_ = &pieces->get_ref<const json::object_t&>();
        std::vector<const std::string*> owners(rows_); // by id
        for (const auto& [piece, id] : *pieces_) {
            if (!id.is_number_unsigned())
                refuse_.fail(ErrorCode::ModelT2, Text("the id of {0} is not a number", in_quotes(piece)));
            place(piece, id.get<uint64_t>(), owners);
        }
    }

    void place(const std::string& piece, uint64_t id, std::vector<const std::string*>& owners)
    {
        if (piece.empty() || piece.size() > limits::piece_bytes)
            refuse_.fail(ErrorCode::ModelT3, Text("token {0} has {1} bytes, expected 1 to 4096", id, piece.size()));
        if (id >= rows_)
            refuse_.fail(
                ErrorCode::ModelT2,
                Text("the token {0} has id {1} but the embedding has {2} rows", in_quotes(piece), id, rows_),
                Text("use the tokenizer that belongs to the model"));
        const std::string*& owner = owners[id];
        if (owner)
            refuse_.fail(ErrorCode::ModelT2,
                         Text("the tokens {0} and {1} both have id {2}", in_quotes(*owner), in_quotes(piece), id));
        owner = &piece;
        const auto known = static_cast<TokenId>(id);
        if (piece.size() > continuation_mark.size() && piece.starts_with(continuation_mark))
            out_.continuations.emplace(piece.substr(continuation_mark.size()), known);
        else
            out_.starts.emplace(piece, known);
    }

    void read_model(const JsonFields& model)
    {
        const auto mark = model.string("continuing_subword_prefix").value_or(std::string(continuation_mark));
        if (mark != continuation_mark)
            unsupported(Text("pieces inside of words begin with {0}, an encoder needs '##'", in_quotes(mark)));
        const uint64_t longest = model.integer("max_input_chars_per_word").value_or(100);
        if (longest < 1 || longest > longest_word_limit)
            refuse_.fail(ErrorCode::ModelT1,
                         Text("{0} is {1}, expected 1 to {2}", in_quotes("max_input_chars_per_word"), longest,
                              longest_word_limit));
        out_.longest_word = static_cast<int32_t>(longest);
        out_.unknown = existing(model.string("unk_token").value_or("[UNK]"));
    }

    // Every text gets one token before it and one after it.
    void read_template()
    {
        const JsonFields fields = part("post_processor", "TemplateProcessing");
        const json* single = fields.find("single");
        if (!single || !single->is_array())
            refuse_.fail(ErrorCode::ModelT1, Text("the post-processor has no list 'single'"));
        const auto is_text = [&](const json& entry) {
            return JsonFields(entry, refuse_, ErrorCode::ModelT1).find("Sequence") != nullptr;
        };
        if (single->size() != 3 || is_text((*single)[0]) || !is_text((*single)[1]) || is_text((*single)[2]))
            unsupported(Text("the post-processor does not put one token before a text and one after it"));
        out_.begin = added_token((*single)[0]);
        out_.end = added_token((*single)[2]);
    }

    TokenId added_token(const json& entry)
    {
        const json* special = JsonFields(entry, refuse_, ErrorCode::ModelT1).find("SpecialToken");
        if (!special) refuse_.fail(ErrorCode::ModelT1, Text("the post-processor has an unknown part"));
        return existing(JsonFields(*special, refuse_, ErrorCode::ModelT1).string("id").value_or(""));
    }

    TokenId existing(const std::string& token)
    {
        const auto at = pieces_->find(token);
        if (at == pieces_->end())
            refuse_.fail(ErrorCode::ModelT7,
                         Text("the special token {0} is not in the vocabulary", in_quotes(token)));
        special_.push_back(token);
        return at->second.get<TokenId>();
    }

    // Text that spells a special token is encoded like other text.
    void remove_special_tokens()
    {
        const json* added = root_.find("added_tokens");
        if (added && (!added->is_array() || added->size() > limits::added_tokens))
            refuse_.fail(ErrorCode::ModelT7, Text("'added_tokens' is not a list of at most 65536 tokens"));
        for (const json& token : added ? *added : json::array()) {
            const JsonFields fields(token, refuse_, ErrorCode::ModelT7);
            const auto content = fields.string("content").value_or("");
            if (!fields.boolean("special").value_or(false))
                unsupported(
                    Text("the added token {0}, which is not a special one, is not supported", in_quotes(content)));
            special_.push_back(content);
        }
        for (const std::string& token : special_)
            out_.starts.erase(token);
    }

    JsonFields root_;
    const Refusal& refuse_;
    uint64_t rows_;
    const json::object_t* pieces_ = nullptr;
    std::vector<std::string> special_;
    WordPieceVocabulary out_;
};

} // namespace

WordPieceVocabulary read_word_piece_file(std::string_view text, uint64_t rows, const Refusal& refuse)
{
    const json root =
        parse_strict_json(text, {limits::json_depth, limits::tokenizer_json_values}, refuse, ErrorCode::ModelT1);
    return WordPieceReader(root, rows, refuse).read();
}

} // namespace palimpsest::engine
