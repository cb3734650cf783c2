// The text after --policy: accepted and written out in full, or refused with a message.

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/policy/named/nearest.h"
#include "engine/policy/named/parameters.h"
#include "engine/policy/named/registry.h"
#include "engine/policy/policy.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::engine;

namespace {

constexpr PolicyContext context{.layers = 8, .kv_heads = 2, .budget = 64};

std::string resolved(const std::string& spec, PolicyContext where = context)
{
    return make_policy(PolicySpec::parse(spec), where)->resolved().text();
}

struct Refusal {
    std::string spec;
    ErrorCode code;
    std::string words;
    PolicyContext where = context;
};

const std::vector<Refusal> refusals = {
    // not a spec
    {"", ErrorCode::UnknownPolicy, "the name is missing"},
    {":sinks=4", ErrorCode::UnknownPolicy, "the name is missing"},
    {"treekv:", ErrorCode::UnknownPolicyParameter, "'' is not key=value"},
    {"treekv:sinks", ErrorCode::UnknownPolicyParameter, "'sinks' is not key=value"},
    {"treekv:=4", ErrorCode::UnknownPolicyParameter, "'=4' is not key=value"},
    {"treekv:sinks=4,", ErrorCode::UnknownPolicyParameter, "'' is not key=value"},
    {"treekv:sinks=4,sinks=5", ErrorCode::UnknownPolicyParameter, "parameter 'sinks' is given twice"},
    {"treekv:sinks=", ErrorCode::InvalidPolicyParameter, "parameter 'sinks' has no value"},
    // names
    {"treekw", ErrorCode::UnknownPolicy, "did you mean 'treekv'?"},
    {"TreeKV", ErrorCode::UnknownPolicy, "did you mean 'treekv'?"},
    {"steraming", ErrorCode::UnknownPolicy, "did you mean 'streaming'?"},
    {"zzzzzz", ErrorCode::UnknownPolicy, "no policy has this name; use one of full, streaming, random, h2o"},
    {"\x1b[31m", ErrorCode::UnknownPolicy, "'\\x1b[31m'"},
    {"h20", ErrorCode::UnknownPolicy, "did you mean 'h2o'?"},
    // keys
    {"treekv:sink=4", ErrorCode::UnknownPolicyParameter,
     "has no parameter 'sink'; did you mean 'sinks'? it takes sinks, recent"},
    {"treekv-log:height=2", ErrorCode::UnknownPolicyParameter, "has no parameter 'height'"},
    {"streaming:recent=4", ErrorCode::UnknownPolicyParameter, "has no parameter 'recent'"},
    {"full:sinks=4", ErrorCode::UnknownPolicyParameter, "has no parameter 'sinks'"},
    // values
    {"treekv:sinks=-1", ErrorCode::InvalidPolicyParameter, "sinks=-1 is not a number"},
    {"treekv:recent=1.5", ErrorCode::InvalidPolicyParameter, "recent=1.5 is not a number"},
    {"treekv:recent=99999999999", ErrorCode::InvalidPolicyParameter, "recent=99999999999 is not a number"},
    {"treekv:rule=lift", ErrorCode::InvalidPolicyParameter,
     "rule=lift is not one of its values; did you mean 'left'? use score, left"},
    {"treekv:score=median", ErrorCode::InvalidPolicyParameter, "use mean, sum, last"},
    {"treekv:height=0", ErrorCode::InvalidPolicyParameter, "height=0 is neither 'none' nor a number of at least 1"},
    {"treekv:height=high", ErrorCode::InvalidPolicyParameter, "height=high is neither"},
    {"lacache:pattern=staked", ErrorCode::InvalidPolicyParameter, "did you mean 'stacked'?"},
    {"lacache:compensate=yes", ErrorCode::InvalidPolicyParameter, "compensate=yes is not one of its values"},
    {"lacache:span=half", ErrorCode::InvalidPolicyParameter, "span=half is not a number"},
    {"full:schedule=never", ErrorCode::InvalidPolicyParameter, "schedule=never is no schedule"},
    {"treekv:schedule=every:0", ErrorCode::InvalidPolicyParameter, "schedule=every:0 is no schedule"},
    {"treekv:schedule=every:", ErrorCode::InvalidPolicyParameter, "schedule=every: is no schedule"},
    {"treekv:schedule=every:16777217", ErrorCode::InvalidPolicyParameter, "N from 1 to 16777216"},
    {"random:seed=dice", ErrorCode::InvalidPolicyParameter,
     "seed=dice is not a seed; give a whole number from 0 to 2147483647"},
    {"random:seed=2147483648", ErrorCode::InvalidPolicyParameter, "seed=2147483648 is not a seed"},
    {"h2o:score=last", ErrorCode::InvalidPolicyParameter, "score=last is not one of its values; use sum, mean"},
    // combinations
    {"streaming:sinks=65", ErrorCode::ImpossiblePolicy, "sinks=65 does not fit a budget of 64 tokens"},
    {"treekv:sinks=32,recent=32", ErrorCode::ImpossiblePolicy,
     "sinks=32 and recent=32 leave no slot to choose in a budget of 64"},
    {"treekv:sinks=2147483647,recent=2147483647", ErrorCode::ImpossiblePolicy, "leave no slot"},
    {"treekv-log:rule=left,recent=60", ErrorCode::ImpossiblePolicy, "sinks=4 and recent=60 leave no slot"},
    {"treekv", ErrorCode::ImpossiblePolicy, "a budget of 4 tokens", {.layers = 8, .kv_heads = 2, .budget = 4}},
    {"lacache:span=8", ErrorCode::ImpossiblePolicy, "span=8 is not below the model's 8 layers"},
    {"lacache:span=4,overlap=4", ErrorCode::ImpossiblePolicy, "overlap=4 is not below span=4"},
    {"lacache:span=0", ErrorCode::ImpossiblePolicy, "overlap=0 is not below span=0"},
    {"lacache",
     ErrorCode::ImpossiblePolicy,
     "overlap=0 is not below span=0",
     {.layers = 1, .kv_heads = 1, .budget = 64}},
    {"lacache:span=7,overlap=5", ErrorCode::ImpossiblePolicy, "keeps all 2 tokens of a tile in every layer of 8"},
    {"lacache:recent=60", ErrorCode::ImpossiblePolicy,
     "sinks=4 and recent=60 leave 0 slots in a budget of 64 tokens, and a tile keeps 1"},
    {"lacache:span=4,overlap=2,recent=59", ErrorCode::ImpossiblePolicy,
     "leave 1 slots in a budget of 64 tokens, and a tile keeps 2"},
    {"lacache:span=1,recent=5", ErrorCode::ImpossiblePolicy, "recent=5 is less than the 6 tokens"},
    {"lacache:pattern=old,recent=65", ErrorCode::ImpossiblePolicy, "recent=65 does not fit a budget of 64"},
    {"random:sinks=4,recent=60", ErrorCode::ImpossiblePolicy, "sinks=4 and recent=60 leave no slot"},
    {"random", ErrorCode::ImpossiblePolicy, "it needs a budget", {.layers = 8, .kv_heads = 2, .budget = no_budget}},
    {"full", ErrorCode::ImpossiblePolicy, "a budget of 0 tokens", {.layers = 8, .kv_heads = 2, .budget = 0}},
    // settings that the scores of a policy do not allow
    {"scissorhands:budget=auto", ErrorCode::InvalidPolicyParameter,
     "budget=auto is not one of its values; use uniform, pyramid"},
    {"scissorhands:threshold=0.1", ErrorCode::UnknownPolicyParameter, "has no parameter 'threshold'"},
    {"chunkkv:rounds=8", ErrorCode::UnknownPolicyParameter, "has no parameter 'rounds'"},
    {"chunkkv:block=0", ErrorCode::InvalidPolicyParameter, "block=0 is not"},
    {"keydiff:heads=ada", ErrorCode::UnknownPolicyParameter, "has no parameter 'heads'"},
    {"knorm:budget=auto", ErrorCode::UnknownPolicyParameter, "has no parameter 'budget'"},
    {"tova:heads=ada", ErrorCode::UnknownPolicyParameter, "has no parameter 'heads'"},
    {"tova:floor=0.5", ErrorCode::UnknownPolicyParameter, "has no parameter 'floor'"},
    // keys without effect
    {"treekv:rule=left,score=sum", ErrorCode::ImpossiblePolicy, "score=sum has no effect with rule=left"},
    {"treekv-log:rule=left,score=last", ErrorCode::ImpossiblePolicy, "score=last has no effect with rule=left"},
    {"lacache:pattern=recent,span=3", ErrorCode::ImpossiblePolicy, "span=3 has no effect with pattern=recent"},
    {"lacache:pattern=recent,overlap=1", ErrorCode::ImpossiblePolicy,
     "overlap=1 has no effect with pattern=recent"},
    {"lacache:pattern=old,compensate=true", ErrorCode::ImpossiblePolicy,
     "compensate=true has no effect with pattern=old"},
    {"lacache:pattern=recent,recent=9", ErrorCode::ImpossiblePolicy, "recent=9 has no effect with pattern=recent"},
    {"lacache:pattern=old,sinks=9", ErrorCode::ImpossiblePolicy, "sinks=9 has no effect with pattern=old"},
    {"lacache:survivors=score,pattern=even", ErrorCode::ImpossiblePolicy,
     "pattern=even has no effect with survivors=score"},
    {"hbw-kv:representative=max,block=3", ErrorCode::ImpossiblePolicy,
     "block=3 has no effect with representative=max"},
    {"hbw-kv:average=rotated", ErrorCode::ImpossiblePolicy,
     "average=rotated has no effect without representative=avg"},
    {"hbw-kv:representative=max,average=rotated", ErrorCode::ImpossiblePolicy,
     "average=rotated has no effect without representative=avg"},
    {"hbw-kv:representative=avg,rounds=8", ErrorCode::ImpossiblePolicy,
     "rounds=8 has no effect with representative=avg"},
    {"hbw-kv:representative=first,renormalise=true", ErrorCode::ImpossiblePolicy,
     "renormalise=true has no effect with representative=first"},
    {"snapkv:pooling=none,kernel=3", ErrorCode::ImpossiblePolicy, "kernel=3 has no effect with pooling=none"},
    {"cake:window=1,gamma=5", ErrorCode::ImpossiblePolicy, "gamma=5 has no effect with window=1"},
    {"cake:window=1,tau1=2", ErrorCode::ImpossiblePolicy, "tau1=2 has no effect with window=1"},
    {"cake:window=1,tau2=0.5", ErrorCode::ImpossiblePolicy, "tau2=0.5 has no effect with window=1"},
    {"treekv:rule=left,score=sum",
     ErrorCode::ImpossiblePolicy,
     "score=sum has no effect",
     {.layers = 8, .kv_heads = 2, .budget = 64, .pins = Pins({{3, 9}})}}, // the refusal must not blame the pins
};

} // namespace

