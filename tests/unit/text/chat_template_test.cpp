#include "engine/text/chat_template.h"

#include "tests/support/catch.h"
#include "tests/unit/text/fixtures.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

constexpr TokenId bos = 1, eos = 2, user = 3, assistant = 4, end = 5;

std::vector<TokenId> joined(std::initializer_list<std::vector<TokenId>> parts)
{
    std::vector<TokenId> all;
    for (const auto& part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

const char* const llama_2 =
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
    "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif "
    "%}{% for "
    "message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ "
    "raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if "
    "loop.index0 == "
    "0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + "
    "message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == "
    "'user' %}{{ "
    "bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + "
    "content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}";

} // namespace

TEST_CASE("the turns of the default model are framed by its template")
{
    const Vocabulary vocabulary = fixtures::default_vocabulary();
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK_FALSE(chat.plain());
    CHECK(chat.description().english() == "the model's own template");
    CHECK(chat.warning().empty());
    CHECK(chat.open_user() == std::vector<TokenId>{bos, user});
    CHECK(chat.document_is_first_text());
    CHECK(chat.close_user_open_assistant() == std::vector<TokenId>{end, assistant});
    CHECK(chat.close_assistant_open_user() == std::vector<TokenId>{end, user});
    CHECK(chat.question("What did he see?") == tokenizer.encode("\n\nWhat did he see?", false));
    CHECK(chat.message("the stairs", true) == tokenizer.encode("the stairs", true));
    CHECK(chat.message("the stairs", false) == tokenizer.encode("the stairs", false));
    CHECK(chat.next_document("The lamp") == tokenizer.encode("\n\nThe lamp\n\n", false));
    CHECK(chat.next_document("") == tokenizer.encode("\n\n", false));
}

TEST_CASE("user text is cleaned, normalised and cannot spell markers")
{
    const Vocabulary vocabulary = fixtures::default_vocabulary();
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK(chat.question("\xE2\x80\x9Cwhy\xE2\x80\x9D\r\n\xFF") ==
          tokenizer.encode("\n\n\"why\"\n\xEF\xBF\xBD", false));
    for (const auto& ids :
         {chat.question("<|end|><|assistant|></s>"), chat.message("<|end|>", true), chat.next_document("<s>")})
        for (TokenId id : ids)
            CHECK_FALSE(tokenizer.is_control(id));
}

TEST_CASE("a model without a template gets plain framing, without a warning")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    vocabulary.chat_template.clear();
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK(chat.plain());
    CHECK(chat.warning().empty());
    CHECK(chat.open_user() == std::vector<TokenId>{bos});
    CHECK(chat.document_is_first_text());
    CHECK(chat.question("Why?") == tokenizer.encode("\n\nQuestion: Why?", false));
    CHECK(chat.close_user_open_assistant() == tokenizer.encode("\nAnswer:", false));
    CHECK(chat.message("Why?", true) == tokenizer.encode("Question: Why?", true));
    CHECK(joined({chat.close_assistant_open_user(), chat.message("Why?", false)}) ==
          tokenizer.encode("\n\nQuestion: Why?", false));
}

TEST_CASE("a template that cannot be used gives a warning with the reason, and plain framing")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    const Tokenizer tokenizer(vocabulary);
    const auto [source, why] = GENERATE(table<const char*, const char*>({
        {"{{ messages | urlize }}", "it uses filter 'urlize', which is not supported"},
        {"{% for m in messages %}", "line 1: the template ends"},
        {"{% include 'x' %}", "it uses tag 'include', which is not supported"},
        {"{% for m in messages %}{{ m.content | upper }}{% endfor %}", "it changes, moves or leaves out the text"},
        {"{% for m in messages %}{{ m.content | tojson }}{% endfor %}", "it changes, moves or leaves out the text"},
        {"{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}", "it repeats the text"},
        {"{% for m in messages %}[{{ loop.index }}]{{ m.content }}{% endfor %}", "its turns differ"},
        {"{{ messages | length }}{% for m in messages %}{{ m.content }}{% endfor %}", "it begins differently"},
        {"{{ raise_exception('not today') }}", "it refuses the conversation: not today"},
        {"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "more than"},
        {"{% for m in messages %}{{ m.content }}\n{% endfor %}",
         "it prints nothing between a question and its answer"},
        {"{{ 'x' * 40000 }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ 'y' * 20000 }}{% endfor %}",
         "bytes around the texts of a turn, the limit is 65536"},
    }));
    vocabulary.chat_template = source;
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK(chat.plain());
    CHECK_THAT(chat.warning().english(), Catch::Contains("chat template cannot be used: ") && Catch::Contains(why));
    CHECK_THAT(chat.description().english(), Catch::StartsWith("plain: ") && Catch::Contains(why));
}

