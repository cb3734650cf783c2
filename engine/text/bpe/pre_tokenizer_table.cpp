#include "engine/text/bpe/pre_tokenizer_table.h"

namespace palimpsest::engine {
namespace {

using Steps = std::span<const std::string_view>;

// GPT-2's expression, named ByteLevel in tokenizer.json.
constexpr std::string_view gpt2 = R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// One expression for two steps: split off single digits, then apply GPT-2's expression to the text between them.
// That text ends at a digit, so all white space before a digit is one match, as at the end of the text.
constexpr std::string_view single_digits_then_gpt2 =
    R"(\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+)";

constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
// The spelling of cl100k_base. It gives the same pieces as `llama3`, despite its possessive quantifiers and its
// \s*[\r\n].
constexpr std::string_view cl100k =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s+)";

constexpr std::string_view qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr std::string_view bailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|)"
    R"(\s+(?!\S)|\s+)";

constexpr std::string_view qwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view tekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view gpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// DeepSeek's first models split a line in several passes: at cased letters, at punctuation, and at DEEPSEEK_CJK.
// The three character sets are copied from the models' tokenizer.json.
#define DEEPSEEK_LETTERS                                                                                           \
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-)"                \
    R"(\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-)"           \
    R"(\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-)"             \
    R"(\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"             \
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-)"            \
    R"(\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"               \
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-)"            \
    R"(\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"               \
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149})"              \
    R"(\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3})"               \
    R"(\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-)"            \
    R"(\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"           \
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"           \
    R"(\x{1E900}-\x{1E943})"
#define DEEPSEEK_PUNCTUATION R"(!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002})"
#define DEEPSEEK_CJK R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)"
constexpr std::string_view lines = R"([\r\n]|[^\r\n]+)";
// White space at the end of a piece. The published \s+$ takes time quadratic in the length of a run of white space
// if text follows the run.
constexpr std::string_view blanks_at_end = R"((?<!\s)\s+\z)";
constexpr std::string_view deepseek_letters = R"(\s?[)" DEEPSEEK_LETTERS R"(]+)";
constexpr std::string_view deepseek_punctuation = R"(\s?[)" DEEPSEEK_PUNCTUATION R"(]+)";
constexpr std::string_view deepseek_cjk = DEEPSEEK_CJK;
constexpr std::string_view number = R"(\p{N}+)", digit = R"(\p{N})";
constexpr std::string_view line_end = R"([\r\n])";
constexpr std::string_view published_blanks_at_end = R"(\s+$)";

// With DeepSeek-V3's expressions, no pre-token continues past a line end that is followed by a non-blank.
constexpr std::string_view paragraphs = R"((?s:.*?[\r\n](?!\s))|(?s:.+))";
constexpr std::string_view groups_of_three = R"(\p{N}{1,3})";
constexpr std::string_view deepseek_v3_cjk = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view deepseek_v3_main =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view punctuation_runs = R"([!-/:-@\[-`{-~\p{P}]+|[^!-/:-@\[-`{-~\p{P}]+)";
constexpr std::string_view three_digits = "[0-9][0-9][0-9]";

// Every space or U+2581 begins a pre-token.
constexpr std::string_view spaces_before_words = R"([ \x{2581}][^ \x{2581}]*|[^ \x{2581}]+)";
constexpr std::string_view line_end_runs = R"(\n+|[^\n]+)";

constexpr std::string_view bytes_step = "#bytes", digits_step = "#digits",
                           single_digits_step = "#digits individual";
constexpr std::string_view metaspace_step = "#metaspace";

// The steps of each pre-tokenizer as tokenizer.json lists them.
constexpr std::array gpt2_form = {bytes_step};
constexpr std::array smollm_form = {single_digits_step, bytes_step};
constexpr std::array llama3_form = {llama3}, cl100k_form = {cl100k};
constexpr std::array qwen2_form = {qwen2}, bailing_form = {bailing};
constexpr std::array qwen35_form = {qwen35};
constexpr std::array tekken_form = {tekken};
constexpr std::array gpt4o_form = {gpt4o};
constexpr std::array deepseek_llm_form = {
    line_end, deepseek_letters, deepseek_punctuation, published_blanks_at_end, deepseek_cjk, digits_step};
constexpr std::array deepseek_llm_digits_form = {
    line_end, deepseek_letters, deepseek_punctuation, published_blanks_at_end, deepseek_cjk, single_digits_step};
constexpr std::string_view letters = R"(\s?\p{L}+)", punctuation = R"(\s?\p{P}+)";
constexpr std::array deepseek_coder_form = {line_end, letters, punctuation, deepseek_cjk, single_digits_step};
constexpr std::array deepseek_v3_form = {groups_of_three, deepseek_v3_cjk, deepseek_v3_main};
constexpr std::array metaspace_form = {metaspace_step};

constexpr std::array<Steps, 1> gpt2_forms = {gpt2_form}, smollm_forms = {smollm_form}, qwen35_forms = {qwen35_form},
                               tekken_forms = {tekken_form}, gpt4o_forms = {gpt4o_form},
                               deepseek_llm_forms = {deepseek_llm_form},
                               deepseek_llm_digits_forms = {deepseek_llm_digits_form},
                               deepseek_coder_forms = {deepseek_coder_form}, deepseek_v3_forms = {deepseek_v3_form},
                               metaspace_forms = {metaspace_form};
constexpr std::array<Steps, 2> llama3_forms = {llama3_form, cl100k_form}, qwen2_forms = {qwen2_form, bailing_form};

// The steps that split segments further (PreTokenizerEntry::steps).
constexpr std::array deepseek_llm_steps = {deepseek_letters, deepseek_punctuation, blanks_at_end, deepseek_cjk,
                                           number};
constexpr std::array deepseek_llm_digits_steps = {deepseek_letters, deepseek_punctuation, blanks_at_end,
                                                  deepseek_cjk, digit};
constexpr std::array deepseek_coder_steps = {letters, punctuation, deepseek_cjk, digit};
constexpr std::array deepseek_v3_steps = {groups_of_three, deepseek_v3_cjk, deepseek_v3_main};
constexpr std::string_view ascii_digits = "[0-9]+";
constexpr std::array falcon_steps = {gpt2, ascii_digits, three_digits};
constexpr std::array default_steps = {gpt2, number, three_digits};
constexpr std::string_view default_punctuation = R"([\p{P}$+<=>^~|]+|[^\p{P}$+<=>^~|]+)";

constexpr PreTokenizerEntry table[] = {
    {"gpt-2", gpt2, {}, gpt2_forms},
    {"smollm", single_digits_then_gpt2, {}, smollm_forms},
    {"llama3", llama3, {}, llama3_forms},
    {"qwen2", qwen2, {}, qwen2_forms},
    {"qwen35", qwen35, {}, qwen35_forms},
    {"tekken", tekken, {}, tekken_forms},
    {"gpt-4o", gpt4o, {}, gpt4o_forms},
    {"deepseek-llm", lines, deepseek_llm_steps, deepseek_llm_forms},
    {"deepseek-llm-digits", lines, deepseek_llm_digits_steps, deepseek_llm_digits_forms},
    {"deepseek-coder", lines, deepseek_coder_steps, deepseek_coder_forms},
    {"deepseek-v3", paragraphs, deepseek_v3_steps, deepseek_v3_forms},
    {"falcon", punctuation_runs, falcon_steps, {}},
    {"default", default_punctuation, default_steps, {}},
    {"metaspace", spaces_before_words, {}, metaspace_forms},
    {"lines", line_end_runs, {}, {}},
};

constexpr GgufPreTokenizerEntry gguf_table[] = {
    {"default", "default", false, false},
    {"gpt-2", "gpt-2", false, false},
    {"phi-2", "gpt-2", false, false},
    {"gigachat", "gpt-2", false, false},
    {"a.x-4.0", "gpt-2", false, false},
    {"mellum", "gpt-2", false, false},
    {"mpt", "gpt-2", false, false},
    {"olmo", "gpt-2", false, false},
    {"exaone4", "gpt-2", false, false},
    {"granite-docling", "gpt-2", false, false},
    {"trillion", "gpt-2", false, false},
    {"smollm", "smollm", false, false},
    {"starcoder", "smollm", false, false},
    {"refact", "smollm", false, false},
    {"command-r", "smollm", false, false},
    {"codeshell", "smollm", false, false},
    {"exaone", "smollm", false, false},
    {"minerva-7b", "smollm", false, false},
    {"llama3", "llama3", true, true},
    {"llama-v3", "llama3", true, true},
    {"llama-bpe", "llama3", true, true},
    {"falcon3", "llama3", true, true},
    {"falcon-h1", "llama3", true, true},
    {"pixtral", "llama3", true, true},
    {"midm-2.0", "llama3", true, true},
    {"lfm2", "llama3", true, true},
    {"dbrx", "llama3", false, false},
    {"smaug-bpe", "llama3", false, false},
    {"chatglm-bpe", "llama3", false, false},
    {"glm4", "llama3", false, true},
    {"glm5", "llama3", false, true},
    {"qwen2", "qwen2", false, false},
    {"deepseek-r1-qwen", "qwen2", false, false},
    {"kormo", "qwen2", false, false},
    {"f2llmv2", "qwen2", false, false},
    {"megrez", "qwen2", false, false},
    {"stablelm2", "qwen2", false, false},
    {"hunyuan", "qwen2", false, false},
    {"solar-open", "qwen2", false, false},
    {"bailingmoe", "qwen2", false, false},
    {"bailingmoe2", "qwen2", false, false},
    {"llada-moe", "qwen2", false, false},
    {"qwen35", "qwen35", false, false},
    {"tekken", "tekken", true, true},
    {"gpt-4o", "gpt-4o", false, false},
    {"llama4", "gpt-4o", false, false},
    {"kanana2", "gpt-4o", false, false},
    {"talkie", "gpt-4o", false, false},
    {"deepseek-llm", "deepseek-llm", false, false},
    {"deepseek-coder", "deepseek-coder", false, false},
    {"deepseek-v3", "deepseek-v3", false, false},
    {"hunyuan-dense", "deepseek-v3", false, false},
    {"falcon", "falcon", false, false},
};

} // namespace

std::span<const PreTokenizerEntry> pre_tokenizer_table()
{
    return table;
}

std::span<const GgufPreTokenizerEntry> gguf_pre_tokenizer_table()
{
    return gguf_table;
}

} // namespace palimpsest::engine