TEST_CASE("policy spec: parses, prints, and parses back")
{
    const PolicySpec spec = PolicySpec::parse("treekv:recent=508,sinks=4,schedule=every:16");
    CHECK(spec.name == "treekv");
    CHECK(spec.parameters.at("recent") == "508");
    CHECK(spec.parameters.at("schedule") == "every:16");
    CHECK(PolicySpec::parse(spec.text()) == spec);
    CHECK(PolicySpec::parse("full").text() == "full");
}

TEST_CASE("policies: the resolved policy names all defaults")
{
    CHECK(resolved("full") == "full:schedule=chunk");
    CHECK(resolved("streaming") == "streaming:schedule=chunk,sinks=4");
    CHECK(resolved("treekv") ==
          "treekv:budget=uniform,heads=uniform,height=none,recent=28,rule=score,schedule=chunk,score=mean,sinks=4");
    CHECK(resolved("treekv:sinks=40") ==
          "treekv:budget=uniform,heads=uniform,height=none,recent=0,rule=score,schedule=chunk,score=mean,sinks=40");
    CHECK(resolved("treekv-log:sinks=07") ==
          "treekv-log:budget=uniform,heads=uniform,recent=25,rule=score,schedule=chunk,score=mean,sinks=7");
    CHECK(resolved("chunkkv") ==
          "chunkkv:block=10,budget=uniform,heads=uniform,recent=32,schedule=chunk,score=mean,sinks=0,window=32");
    CHECK(resolved("keydiff") == "keydiff:recent=0,schedule=chunk,sinks=0");
    CHECK(resolved("knorm") == "knorm:recent=0,schedule=chunk,sinks=0");
    CHECK(resolved("random") == "random:recent=28,schedule=chunk,seed=0,sinks=4");
    CHECK(resolved("lacache") == "lacache:compensate=false,overlap=0,pattern=stacked,recent=8,schedule=chunk,sinks="
                                 "4,span=4,survivors=offsets");
    CHECK(resolved("lacache:pattern=old") == "lacache:pattern=old,recent=1,schedule=chunk");
    for (const auto& info : policies())
        CHECK(resolved(resolved(info.name)) == resolved(info.name));
}