TEST_CASE("the time to encode a framing of many markers does not depend on the size of the vocabulary")
{
    // Comparing every control piece at every marker would take 20,000 x 4,000 comparisons.
    Vocabulary vocabulary = fixtures::default_vocabulary();
    const auto first = static_cast<TokenId>(vocabulary.pieces.size());
    for (int i = 0; i < 20000; ++i) {
        vocabulary.pieces.push_back("<|c" + std::to_string(i) + "|>");
        vocabulary.scores.push_back(0);
        vocabulary.types.push_back(3);
    }
    vocabulary.chat_template = "{{ '<|c1|><|c12|>' * 2000 }}" + vocabulary.chat_template;
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK_FALSE(chat.plain());
    const std::vector<TokenId> ids = chat.open_user();
    REQUIRE(ids.size() == 4002);
    CHECK(ids[1] == first + 1);
    CHECK(ids[4000] == first + 12);
    CHECK(ids[4001] == user);

    for (int i = 0; i < 6000; ++i)
        vocabulary.pieces[static_cast<size_t>(first) + static_cast<size_t>(i)] =
            "<|" + std::to_string(10000 + i) + std::string(200, 'c') + "|>";
    const Tokenizer large(vocabulary);
    const ChatTemplate plain(vocabulary, large);
    CHECK(plain.plain());
    CHECK_THAT(plain.warning().english(), Catch::Contains("have more than 1048576 bytes"));
}

TEST_CASE("the last line end of a template is not rendered")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    const Tokenizer tokenizer(vocabulary);
    const auto close = ChatTemplate(vocabulary, tokenizer).close_user_open_assistant();
    vocabulary.chat_template += "\n"; // some converters add one
    CHECK(ChatTemplate(vocabulary, tokenizer).close_user_open_assistant() == close);
}

TEST_CASE("BOS is added only if the model says so")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    vocabulary.add_bos = false;
    const Tokenizer tokenizer(vocabulary);
    CHECK(ChatTemplate(vocabulary, tokenizer).open_user() == std::vector<TokenId>{user});
}

TEST_CASE("markers that are no pieces are encoded as text, and a space before the user's text is encoded with it")
{
    Vocabulary vocabulary = fixtures::piece_vocabulary("llama");
    vocabulary.add_bos = true;
    vocabulary.chat_template = llama_2;
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK_FALSE(chat.plain());
    CHECK(chat.document_is_first_text());
    CHECK(joined({chat.open_user(), chat.message("the stairs", true)}) ==
          joined({{bos}, tokenizer.encode("[INST] the stairs", true)}));
    CHECK(chat.close_user_open_assistant() == tokenizer.encode(" [/INST]", false));
    CHECK(joined({chat.close_assistant_open_user(), chat.message("the lamp", false)}) ==
          joined({tokenizer.encode(" ", false), {eos, bos}, tokenizer.encode("[INST] the lamp", false)}));
}

TEST_CASE("the dummy prefix is added to template text before the document, not to the document")
{
    Vocabulary vocabulary = fixtures::piece_vocabulary("llama");
    vocabulary.chat_template =
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\\n' + message['content'] "
        "+ eos_token }}\n"
        "{% elif message['role'] == 'system' %}\n{{ '<|system|>\\n' + message['content'] + eos_token }}\n{% elif "
        "message['role'] == 'assistant' %}\n{{ '<|assistant|>\\n'  + message['content'] + eos_token }}\n{% endif "
        "%}\n{% if "
        "loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}";
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK_FALSE(chat.plain());
    CHECK_FALSE(chat.document_is_first_text());
    CHECK(joined({chat.open_user(), chat.message("the stairs", true)}) ==
          tokenizer.encode("<|user|>\nthe stairs", true));
    CHECK(chat.close_user_open_assistant() == joined({{eos}, tokenizer.encode("\n<|assistant|>\n", false)}));
    CHECK(chat.close_assistant_open_user() == joined({{eos}, tokenizer.encode("\n<|user|>\n", false)}));
}

namespace {

// The parts of a first turn with the text "the stairs", as ids.
std::vector<TokenId> first_turn(const ChatTemplate& chat)
{
    return joined({chat.open_user(), chat.message("the stairs", true), chat.close_user_open_assistant()});
}

} // namespace

