#include "engine/model/files/tokenizer_json.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/model/config/limits.h"
#include "engine/model/files/bpe_merges.h"
#include "engine/model/files/json_fields.h"
#include "engine/model/files/piece_check.h"
#include "engine/model/files/strict_json.h"
#include "engine/text/bpe/added_tokens.h"
#include "engine/text/bpe/bpe_encoder.h"
#include "engine/text/bpe/pre_tokenizer.h"
#include "engine/text/subwords/stretch_cutter.h"
#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

using nlohmann::json;

constexpr size_t max_steps = 16; // per normalizer, pre-tokenizer or decoder
constexpr int32_t type_normal = 1, type_unknown = 2, type_control = 3, type_user_defined = 4, type_unused = 5,
                  type_byte = 6;

[[noreturn]] void unsupported(Text what)
{
    throw UnsupportedTokenizer(std::move(what));
}

// Spells an expression in ASCII, as in PreTokenizerSteps.
std::string in_ascii(std::string_view expression)
{
    std::string out;
    Utf8Decoder decoder;
    const auto take = [&](char32_t code, size_t, bool) {
        if (code == '\r' || code == '\n') {
            out += code == '\r' ? "\\r" : "\\n";
        } else if (code >= 0x20 && code < 0x7F) {
            out += static_cast<char>(code);
        } else {
            constexpr std::string_view digits = "0123456789ABCDEF";
            std::string hex;
            for (uint32_t rest = code; rest > 0 || hex.empty(); rest >>= 4)
                hex.insert(hex.begin(), digits[rest & 15]);
            out += "\\x{" + hex + "}";
        }
    };
    for (const char byte : expression)
        decoder.push(static_cast<unsigned char>(byte), take);
    return out;
}

class Reader {
public:
    Reader(const json& root, uint64_t rows, const Refusal& refuse)
        : root_(root, refuse, ErrorCode::ModelT1), refuse_(refuse), rows_(rows)
    {
    }

    TokenizerJson read()
    {
        vocabulary().kind = Vocabulary::Kind::Bpe;
        vocabulary().add_space_prefix = false;
        const json* model = root_.find("model");
        if (!model) refuse_.fail(ErrorCode::ModelT1, Text("it has no 'model'"));
        const JsonFields fields(*model, refuse_, ErrorCode::ModelT1);
        read_model_kind(fields);
        read_normalizer();
        read_pre_tokenizer();
        check_decoder();
        read_pieces(fields);
        read_added_tokens();
        read_merges(*model);
        read_post_processor();
        return std::move(out_);
    }

private:
    Vocabulary& vocabulary() { return out_.vocabulary; }

    std::string kind_of(const json& step) const
    {
        const auto kind = JsonFields(step, refuse_, ErrorCode::ModelT1).string("type");
        if (!kind) refuse_.fail(ErrorCode::ModelT1, Text("a part of the tokenizer has no 'type'"));
        return *kind;
    }

    // The steps of a normalizer, pre-tokenizer or decoder, with nested sequences flattened.
    std::vector<const json*> steps(const char* key, const char* list) const
    {
        std::vector<const json*> open, flat;
        if (const json* first = root_.find(key)) open.push_back(first);
        while (!open.empty()) {
            const json* step = open.back();
            open.pop_back();
            if (kind_of(*step) != "Sequence") {
                flat.push_back(step);
            } else {
                const json* parts = JsonFields(*step, refuse_, ErrorCode::ModelT1).find(list);
                if (!parts || !parts->is_array())
                    refuse_.fail(ErrorCode::ModelT1, Text("a sequence of {0} has no parts", in_quotes(key)));
                if (parts->size() > max_steps) too_many_steps(key);
                for (auto part = parts->rbegin(); part != parts->rend(); ++part)
                    open.push_back(&*part);
            }
            if (flat.size() + open.size() > max_steps) too_many_steps(key);
        }
        return flat;
    }

    [[noreturn]] void too_many_steps(const char* key) const
    {
        refuse_.fail(ErrorCode::ModelT1, Text("{0} has more than {1} steps", in_quotes(key), max_steps),
                     Refusal::other_model());
    }