TEST_CASE("policies: settings determine signals and list budgets")
{
    const auto needs = [](const std::string& spec) {
        return make_policy(PolicySpec::parse(spec), context)->signals().window;
    };
    CHECK(needs("full") == SignalNeeds::none);
    CHECK(needs("streaming") == SignalNeeds::none);
    CHECK(needs("lacache") == SignalNeeds::none);
    CHECK(needs("random") == SignalNeeds::none);
    CHECK(needs("treekv") == SignalNeeds::all);
    CHECK(needs("treekv:score=sum") == SignalNeeds::all);
    CHECK(needs("treekv:score=last") == 1);
    CHECK(needs("treekv:rule=left") == SignalNeeds::none);
    CHECK(needs("treekv-log") == SignalNeeds::all);
    CHECK(needs("h2o") == SignalNeeds::all);
    CHECK(needs("h2o:score=mean") == SignalNeeds::all);
    CHECK(needs("scissorhands") == 400);
    CHECK(needs("tova") == 1);
    CHECK(needs("snapkv") == 32);
    CHECK(needs("pyramidkv") == 8);
    CHECK(needs("treekv-block:unit=8") == 8);
    CHECK(needs("hbw-kv") == 32);
    CHECK(needs("chunkkv") == 32);
    CHECK(needs("refreekv:rows=3") == 3);
    CHECK(needs("quest") == SignalNeeds::none);
    CHECK(needs("knorm") == SignalNeeds::all);
    CHECK(needs("keydiff") == 1);
    CHECK_FALSE(make_policy(PolicySpec::parse("keydiff"), context)->signals().attention());
    CHECK_FALSE(make_policy(PolicySpec::parse("knorm"), context)->signals().attention());
    CHECK(make_policy(PolicySpec::parse("h2o"), context)->signals().attention());
    for (const auto& info : policies()) {
        CAPTURE(info.name);
        const auto policy = make_policy(PolicySpec::parse(info.name), context);
        const bool keeps_all = info.name == "full" || info.name == "quest" || info.name == "twilight";
        CHECK(policy->bounded() == !keeps_all);
        if (policy->bounded()) CHECK(policy->total_budget() == 8 * 2 * 64);
        CHECK(policy->couples_layers() == (info.name == "cake"));
        CHECK(policy->default_positions() ==
              (info.prefers_original ? PositionMode::Original : PositionMode::Contiguous));
        CHECK(info.positions.english().starts_with(info.prefers_original ? "original" : "contiguous"));
        CHECK(policy->retrieval().has_value() == (keeps_all && info.name != "full"));
    }
}