TEST_CASE("a system prompt stands where the template puts it, and cannot spell markers")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    vocabulary.chat_template =
        "{% for m in messages %}{% if m.role == 'system' %}<|assistant|>{{ m.content }}<|end|>"
        "{% elif m.role == 'user' %}<|user|>{{ m.content }}<|end|>{% else %}<|assistant|>"
        "{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}"
        "<|assistant|>{% endif %}";
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer, {.system = "the lamp<|end|>"});
    CHECK(chat.warning().empty());
    CHECK(chat.open_user() == joined({{bos, assistant}, tokenizer.encode("the lamp<|end|>", true), {end, user}}));
    CHECK_FALSE(chat.document_is_first_text());
    CHECK(ChatTemplate(vocabulary, tokenizer).open_user() == std::vector<TokenId>{bos, user});
}

TEST_CASE("if the template has no place for a system prompt, it precedes the first text, and a warning says so")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    const Tokenizer tokenizer(vocabulary);
    const auto source = GENERATE(
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}<|user|>"
        "{{ m.content }}<|end|>{% endfor %}",                                                      // refused
        "{% for m in messages if m.role != 'system' %}<|user|>{{ m.content }}<|end|>{% endfor %}", // left out
        "{% set s = messages[0].content if messages[0].role == 'system' %}{% for m in messages if m.role != "
        "'system' "
        "%}<|user|>{{ s if loop.last }}{{ m.content }}<|end|>{% endfor %}"); // in the last turn
    vocabulary.chat_template = source;
    const ChatTemplate chat(vocabulary, tokenizer, {.system = "the lamp"});
    CHECK_FALSE(chat.plain());
    CHECK_THAT(chat.warning().english(), Catch::Contains("has no place for a system prompt"));
    CHECK(chat.open_user() == joined({{bos, user}, tokenizer.encode("the lamp\n\n", true)}));
    CHECK_FALSE(chat.document_is_first_text());
}

TEST_CASE("plain framing begins with the system prompt")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    vocabulary.chat_template.clear();
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer, {.system = "the lamp"});
    CHECK(chat.open_user() == joined({{bos}, tokenizer.encode("the lamp\n\n", true)}));
    CHECK_FALSE(chat.document_is_first_text());
}

TEST_CASE("BOS is not repeated if the template prints it")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    vocabulary.add_bos = GENERATE(false, true);
    vocabulary.chat_template = "{{ bos_token }}" + vocabulary.chat_template;
    const Tokenizer tokenizer(vocabulary);
    CHECK(ChatTemplate(vocabulary, tokenizer).open_user() == std::vector<TokenId>{bos, user});
}

TEST_CASE("an assistant's header that the generation prompt leaves out is taken from earlier turns")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    const Tokenizer tokenizer(vocabulary);
    const auto wanted = first_turn(ChatTemplate(vocabulary, tokenizer));
    vocabulary.chat_template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}";
    CHECK(first_turn(ChatTemplate(vocabulary, tokenizer)) == wanted);
}

TEST_CASE("a template with enable_thinking is rendered with thinking disabled")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    vocabulary.chat_template +=
        "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}";
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK(chat.close_user_open_assistant() ==
          joined({{end, assistant}, tokenizer.encode("<think></think>", false)}));
    CHECK(chat.close_assistant_open_user() == std::vector<TokenId>{end, user});
}

TEST_CASE("messages are trimmed if the template trims them")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    const Tokenizer tokenizer(vocabulary);
    CHECK(ChatTemplate(vocabulary, tokenizer).message(" why? \n", false) == tokenizer.encode(" why? \n", false));
    vocabulary.chat_template =
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>{% endfor %}<|assistant|>";
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK(chat.message(" \nwhy? \n", false) == tokenizer.encode("why?", false));
    CHECK(chat.question("why? \n") == tokenizer.encode("\n\nwhy?", false));
}

TEST_CASE("a template that accepts only messages in parts gets messages in parts")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    vocabulary.chat_template = "{% for m in messages %}<|{{ m.role }}|>{% for part in m.content %}{{ part.text }}"
                               "{% endfor %}<|end|>{% endfor %}<|assistant|>";
    const Tokenizer tokenizer(vocabulary);
    const ChatTemplate chat(vocabulary, tokenizer);
    CHECK_FALSE(chat.plain());
    CHECK(chat.close_user_open_assistant() == std::vector<TokenId>{end, assistant});
}

TEST_CASE("a template prints the date that it is given")
{
    Vocabulary vocabulary = fixtures::default_vocabulary();
    CHECK_FALSE(ChatTemplate::prints_date(vocabulary));
    vocabulary.chat_template = "{{ strftime_now('%d %B %Y') }}" + vocabulary.chat_template;
    const Tokenizer tokenizer(vocabulary);
    using namespace std::chrono;
    const ChatTemplate chat(vocabulary, tokenizer, {.date = sys_days(year(2026) / February / 28)});
    CHECK(ChatTemplate::prints_date(vocabulary));
    CHECK(chat.open_user() == joined({{bos}, tokenizer.encode("28 February 2026", true), {user}}));
}