    void read_model_kind(const JsonFields& model)
    {
        const std::string kind = model.string("type").value_or("BPE");
        if (kind != "BPE")
            unsupported(Text("tokenizers of type {0} are not supported, only 'BPE'", in_quotes(kind)));
        for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (!model.string(affix).value_or("").empty())
                unsupported(Text("a vocabulary with {0} is not supported", in_quotes(affix)));
        byte_fallback_ = model.boolean("byte_fallback").value_or(false);
        vocabulary().ignore_merges = model.boolean("ignore_merges").value_or(false);
        vocabulary().fuse_unknown = model.boolean("fuse_unk").value_or(false);
        unknown_ = model.string("unk_token");
    }

    void read_normalizer()
    {
        for (const json* step : steps("normalizer", "normalizers")) {
            const std::string kind = kind_of(*step);
            const JsonFields fields(*step, refuse_, ErrorCode::ModelT1);
            if (kind == "NFC")
                vocabulary().normalizer = "nfc";
            else if (kind == "Prepend" && fields.string("prepend") == std::string(space_mark))
                vocabulary().add_space_prefix = true;
            else if (kind == "Replace" && replaces_spaces(fields))
                marks_spaces_ = true;
            else
                unsupported(Text("the normalizer {0} is not supported as this file uses it", in_quotes(kind)));
        }
    }

    bool replaces_spaces(const JsonFields& step) const
    {
        const json* pattern = step.find("pattern");
        return pattern && pattern->is_object() &&
               JsonFields(*pattern, refuse_, ErrorCode::ModelT1).string("String") == " " &&
               step.string("content") == std::string(space_mark);
    }

    void read_pre_tokenizer()
    {
        PreTokenizerSteps known;
        bool is_byte_level = false;
        const auto parts = steps("pre_tokenizer", "pretokenizers");
        for (const json* step : parts) {
            const std::string kind = kind_of(*step);
            const JsonFields fields(*step, refuse_, ErrorCode::ModelT1);
            if (is_byte_level) unsupported(Text("a pre-tokenizer with steps after 'ByteLevel' is not known"));
            if (kind == "ByteLevel") {
                is_byte_level = true;
                if (fields.boolean("add_prefix_space").value_or(true))
                    unsupported(Text("a byte-level vocabulary that adds a space before text is not supported"));
                if (fields.boolean("use_regex").value_or(true)) known.emplace_back("#bytes");
            } else if (kind == "Digits") {
                known.emplace_back(fields.boolean("individual_digits").value_or(false) ? "#digits individual"
                                                                                       : "#digits");
            } else if (kind == "Metaspace") {
                read_metaspace(fields, known);
            } else if (kind == "Split") {
                read_split(fields, known);
            } else {
                unsupported(Text("the pre-tokenizer {0} is not supported as this file uses it", in_quotes(kind)));
            }
        }
        vocabulary().alphabet = is_byte_level ? Vocabulary::Alphabet::Bytes : Vocabulary::Alphabet::Characters;
        if (!is_byte_level && !marks_spaces_)
            unsupported(Text("a vocabulary that is neither byte-level nor marks its spaces is not supported"));
        if (is_byte_level && (marks_spaces_ || byte_fallback_))
            unsupported(Text("a byte-level vocabulary that also marks its spaces is not supported"));
        if (known.empty() && !is_byte_level) return;
        vocabulary().pre_tokenizer = pre_tokenizer_with(known);
        if (vocabulary().pre_tokenizer.empty())
            unsupported(Text("its pre-tokenizer is not known (known are {0})", known_pre_tokenizers()));
    }

    void read_metaspace(const JsonFields& step, PreTokenizerSteps& known)
    {
        if (step.string("replacement").value_or(std::string(space_mark)) != space_mark)
            unsupported(Text("a pre-tokenizer 'Metaspace' with another mark than U+2581 is not supported"));
        marks_spaces_ = true;
        const std::string scheme = step.string("prepend_scheme").value_or("always");
        vocabulary().add_space_prefix = scheme != "never" && step.boolean("add_prefix_space").value_or(true);
        vocabulary().prefix_spares_spaces = true;
        if (step.boolean("split").value_or(true)) known.emplace_back("#metaspace");
    }