TEST_CASE("policies: the largest and smallest settings that fit are accepted")
{
    CHECK_NOTHROW(resolved("streaming:sinks=64"));
    CHECK_NOTHROW(resolved("treekv:sinks=32,recent=31"));
    CHECK_NOTHROW(resolved("lacache:recent=59"));
    CHECK_NOTHROW(resolved("lacache:span=1,recent=6"));
    CHECK_NOTHROW(resolved("lacache:pattern=recent", {.layers = 1, .kv_heads = 1, .budget = 5}));
    CHECK_NOTHROW(resolved("treekv:sinks=0,recent=0", {.layers = 1, .kv_heads = 1, .budget = 1}));
    CHECK_NOTHROW(resolved("treekv:schedule=every:16777216"));
    CHECK_NOTHROW(resolved("cake:window=1"));
}

TEST_CASE(
    "policies: a key without effect is accepted with its default value, so that resolved policies are accepted")
{
    for (const std::string spec :
         {"treekv:rule=left", "lacache:pattern=old", "lacache:pattern=recent", "lacache:survivors=score",
          "hbw-kv:representative=avg", "snapkv:pooling=none", "adakv:pooling=none", "cake:window=1"}) {
        CAPTURE(spec);
        CHECK(resolved(resolved(spec)) == resolved(spec));
    }
    // Accepted, because the key has an effect here.
    CHECK_NOTHROW(resolved("hbw-kv:representative=max,renormalise=true"));
    CHECK_NOTHROW(resolved("hbw-kv:window=8,representative=first,renormalise=true,heads=ada"));
}

