#include "engine/eval/needle.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view looks[] = {"amber",  "brass",   "copper", "crimson", "dusty",  "frozen", "gilded",
                                      "hollow", "ivory",   "jade",   "linen",   "marble", "mossy",  "narrow",
                                      "olive",  "painted", "quiet",  "rusty",   "silver", "velvet"};
constexpr std::string_view things[] = {"anchor", "barn",    "bridge", "cabin",  "cellar",  "chapel", "fountain",
                                       "garden", "harbour", "kettle", "ladder", "lantern", "mirror", "orchard",
                                       "piano",  "quarry",  "saddle", "tower",  "violin",  "wagon"};

std::string sentence_of(NeedleWording wording, const std::string& key, const std::string& value)
{
    return wording == NeedleWording::Repeated
               ? " The secret number of the " + key + " is" + value + "."
               : " Whoever comes to the " + key + " has to turn the dial of its lock to" + value + ".";
}

std::string question_about(NeedleWording wording, const std::string& key)
{
    return wording == NeedleWording::Repeated
               ? "\n\nThe secret number of the " + key + " is"
               : "\n\nQuestion: Which number opens the " + key + "?\nAnswer: The number that opens it is";
}

} // namespace

std::string NeedleMaker::next_key()
{
    if (!has_keys_) {
        for (const std::string_view kind : looks)
            for (const std::string_view thing : things)
                keys_.push_back(std::string(kind) + " " + std::string(thing));
        for (size_t i = keys_.size(); i > 1; --i) // the standard's shuffle differs between libraries
            std::swap(keys_[i - 1], keys_[random_() % i]);
        has_keys_ = true;
    }
    if (keys_.empty())
        throw Error(
            ErrorKind::Usage, ErrorCode::InvalidArguments, Text("needles"),
            Text("there are no more than {0} in one text, decoys included", std::size(looks) * std::size(things)),
            Text("ask for fewer"));
    std::string key = std::move(keys_.back());
    keys_.pop_back();
    return key;
}

std::string NeedleMaker::next_value()
{
    for (;;) {
        std::string value = " " + std::to_string(10000 + random_() % 90000);
        if (std::ranges::find(values_, value) != values_.end()) continue;
        values_.push_back(value);
        return value;
    }
}

Needle NeedleMaker::make(NeedleWording wording, size_t decoys)
{
    assert(decoys <= most_decoys);
    const std::string key = next_key();
    Needle needle;
    for (std::string& answer : needle.answers)
        answer = next_value();
    needle.sentence = sentence_of(wording, key, needle.answers[0]);
    needle.question = question_about(wording, key);
    for (size_t i = 0; i < decoys; ++i)
        needle.decoys.push_back(sentence_of(wording, next_key(), needle.answers[i + 1]));
    return needle;
}

} // namespace palimpsest::engine
