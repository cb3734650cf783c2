// A sentence for the user, before it is translated and put into the words of the command or the window.
//
// A Text is an English pattern with values for its holes: Text("{0} of {1} tokens read", read, all). The pattern is
// also the key of its translation (resources/messages/de.json), so it must stand in the code as a literal. A
// Setting or a Step stands for something that the command and the window name differently: "--budget" in the
// command is the field "Budget" in the window. Neither the engine nor the storage names an option of the command.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace palimpsest {

// A value that the user chooses. The command names it by its option, the window by the label of its field.
enum class Setting : uint8_t {
    Again,
    Budget,
    CheckpointSeconds,
    Chunk,
    Compute,
    Database,
    Device,
    KvType,
    MinP,
    Model,
    NoSave,
    Pin,
    Policy,
    Positions,
    Question,
    QuestionLast,
    Recompute,
    RepeatLast,
    RepeatPenalty,
    RequireComplete,
    Seed,
    Session,
    Simd,
    Snapshot,
    System,
    Temperature,
    Threads,
    TokenIds,
    TopK,
    TopP,
};
inline constexpr size_t setting_count = static_cast<size_t>(Setting::TopP) + 1;

// An action that solves a problem, and that the command and the window describe differently. Comments say what a
// value such as {0} is.
enum class Step : uint8_t {
    ChooseModel,
    ChooseDatabase,
    ListModels,
    SetDefaultModel,
    ListSessions,
    ListDocuments,
    ShowSession, // {0}: the session
    ExportSession,
    RemoveSessions,
    RestoreBackup,
    RescueSessions,
    ListPolicies,
    BeginSession,
    FinishReading,  // {0}: the session
    ReadAsDocument, // {0}: the session's name
    ReadAgain,
    PinWhileReading,
    RunDoctor,
    Restart,
};
inline constexpr size_t step_count = static_cast<size_t>(Step::Restart) + 1;

class Text;

// How a Text is worded: by the command or the window, in one language.
class Wording {
public:
    virtual ~Wording() = default;

    // The translation of an English pattern; it has the same holes.
    virtual std::string pattern(std::string_view english) const = 0;
    virtual std::string setting(Setting setting) const = 0;
    virtual std::string step(Step step) const = 0; // the pattern, with holes for the step's values
};

class Text {
public:
    Text() = default;

    // `pattern` is a literal. Its holes {0} to {9} stand for the values: numbers, names, settings, or other Texts.
    // A string value is shown as it is; one that comes from a file must be escaped() or have passed through
    // printable().
    template<size_t length, class... Values>
    explicit Text(const char (&pattern)[length], Values&&... values) : pattern_(pattern)
    {
        (values_.push_back(value_of(std::forward<Values>(values))), ...);
    }

    // A step, with the values for its holes.
    template<class... Values>
    explicit Text(Step step, Values&&... values) : step_(step)
    {
        (values_.push_back(value_of(std::forward<Values>(values))), ...);
    }

    explicit Text(Setting setting) : setting_(setting) {}

    // Text that is not translated: a name, a number, a message of another program.
    static Text verbatim(std::string shown);
    // The same of a text that may hold anything, such as the name of a file, made printable.
    static Text escaped(std::string_view foreign);

    bool empty() const { return pattern_.empty() && !step_ && !setting_; }

    // The sentence as `wording` words it. english() is for logs and tests: settings and steps have general names.
    std::string in(const Wording& wording) const;
    std::string english() const;

    // The Text as bytes, for a boundary that no C++ type may cross: unpacked(packed()) is an equal Text. unpacked()
    // returns nullopt for bytes that packed() does not write, and for values that are nested more than most_nested
    // deep.
    std::string packed() const;
    static std::optional<Text> unpacked(std::string_view bytes);
    static constexpr int most_nested = 32;

    bool operator==(const Text&) const = default;

private:
    template<class Value>
    static Text value_of(Value&& value)
    {
        using Plain = std::remove_cvref_t<Value>;
        if constexpr (std::same_as<Plain, Text>)
            return std::forward<Value>(value);
        else if constexpr (std::same_as<Plain, Setting> || std::same_as<Plain, Step>)
            return Text(value);
        else if constexpr (std::integral<Plain>)
            return verbatim(std::to_string(value));
        else
            return verbatim(std::string(std::forward<Value>(value)));
    }

    void pack_into(std::string& out) const;
    static std::optional<Text> unpack_from(std::string_view& rest, int nested);

    std::string pattern_;
    std::vector<Text> values_;
    std::optional<Step> step_;
    std::optional<Setting> setting_;
    bool is_verbatim_ = false;
};

// The general name of a setting, which Text::english() uses: "budget", "KV type". The command and the window have
// their own names for it.
std::string_view plain_name(Setting setting);

// `parts` joined, each separated from the next by `separator`; not translated.
Text joined(const std::vector<Text>& parts, std::string_view separator);

} // namespace palimpsest