TEST_CASE("policies: every wrong setting is refused with its own message")
{
    for (const Refusal& refusal : refusals) {
        CAPTURE(refusal.spec);
        try {
            make_policy(PolicySpec::parse(refusal.spec), refusal.where);
            FAIL("accepted");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::Usage);
            CHECK(error.code() == refusal.code);
            CHECK_THAT(error.what(), Catch::Contains(refusal.words));
            CHECK_FALSE(error.remedy().empty());
        }
    }
}

TEST_CASE("registry: every policy is described, with every key it takes")
{
    REQUIRE(policies().size() == 22);
    // Keys that have an effect only together with another setting.
    const std::set<std::string> conditional = {"allocation", "beta",  "threshold", "norm",
                                               "mask_sinks", "floor", "average"};
    for (const auto& info : policies()) {
        CAPTURE(info.name);
        CHECK(find_policy(info.name) == &info);
        CHECK_FALSE(info.keeps.empty());
        CHECK_FALSE(info.signals.empty());
        CHECK_FALSE(info.cost.empty());
        CHECK_FALSE(info.positions.empty());
        std::vector<std::string> described, taken;
        for (const auto& parameter : info.parameters) {
            described.push_back(parameter.key);
            CHECK_FALSE(parameter.meaning.empty());
            CHECK_FALSE(parameter.default_text.empty());
            CHECK_FALSE(parameter.range.empty());
        }
        for (const auto& [key, value] : PolicySpec::parse(resolved(info.name)).parameters)
            taken.push_back(key);
        for (const auto& key : taken)
            CHECK_THAT(described, Catch::VectorContains(key));
        for (const auto& key : described)
            if (!conditional.contains(key)) CHECK_THAT(taken, Catch::VectorContains(key));
    }
    CHECK(find_policy("h3o") == nullptr);
}

namespace {

std::vector<std::string> words_of(const std::string& range)
{
    std::vector<std::string> words;
    std::istringstream in(range);
    for (std::string word; std::getline(in >> std::ws, word, ',');)
        words.push_back(word);
    return words;
}

// Whether the value is accepted, either alone or together with the setting that gives the key an effect.
bool is_taken(const std::string& name, const std::string& key, const std::string& value)
{
    for (const std::string beside : {"", ",budget=pyramid", ",budget=auto", ",heads=ada", ",representative=avg"}) {
        try {
            resolved(name + ":" + key + "=" + value + beside);
            return true;
        } catch (const Error&) {
        }
    }
    return false;
}

} // namespace

