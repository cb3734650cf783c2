#include "engine/text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/string_escapes.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

constexpr size_t longest_name = 1000; // bytes; every lookup of a variable compares names

// Replaces every line end by "\n" and drops the last one, as Jinja does.
std::string with_plain_line_ends(std::string_view source)
{
    std::string out;
    for (size_t at = 0; at < source.size(); ++at) {
        if (source[at] != '\r') {
            out += source[at];
            continue;
        }
        out += '\n';
        if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

bool is_name_start(char32_t code)
{
    return code == '_' || is_letter(code);
}

bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

class Lexer {
public:
    explicit Lexer(std::string_view source) : source_(with_plain_line_ends(source)) {}

    std::vector<Token> run()
    {
        while (at_ < source_.size())
            read_data();
        add(Token::Kind::End, "");
        return std::move(tokens_);
    }

private:
    enum class Tag { None, Block, Print, Comment };

    std::string_view rest() const { return std::string_view(source_).substr(at_); }
    bool looking_at(std::string_view text) const { return rest().starts_with(text); }
    void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
    void advance(size_t count)
    {
        line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                             source_.begin() + static_cast<std::ptrdiff_t>(at_ + count), '\n'));
        at_ += count;
        line_starts_ = count > 0 && source_[at_ - 1] == '\n';
    }
    void skip_space()
    {
        const std::string_view text = rest();
        const size_t kept = strip(text, true, false, is_space).size();
        if (text.size() > kept) advance(text.size() - kept);
    }

    static Tag tag_of(std::string_view text)
    {
        if (text.starts_with("{%")) return Tag::Block;
        if (text.starts_with("{{")) return Tag::Print;
        return text.starts_with("{#") ? Tag::Comment : Tag::None;
    }
    size_t next_tag(size_t from) const
    {
        for (size_t at = source_.find('{', from); at != std::string::npos; at = source_.find('{', at + 1))
            if (tag_of(std::string_view(source_).substr(at)) != Tag::None) return at;
        return source_.size();
    }

    // Reads text up to the next tag, then the tag.
    void read_data()
    {
        const size_t end = next_tag(at_);
        const Tag tag = tag_of(std::string_view(source_).substr(end));
        const char sign = tag == Tag::None || end + 2 >= source_.size() ? ' ' : source_[end + 2];
        add_data(end, tag, sign);
        if (tag == Tag::None) return;
        const int line = line_;
        advance(sign == '-' || sign == '+' ? 3 : 2);
        if (tag == Tag::Comment) return read_comment(line);
        if (tag == Tag::Block && read_raw()) return;
        add(tag == Tag::Block ? Token::Kind::BlockBegin : Token::Kind::PrintBegin, "");
        read_tag(tag);
    }
    // Adds the text before a tag, without the white space that the tag or lstrip_blocks removes.
    void add_data(size_t end, Tag tag, char sign)
    {
        std::string_view text = std::string_view(source_).substr(at_, end - at_);
        if (tag != Tag::None && sign == '-') {
            text = strip(text, false, true, is_space);
        } else if (tag != Tag::None && tag != Tag::Print && sign != '+') {
            const size_t line_end = text.rfind('\n');
            const size_t line_begin = line_end == std::string_view::npos ? 0 : line_end + 1;
            if ((line_begin > 0 || line_starts_) && strip_space(text.substr(line_begin)).empty())
                text = text.substr(0, line_begin);
        }
        if (!text.empty()) add(Token::Kind::Data, std::string(text));
        if (end > at_) advance(end - at_);
    }

    // Called at the end of a block tag or comment: a "-" there removes all white space that follows; without a
    // sign, trim_blocks removes a line end.
    void close(char sign)
    {
        if (sign == '-')
            skip_space();
        else if (sign != '+' && looking_at("\n"))
            advance(1);
    }
    void read_comment(int line)
    {
        const size_t end = source_.find("#}", at_);
        if (end == std::string::npos) fail_syntax(line, Text("a comment is not closed"));
        const char sign = end > at_ ? source_[end - 1] : ' ';
        advance(end + 2 - at_);
        close(sign == '-' || sign == '+' ? sign : ' ');
    }
    // Reads {% raw %}: the text up to {% endraw %} is data.
    bool read_raw()
    {
        const std::string_view inside = strip(rest(), true, false, is_space);
        if (!inside.starts_with("raw")) return false;
        const std::string_view behind = strip(inside.substr(3), true, false, is_space);
        const bool strips = behind.starts_with("-%}");
        if (!strips && !behind.starts_with("%}")) return false;
        advance(rest().size() - behind.size() + (strips ? 3 : 2));
        if (strips) skip_space();
        const int line = line_;
        for (size_t at = next_tag(at_); at < source_.size(); at = next_tag(at + 1))
            if (end_raw(at)) return true;
        fail_syntax(line, Text("'raw' is not closed"));
    }
    bool end_raw(size_t at)
    {
        std::string_view text = std::string_view(source_).substr(at);
        if (!text.starts_with("{%")) return false;
        const char sign = text.size() > 2 ? text[2] : ' ';
        text = strip(text.substr(sign == '-' || sign == '+' ? 3 : 2), true, false, is_space);
        if (!text.starts_with("endraw")) return false;
        text = strip(text.substr(6), true, false, is_space);
        const char close_sign = text.empty() ? ' ' : text.front();
        if (close_sign == '-' || close_sign == '+') text.remove_prefix(1);
        if (!text.starts_with("%}")) return false;
        add_data(at, Tag::Block, sign);
        advance(rest().size() - text.size() + 2);
        close(close_sign);
        return true;
    }

    void read_tag(Tag tag)
    {
        const int line = line_;
        std::string open; // open brackets, the innermost last
        while (at_ < source_.size()) {
            if (open.empty() && end_tag(tag)) return;
            read_token(open);
        }
        fail_syntax(line, Text("a tag is not closed"));
    }
    bool end_tag(Tag tag)
    {
        const char sign = source_[at_];
        const size_t size = sign == '-' || (sign == '+' && tag == Tag::Block) ? 3 : 2;
        if (!rest().substr(size - 2).starts_with(tag == Tag::Block ? "%}" : "}}")) return false;
        add(tag == Tag::Block ? Token::Kind::BlockEnd : Token::Kind::PrintEnd, "");
        advance(size);
        if (tag == Tag::Block)
            close(size == 3 ? sign : ' ');
        else if (size == 3)
            skip_space();
        return true;
    }

    void read_token(std::string& open)
    {
        size_t size = 0;
        const char32_t code = next_code_point(rest(), size);
        if (is_space(code)) return advance(size);
        if (is_name_start(code)) return read_name();
        if (code < 0x80 && is_digit(static_cast<char>(code))) return read_number();
        if (code == '\'' || code == '"') return read_string(static_cast<char>(code));
        read_operator(open);
    }
    void read_name()
    {
        size_t end = 0;
        while (end < rest().size()) {
            size_t next = end;
            const char32_t code = next_code_point(rest(), next);
            if (!is_name_start(code) && !is_decimal(code)) break;
            end = next;
        }
        if (end > longest_name) fail_syntax(line_, Text("a name has more than {0} bytes", longest_name));
        add(Token::Kind::Name, std::string(rest().substr(0, end)));
        advance(end);
    }
    size_t digits(size_t from) const
    {
        const std::string_view text = rest();
        size_t end = from;
        while (end < text.size() && (is_digit(text[end]) || (text[end] == '_' && end > from &&
                                                             end + 1 < text.size() && is_digit(text[end + 1]))))
            ++end;
        return end;
    }
    void read_number()
    {
        const std::string_view text = rest();
        const bool has_base =
            text.size() > 2 && text[0] == '0' && std::string_view("xXoObB").find(text[1]) != std::string::npos;
        if (has_base) fail_syntax(line_, Text("a number is not decimal"));
        size_t end = digits(0);
        bool is_float = false;
        if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
            is_float = true;
            end = digits(end + 1);
        }
        if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
            const size_t sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? 1 : 0;
            const size_t exponent = digits(end + 1 + sign);
            if (exponent > end + 1 + sign) {
                is_float = true;
                end = exponent;
            }
        }
        std::string number(text.substr(0, end));
        std::erase(number, '_');
        add(is_float ? Token::Kind::Float : Token::Kind::Integer, std::move(number));
        advance(end);
    }
    void read_string(char quote)
    {
        const std::string_view text = rest();
        size_t end = 1;
        while (end < text.size() && text[end] != quote)
            end += text[end] == '\\' ? 2 : 1;
        if (end >= text.size()) fail_syntax(line_, Text("a string is not closed"));
        add(Token::Kind::String, without_escapes(text.substr(1, end - 1), line_));
        advance(end + 1);
    }
    void read_operator(std::string& open)
    {
        constexpr std::array<std::string_view, 26> operators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                                "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                                ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
        const auto* found = std::find_if(operators.begin(), operators.end(),
                                         [&](std::string_view symbol) { return looking_at(symbol); });
        if (found == operators.end())
            fail_syntax(line_, Text("the character '{0}' is unexpected", printable(rest().substr(0, 1))));
        balance(found->front(), open);
        add(Token::Kind::Operator, std::string(*found));
        advance(found->size());
    }
    void balance(char bracket, std::string& open) const
    {
        constexpr std::string_view opening = "([{", closing = ")]}";
        if (opening.find(bracket) != std::string_view::npos) open += bracket;
        const size_t which = closing.find(bracket);
        if (which == std::string_view::npos) return;
        if (open.empty() || open.back() != opening[which])
            fail_syntax(line_, Text("'{0}' is unexpected", std::string(1, bracket)));
        open.pop_back();
    }

    std::string source_;
    size_t at_ = 0;
    int line_ = 1;
    bool line_starts_ = true; // the text before this ended with a line end
    std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> tokenize(std::string_view source)
{
    return Lexer(source).run();
}

} // namespace palimpsest::engine::jinja
