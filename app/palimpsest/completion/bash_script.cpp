#include "app/palimpsest/completion/shell_scripts.h"

namespace palimpsest::app {
namespace {

constexpr const char* bash_functions = R"script(
# Sets `plain` to the text that a word as typed stands for, and `quote` to the quote that is still open at its end.
_palimpsest_unquote()
{
    local typed=$1 i c
    plain= quote=
    for ((i = 0; i < ${#typed}; i++)); do
        c=${typed:i:1}
        if [[ $quote == "'" && $c != "'" ]]; then
            plain+=$c
        elif [[ -n $quote && $c == "$quote" ]]; then
            quote=
        elif [[ -z $quote && $c == [\'\"] ]]; then
            quote=$c
        elif [[ $c == \\ ]]; then
            i=$((i + 1))
            plain+=${typed:i:1}
        else
            plain+=$c
        fi
    done
}

# Adds the name $1 to COMPREPLY as it must be typed, if it begins with what is typed. Readline replaces only what
# follows `kept`, or the quote that is open.
_palimpsest_add()
{
    local name=$1 typed
    [[ $name == "$plain"* ]] || return 0
    case $quote in
    \') typed=${name//\'/\'\\\'\'} ;;
    \") typed=${name//\\/\\\\} typed=${typed//\"/\\\"} typed=${typed//\$/\\\$} typed=${typed//\`/\\\`} ;;
    *)
        if [[ $name == '~/'* ]]; then
            printf -v typed '~/%q' "${name:2}"
        else
            printf -v typed %q "$name"
        fi
        [[ $typed == "$kept"* ]] || return 0
        typed=${typed#"$kept"}
        ;;
    esac
    COMPREPLY+=("$typed")
}

# Files with one of the endings, and folders; all files if there are none.
_palimpsest_add_files()
{
    local file place endings=${*// /|} found=()
    endings=${endings//[[:space:]]/|}
    while IFS= read -r file; do
        place=$file
        [[ $place == '~/'* ]] && place=$HOME/${place:2}
        if [[ -d $place ]]; then
            found+=("$file/")
        elif [[ -z $endings || ${file,,} =~ \.($endings)$ ]]; then
            found+=("$file")
        fi
    done < <(compgen -f -- "$plain")
    ((${#found[@]} > 0)) || while IFS= read -r file; do found+=("$file"); done < <(compgen -f -- "$plain")
    for file in "${found[@]}"; do
        _palimpsest_add "$file"
    done
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}

_palimpsest_add_names()
{
    local name
    while IFS=$'\t' read -r name _; do
        _palimpsest_add "$name"
    done < <(command palimpsest completions --names "$@" 2>/dev/null </dev/null)
}

_palimpsest_add_values()
{
    local kind=$1 word
    shift
    case $kind in
    words)
        for word in "$@"; do
            _palimpsest_add "$word"
        done
        ;;
    names) _palimpsest_add_names "$1" ;;
    list)
        _palimpsest_add_names "$1" --after "$plain"
        compopt -o nospace
        ;;
    files) _palimpsest_add_files "$@" ;;
    models)
        _palimpsest_add_names models
        ((${#COMPREPLY[@]} > 0)) || _palimpsest_add_files gguf
        ;;
    esac
}

# Sets `typed` to the words up to the cursor. COMP_WORDS also divides them at the characters of COMP_WORDBREAKS.
_palimpsest_type()
{
    local rest=${COMP_LINE:0:COMP_POINT} piece i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        local trimmed=${rest#"${rest%%[![:space:]]*}"}
        piece=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || piece=$trimmed
        if [[ $i == 0 || $trimmed != "$rest" ]]; then
            typed+=("$piece") kept=
        else
            kept=${typed[-1]} typed[-1]+=$piece
        fi
        [[ $piece == [:=] ]] && kept=${typed[-1]}
        rest=${trimmed#"$piece"}
    done
}

_palimpsest()
{
    local typed=() kept= plain quote path= subcommands options places source word i place=0 option=
    COMPREPLY=()
    _palimpsest_type
    _palimpsest_command ''
    for ((i = 1; i < ${#typed[@]} - 1; i++)); do
        _palimpsest_unquote "${typed[i]}"
        if [[ -n $option ]]; then
            option=
        elif [[ $plain == -* ]]; then
            source=
            [[ $plain == *=* ]] || _palimpsest_option "$path" "$plain"
            [[ -z $source ]] || option=$plain
        elif [[ " $subcommands " == *" $plain "* ]]; then
            path+=${path:+ }$plain
            _palimpsest_command "$path"
        else
            place=$((place + 1))
        fi
    done

    word=${typed[-1]}
    if [[ -z $option && $word == --*=* ]]; then
        option=${word%%=*} word=${word#*=} kept=${kept#*=}
    fi
    _palimpsest_unquote "$word"
    source=
    if [[ -n $option ]]; then
        _palimpsest_option "$path" "$option"
    elif [[ $plain == -* ]]; then
        source="words $options"
    elif [[ -n $subcommands && -n $path ]]; then
        source="words $subcommands"
    else
        ((place < ${#places[@]})) || place=$((${#places[@]} - 1))
        ((place < 0)) || source=${places[place]}
        [[ -z $subcommands ]] || _palimpsest_add_values words $subcommands
        ((${#COMPREPLY[@]} == 0)) || source=
    fi
    set -f # the words of a source are no patterns
    _palimpsest_add_values $source
    set +f
}

complete -F _palimpsest palimpsest
)script";

// As _palimpsest_add_values takes it.
std::string bash_source(const ValueSource& source)
{
    static const char* const kinds[] = {"free", "words", "names", "list", "files", "models"};
    std::string text = kinds[static_cast<int>(source.kind)];
    for (const std::string& word : source.words)
        text += " " + word;
    return "'" + text + "'";
}

void write_bash_command(const CommandSyntax& command, std::ostream& out)
{
    out << "    '" << command.path << "')\n";
    std::vector<std::string> subcommands, options;
    for (const SubcommandSyntax& subcommand : command.subcommands)
        subcommands.push_back(subcommand.name);
    for (const OptionSyntax& option : command.options)
        options.insert(options.end(), option.names.begin(), option.names.end());
    if (!subcommands.empty()) out << "        subcommands='" << spaced(subcommands) << "'\n";
    out << "        options='" << spaced(options) << "'\n";
    if (!command.arguments.empty()) out << "        places=(";
    const char* separator = "";
    for (const ArgumentSyntax& argument : command.arguments) {
        out << separator << bash_source(argument.source);
        separator = " ";
    }
    if (!command.arguments.empty()) out << (command.arguments.back().is_repeatable ? ")\n" : " free)\n");
    out << "        ;;\n";
}

void write_bash_options(const CommandSyntax& command, std::ostream& out)
{
    for (const OptionSyntax& option : command.options) {
        if (!option.takes_value) continue;
        out << "    ";
        const char* separator = "";
        for (const std::string& name : option.names) {
            out << separator << "'" << command.path << ' ' << name << "'";
            separator = " | ";
        }
        out << ") source=" << bash_source(option.source) << " ;;\n";
    }
}

} // namespace

void write_bash_script(const std::vector<CommandSyntax>& commands, std::ostream& out)
{
    out << "# Completes the arguments of palimpsest in bash. Made by `palimpsest completions bash`.\n\n"
           "# Sets `subcommands`, `options` and `places`, the sources of the arguments, of which the last one "
           "repeats.\n"
           "_palimpsest_command()\n{\n    subcommands= options= places=()\n    case $1 in\n";
    for (const CommandSyntax& command : commands)
        write_bash_command(command, out);
    out << "    esac\n}\n\n"
           "# Sets `source` to where the values of option $2 of command $1 come from, unless it takes none.\n"
           "_palimpsest_option()\n{\n    case \"$1 $2\" in\n";
    for (const CommandSyntax& command : commands)
        write_bash_options(command, out);
    out << "    esac\n}\n" << bash_functions;
}

} // namespace palimpsest::app