    void read_split(const JsonFields& step, PreTokenizerSteps& known) const
    {
        const json* pattern = step.find("pattern");
        if (!pattern || !pattern->is_object())
            refuse_.fail(ErrorCode::ModelT1, Text("a pre-tokenizer 'Split' has no pattern"));
        const JsonFields fields(*pattern, refuse_, ErrorCode::ModelT1);
        const std::string behavior = step.string("behavior").value_or("");
        const bool inverts = step.boolean("invert").value_or(false);
        // Gemma's pre-tokenizer splits at spaces, but Gemma's normalizer has replaced them all, so nothing is
        // split.
        if (fields.string("String") == " " && marks_spaces_) return;
        const auto expression = fields.string("Regex");
        if (!expression) unsupported(Text("a pre-tokenizer 'Split' at a fixed text is not supported"));
        // The known expressions leave no text between matches, so removing the text between them changes nothing.
        const bool isolates = (behavior == "Isolated" && !inverts) || (behavior == "Removed" && inverts);
        const std::string spelled = in_ascii(*expression);
        if (!isolates || spelled.starts_with('#'))
            unsupported(Text("a pre-tokenizer 'Split' with behavior {0} is not supported", in_quotes(behavior)));
        known.push_back(spelled);
    }

    // Tokens are decoded as the alphabet says, whatever the file's decoder; one with an unknown step is refused.
    void check_decoder() const
    {
        constexpr std::string_view known[] = {"ByteLevel", "ByteFallback", "Fuse", "Strip", "Replace", "Metaspace"};
        for (const json* step : steps("decoder", "decoders")) {
            const std::string kind = kind_of(*step);
            if (std::find(std::begin(known), std::end(known), kind) == std::end(known))
                unsupported(Text("the decoder {0} is not supported", in_quotes(kind)));
        }
    }

    TokenId checked_id(uint64_t id, const std::string& piece) const
    {
        if (id >= std::min(rows_, limits::vocabulary)) {
            refuse_.fail(
                ErrorCode::ModelT2,
                Text("the token {0} has id {1} but the embedding has {2} rows", in_quotes(piece), id, rows_),
                Text("use the tokenizer that belongs to the model"));
        }
        return static_cast<TokenId>(id);
    }

    // Unused ids keep an empty piece: embeddings may have more rows than the vocabulary has tokens.
    void place(const std::string& piece, TokenId id, int32_t type)
    {
        if (piece.empty() || piece.size() > limits::piece_bytes) {
            refuse_.fail(ErrorCode::ModelT3, Text("token {0} has {1} bytes, expected 1 to 4096", id, piece.size()));
        }
        const auto at = static_cast<size_t>(id);
        if (vocabulary().pieces.size() <= at) {
            vocabulary().pieces.resize(at + 1);
            vocabulary().types.resize(at + 1, type_unused);
        }
        std::string& place = vocabulary().pieces[at];
        if (!place.empty() && place != piece) {
            refuse_.fail(ErrorCode::ModelT2,
                         Text("the tokens {0} and {1} both have id {2}", in_quotes(place), in_quotes(piece), id));
        }
        const auto [known, is_new] = out_.ids.emplace(piece, id);
        if (!is_new && known->second != id) {
            refuse_.fail(ErrorCode::ModelT2,
                         Text("tokens {0} and {1} are both {2}", known->second, id, in_quotes(piece)));
        }
        place = piece;
        vocabulary().types[at] = type;
    }

    void read_pieces(const JsonFields& model)
    {
        const json* pieces = model.find("vocab");
        if (!pieces || !pieces->is_object())
            refuse_.fail(ErrorCode::ModelT1, Text("its model has no object 'vocab'"));
        for (const auto& [piece, id] : pieces->items()) {
            if (!id.is_number_unsigned())
                refuse_.fail(ErrorCode::ModelT2, Text("the id of {0} is not a number", in_quotes(piece)));
            const bool is_byte = byte_fallback_ && is_byte_spelling(piece);
            place(piece, checked_id(id.get<uint64_t>(), piece), is_byte ? type_byte : type_normal);
        }
        if (!unknown_) return;
        const auto at = out_.ids.find(*unknown_);
        if (at == out_.ids.end()) return;
        vocabulary().unknown = at->second;
        vocabulary().types[static_cast<size_t>(at->second)] = type_unknown;
    }

