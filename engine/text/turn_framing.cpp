#include "engine/text/turn_framing.h"

#include <optional>
#include <vector>

#include "engine/text/jinja/date.h"
#include "engine/text/jinja/template.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

using jinja::Dict;
using jinja::Template;
using jinja::Value;

constexpr size_t longest_framing = 65536; // bytes of all parts together

[[noreturn]] void refuse_template(const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::TemplateChangesText, Text("chat template"), what,
                Text("the model can be used with plain framing"));
}

// Stands for a message's text. Contains characters that a template changes if it escapes text.
std::string sentinel(const std::string& name)
{
    return "Qz" + name + " \"k\" <b> & 'l' \\ \xC3\xA9\n" + name + "zQ";
}

Value message(const std::string& role, const std::string& text, bool in_parts)
{
    Value content = text;
    if (in_parts) {
        Dict part;
        part.set("type", "text");
        part.set("text", text);
        content = Value::list({Value(std::move(part))});
    }
    Dict result;
    result.set("role", role);
    result.set("content", std::move(content));
    return result;
}

// The parts of a rendering before, between and after `texts`: [texts.size() + 1].
std::vector<std::string> split(std::string_view rendered, const std::vector<std::string>& texts)
{
    std::vector<std::string> parts;
    for (const std::string& text : texts) {
        const size_t at = rendered.find(text);
        if (at == std::string_view::npos)
            refuse_template(Text("it changes, moves or leaves out the text of a message"));
        parts.emplace_back(rendered.substr(0, at));
        rendered.remove_prefix(at + text.size());
        if (rendered.find(text) != std::string_view::npos)
            refuse_template(Text("it repeats the text of a message"));
    }
    parts.emplace_back(rendered);
    return parts;
}

bool is_blank(std::string_view text)
{
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

class Prober {
public:
    Prober(std::string_view source, const FramingInputs& inputs, bool in_parts)
        : template_(source), inputs_(inputs), in_parts_(in_parts)
    {
    }

    TurnFraming derive() const
    {
        const auto one = parts_of(1), two = parts_of(2), three = parts_of(3);
        const size_t user = inputs_.with_system ? 1 : 0; // index of the part before the first user text
        const std::string &generation = one[user + 1], &before_answer = two[user + 1], &next = two[user + 2];
        for (size_t i = 0; i <= user; ++i)
            if (two[i] != one[i] || three[i] != one[i])
                refuse_template(Text("it begins differently when more turns follow"));
        if (two.back() != generation || three.back() != generation || three[user + 2] != next ||
            three[user + 4] != next || three[user + 1] != before_answer || three[user + 3] != before_answer)
            refuse_template(Text("its turns differ by their position"));
        TurnFraming framing;
        framing.has_system = inputs_.with_system;
        if (framing.has_system) framing.before_system = one[0];
        framing.after_system = one[user];
        framing.close_user = generation;
        framing.close_assistant = next;
        if (before_answer.starts_with(generation) &&
            !is_blank(std::string_view(before_answer).substr(generation.size())))
            framing.close_user = before_answer; // there is no generation prompt, or it is incomplete
        if (is_blank(framing.close_user))
            refuse_template(Text("it prints nothing between a question and its answer"));
        const size_t bytes = framing.before_system.size() + framing.after_system.size() +
                             framing.close_user.size() + framing.close_assistant.size();
        if (bytes > longest_framing)
            refuse_template(
                Text("it prints {0} bytes around the texts of a turn, the limit is {1}", bytes, longest_framing));
        find_trims(generation, framing);
        return framing;
    }

private:
    std::string render(const std::vector<std::string>& texts) const
    {
        std::vector<Value> messages;
        size_t at = 0;
        if (inputs_.with_system) messages.push_back(message("system", texts[at++], in_parts_));
        for (bool is_user = true; at < texts.size(); ++at, is_user = !is_user)
            messages.push_back(message(is_user ? "user" : "assistant", texts[at], in_parts_));
        Dict context;
        context.set("messages", Value::list(std::move(messages)));
        context.set("add_generation_prompt", true);
        context.set("enable_thinking", false);
        context.set("tools", jinja::None{});
        context.set("documents", jinja::None{});
        context.set("bos_token", inputs_.bos);
        context.set("eos_token", inputs_.eos);
        context.set("unk_token", inputs_.unknown);
        return template_.render(context, jinja::date_of(inputs_.date));
    }
    std::vector<std::string> texts_of(size_t turns) const
    {
        std::vector<std::string> texts;
        if (inputs_.with_system) texts.push_back(sentinel("system"));
        for (size_t turn = 1; turn <= turns; ++turn) {
            if (turn > 1) texts.push_back(sentinel("answer" + std::to_string(turn - 1)));
            texts.push_back(sentinel("user" + std::to_string(turn)));
        }
        return texts;
    }
    std::vector<std::string> parts_of(size_t turns) const
    {
        const auto texts = texts_of(turns);
        return split(render(texts), texts);
    }
    void find_trims(const std::string& generation, TurnFraming& framing) const
    {
        auto texts = texts_of(1);
        auto padded = texts;
        padded.back() = " \n" + padded.back() + "\n ";
        const auto parts = split(render(padded), texts);
        framing.trims_start = parts[parts.size() - 2] == framing.after_system;
        framing.trims_end = parts.back() == generation;
    }

    Template template_;
    const FramingInputs& inputs_;
    bool in_parts_;
};

} // namespace

// Some templates accept the content of a message only as a list of parts, so that form is tried second.
TurnFraming derive_framing(std::string_view source, const FramingInputs& inputs)
{
    try {
        return Prober(source, inputs, false).derive();
    } catch (const Error& first) {
        try {
            return Prober(source, inputs, true).derive();
        } catch (const Error&) {
            throw first;
        }
    }
}

} // namespace palimpsest::engine