TEST_CASE("registry: every named value that a policy describes works, and no other does")
{
    for (const auto& info : policies()) {
        for (const auto& parameter : info.parameters) {
            const std::string default_text = parameter.default_text.english(), range = parameter.range.english();
            CAPTURE(info.name, parameter.key, range);
            const auto& names = parameter.choices;
            if (names.empty()) {
                const bool said = parse_number(default_text).has_value(); // others depend on the budget
                if (said) CHECK(is_taken(info.name, parameter.key, default_text));
                continue;
            }
            CHECK(words_of(range) == names);
            CHECK_THAT(names, Catch::VectorContains(default_text));
            for (const std::string& word : names) {
                CAPTURE(word);
                CHECK(is_taken(info.name, parameter.key, word));
            }
            // The refusal names the same values.
            try {
                std::string beside;
                if (parameter.key == "allocation" && info.name != "pyramidkv") beside = ",budget=pyramid";
                if (parameter.key == "average") beside = ",representative=avg";
                if (parameter.key == "norm" && info.name != "refreekv") beside = ",budget=auto";
                resolved(info.name + ":" + parameter.key + "=nonesuch" + beside);
                FAIL("accepted");
            } catch (const Error& error) {
                const std::string remedy = error.remedy().english();
                auto named = words_of(remedy.substr(remedy.find("use ") + 4)), listed = names;
                std::sort(named.begin(), named.end());
                std::sort(listed.begin(), listed.end());
                CHECK(error.code() == ErrorCode::InvalidPolicyParameter);
                CHECK(named == listed);
            }
        }
    }
}

TEST_CASE("nearest: only similar words are suggested")
{
    const std::vector<std::string> names = {"full", "streaming", "treekv", "treekv-log", "lacache"};
    CHECK(nearest("treekv-lgo", names) == "treekv-log");
    CHECK(nearest("fool", names).empty());
    CHECK(nearest("ful", names) == "full");
    CHECK(nearest("LaCash", names) == "lacache");
    CHECK(nearest("", names).empty());
    CHECK(nearest(std::string(100000, 'a'), names).empty());
    CHECK(nearest("treekv", {}).empty());
}

TEST_CASE("in a stored policy, keys without effect are ignored")
{
    const PolicyContext context{.layers = 8, .kv_heads = 2, .budget = 64};
    const auto of_stored = [&](const std::string& text) {
        PolicySpec spec = PolicySpec::parse(text);
        spec.stored = true;
        return make_policy(spec, context)->resolved();
    };
    for (const auto& [stored, now] :
         {std::pair{"tova:heads=uniform,recent=3", "tova:recent=3"},
          std::pair{"treekv:rule=left,score=sum", "treekv:rule=left"},
          std::pair{"h2o", "h2o:score=sum"}, // stored before h2o had other scores
          std::pair{"lacache:pattern=recent,span=3,sinks=2", "lacache:pattern=recent,sinks=2"},
          // Stored before norms were computed per query head: such a session must keep the same tokens.
          std::pair{"refreekv:rows=3", "refreekv:rows=3,norm=mean,mask_sinks=0,floor=0"},
          std::pair{"refreekv:ranking=score,schedule=once", "refreekv:ranking=score,schedule=once,norm=mean"},
          std::pair{"snapkv:budget=auto", "snapkv:budget=auto,norm=scores,mask_sinks=0"}})
        CHECK(of_stored(stored) == make_policy(PolicySpec::parse(now), context)->resolved());
    CHECK_THROWS_AS(of_stored("treekv:rule=middle"), Error);
}

TEST_CASE("after pins change a policy keeps its original settings, and gets the defaults of its new budget")
{
    const PolicyContext before{.layers = 8, .kv_heads = 2, .budget = 64},
        after{.layers = 8, .kv_heads = 2, .budget = 40};
    const auto moved = [&](const std::string& given, const std::string& begun, bool stored) {
        PolicySpec spec = PolicySpec::parse(begun);
        spec.stored = stored;
        PolicySpec again = with_original_defaults(PolicySpec::parse(given), make_policy(spec, before)->resolved());
        again.stored = stored;
        return make_policy(again, after)->resolved();
    };
    const auto now = [&](const std::string& text) {
        return make_policy(PolicySpec::parse(text), after)->resolved();
    };
    for (const bool stored : {false, true}) {
        CHECK(moved("refreekv", resolved("refreekv"), stored) == now("refreekv:floor=10"));
        CHECK(moved("snapkv:budget=auto", resolved("snapkv:budget=auto"), stored) == now("snapkv:budget=auto"));
    }
    CHECK(moved("refreekv", "refreekv:rows=1", true) == now("refreekv:norm=mean,mask_sinks=0,floor=0"));
    CHECK(moved("snapkv:budget=auto", "snapkv:budget=auto,threshold=0.01", true) ==
          now("snapkv:budget=auto,norm=scores,mask_sinks=0"));
}
