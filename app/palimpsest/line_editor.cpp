#include "app/palimpsest/line_editor.h"

#include <clocale>
#include <cstdlib>
#include <histedit.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "app/palimpsest/interrupt.h"

namespace palimpsest::app {
namespace {

constexpr const char* paste_begins = "\x1b[200~";
constexpr std::string_view pastes_marked = "\x1b[?2004h", pastes_unmarked = "\x1b[?2004l";
constexpr std::string_view paste_ends = "\x1b[201~";
// Represents a line end within an edited line.
constexpr std::string_view line_end_mark = "\xE2\x8F\x8E"; // U+23CE
constexpr int history_lines = 1000;

// Polls, because a stop request does not interrupt a read: another thread handles the signals.
bool wait_for_input(const std::stop_token& stop)
{
    constexpr int milliseconds = 50;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (poll(&input, 1, milliseconds) == 0)
        if (stop.stop_requested()) return false;
    return !stop.stop_requested();
}

void show(std::string_view keys)
{
    (void)!write(STDERR_FILENO, keys.data(), keys.size());
}

// Does nothing in a background process: tcsetattr would suspend it, and the shell has restored the terminal.
void restore_terminal(const termios& settings)
{
    if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &settings);
    pollfd output{STDERR_FILENO, POLLOUT, 0};
    if (poll(&output, 1, 0) == 1) show(pastes_unmarked); // if Ctrl-S paused the output, writing would block
}

std::string replaced(std::string text, std::string_view what, std::string_view with)
{
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    return text;
}

} // namespace

struct LineEditor::Terminal {
    explicit Terminal(const std::string& history_file) : file(history_file)
    {
        termios settings{};
        if (tcgetattr(STDIN_FILENO, &settings) == 0)
            restore_on_second_signal([settings] { restore_terminal(settings); });
        // libedit counts characters by the locale. Only LC_CTYPE is set, so numbers keep their decimal point.
        if (!std::setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
        editor = el_init("palimpsest", stdin, stderr, stderr);
        lines = history_init();
        HistEvent event;
        history(lines, &event, H_SETSIZE, history_lines);
        history(lines, &event, H_SETUNIQUE, 1);
        if (!file.empty()) history(lines, &event, H_LOAD, file.c_str());
        el_set(editor, EL_CLIENTDATA, this);
        el_set(editor, EL_PROMPT, prompt_of);
        el_set(editor, EL_EDITOR, "emacs");
        el_set(editor, EL_HIST, history, lines);
        el_set(editor, EL_GETCFN, read_character);
        el_set(editor, EL_ADDFN, "take-paste", "Takes pasted text as it is", take_paste);
        el_set(editor, EL_BIND, paste_begins, "take-paste", nullptr);
        el_set(editor, EL_SIGNAL, 0);
        // Leaves canonical mode between edited lines, too: it truncates lines after 4096 bytes.
        el_set(editor, EL_SETTY, "-x", "-icanon", "-echo", nullptr);
        show(pastes_marked);
    }
    ~Terminal()
    {
        show(pastes_unmarked);
        HistEvent event;
        if (!file.empty()) history(lines, &event, H_SAVE, file.c_str());
        history_end(lines);
        el_end(editor);
        restore_on_second_signal({});
    }

    static Terminal& of(EditLine* editor)
    {
        void* self = nullptr;
        el_get(editor, EL_CLIENTDATA, &self);
        return *static_cast<Terminal*>(self);
    }
    static char* prompt_of(EditLine* editor) { return of(editor).prompt.data(); }

    static int read_character(EditLine* editor, wchar_t* character)
    {
        std::string bytes;
        std::mbstate_t state{};
        while (wait_for_input(of(editor).stop)) {
            char byte = 0;
            if (read(STDIN_FILENO, &byte, 1) != 1) return 0;
            const size_t used = std::mbrtowc(character, &byte, 1, &state);
            if (used == static_cast<size_t>(-2)) continue; // incomplete character
            if (used == static_cast<size_t>(-1)) *character = L'\xFFFD';
            return 1;
        }
        return 0;
    }

    static unsigned char take_paste(EditLine* editor, int)
    {
        std::string text;
        while (!text.ends_with(paste_ends)) {
            char byte = 0;
            if (!wait_for_input(of(editor).stop) || read(STDIN_FILENO, &byte, 1) != 1) break;
            text += byte == '\r' ? '\n' : byte;
        }
        if (text.ends_with(paste_ends)) text.resize(text.size() - paste_ends.size());
        while (text.ends_with('\n'))
            text.pop_back();
        el_insertstr(editor, replaced(text, "\n", line_end_mark).c_str());
        return CC_REFRESH;
    }

    std::string file, prompt;
    std::stop_token stop;
    EditLine* editor = nullptr;
    History* lines = nullptr;
};

LineEditor::LineEditor(Console& console, const std::string& history) : console_(console)
{
    const bool at_terminal = &console.in == &std::cin && isatty(STDIN_FILENO) && console.err_is_terminal;
    if (at_terminal) terminal_ = std::make_unique<Terminal>(history);
}

LineEditor::~LineEditor() = default;

bool LineEditor::is_terminal() const
{
    return terminal_ != nullptr;
}

std::optional<std::string> LineEditor::next(const std::string& prompt, std::stop_token stop)
{
    std::string line;
    if (!terminal_) {
        if (&console_.in == &std::cin && std::cin.rdbuf()->in_avail() <= 0 && !wait_for_input(stop))
            return std::nullopt;
        if (!std::getline(console_.in, line)) return std::nullopt;
        if (line.ends_with('\r')) line.pop_back();
        return line;
    }
    terminal_->prompt = prompt;
    terminal_->stop = std::move(stop);
    int count = 0;
    const char* entered = el_gets(terminal_->editor, &count);
    if (!entered || count <= 0) return std::nullopt;
    line.assign(entered, static_cast<size_t>(count));
    while (line.ends_with('\n'))
        line.pop_back();
    HistEvent event;
    if (!line.empty()) history(terminal_->lines, &event, H_ENTER, line.c_str());
    return replaced(line, line_end_mark, "\n");
}

} // namespace palimpsest::app