    void read_added_tokens()
    {
        const json* tokens = root_.find("added_tokens");
        if (!tokens) return;
        if (!tokens->is_array() || tokens->size() > limits::added_tokens)
            refuse_.fail(ErrorCode::ModelT7, Text("'added_tokens' is not a list of at most 65536 tokens"));
        for (const json& token : *tokens) {
            const JsonFields fields(token, refuse_, ErrorCode::ModelT7);
            const auto content = fields.string("content");
            const auto id = fields.integer("id");
            if (!content || !id) refuse_.fail(ErrorCode::ModelT7, Text("an added token has no content or no id"));
            const bool is_control = fields.boolean("special").value_or(false) || is_marker_spelling(*content);
            if (!is_control) check_plain_token(fields, *content);
            const TokenId known = checked_id(*id, *content);
            if (known == vocabulary().unknown) continue;
            const bool takes_space = fields.boolean("rstrip").value_or(false);
            place(*content, known,
                  is_control    ? type_control
                  : takes_space ? type_with_space_after
                                : type_user_defined);
        }
    }

    void check_plain_token(const JsonFields& token, const std::string& content) const
    {
        for (const char* flag : {"single_word", "lstrip"})
            if (token.boolean(flag).value_or(false))
                unsupported(
                    Text("the added token {0} with {1} is not supported", in_quotes(content), in_quotes(flag)));
        if (content.size() > AddedTokens::longest)
            unsupported(
                Text("the added token {0} is longer than {1} bytes", in_quotes(content), AddedTokens::longest));
        if (vocabulary_has_prefix() && token.boolean("normalized").value_or(true))
            unsupported(
                Text("the added token {0}, whose spelling is normalized, is not supported", in_quotes(content)));
    }

    bool vocabulary_has_prefix() const { return out_.vocabulary.add_space_prefix; }

    void read_merges(const json& model)
    {
        const auto list = model.find("merges");
        if (list == model.end() || !list->is_array())
            refuse_.fail(ErrorCode::ModelT4, Text("its model has no list 'merges'"));
        BpeMerges merges(out_.ids, refuse_, ErrorCode::ModelT4);
        for (const json& merge : *list) {
            if (merge.is_string()) {
                merges.add(std::string_view(merge.get_ref<const std::string&>()));
            } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
                merges.add(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>());
            } else {
                refuse_.fail(ErrorCode::ModelT4, Text("a merge is neither a string nor a pair"));
            }
        }
        vocabulary().merges = merges.take();
    }

    // Reads the tokens that precede a text. Tokens that follow it, such as an end of text, are for training only.
    void read_post_processor()
    {
        for (const json* step : steps("post_processor", "processors")) {
            const std::string kind = kind_of(*step);
            if (kind == "ByteLevel") continue; // affects offsets only
            if (kind != "TemplateProcessing")
                unsupported(Text("the post-processor {0} is not supported", in_quotes(kind)));
            const json* single = JsonFields(*step, refuse_, ErrorCode::ModelT1).find("single");
            if (!single || !single->is_array())
                refuse_.fail(ErrorCode::ModelT1, Text("the post-processor has no list 'single'"));
            for (const json& part : *single) {
                const JsonFields fields(part, refuse_, ErrorCode::ModelT1);
                if (fields.find("Sequence")) break;
                const json* special = fields.find("SpecialToken");
                if (!special) refuse_.fail(ErrorCode::ModelT1, Text("the post-processor has an unknown part"));
                add_prefix(JsonFields(*special, refuse_, ErrorCode::ModelT1).string("id").value_or(""));
            }
        }
    }

    void add_prefix(const std::string& token)
    {
        if (vocabulary().add_bos)
            unsupported(Text("a tokenizer that adds several tokens before a text is not supported"));
        const auto at = out_.ids.find(token);
        if (at == out_.ids.end())
            refuse_.fail(ErrorCode::ModelT7,
                         Text("the post-processor adds the token {0}, which does not exist", in_quotes(token)));
        vocabulary().bos = at->second;
        vocabulary().add_bos = true;
    }

    JsonFields root_;
    const Refusal& refuse_;
    uint64_t rows_;
    TokenizerJson out_;
    bool byte_fallback_ = false, marks_spaces_ = false;
    std::optional<std::string> unknown_;
};

} // namespace

TokenizerJson read_tokenizer_json(std::string_view text, uint64_t rows, const Refusal& refuse)
{
    const json root =
        parse_strict_json(text, {limits::json_depth, limits::tokenizer_json_values}, refuse, ErrorCode::ModelT1);
    return Reader(root, rows, refuse).read();
}

} // namespace palimpsest::engine
