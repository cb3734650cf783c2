#include "engine/text/jinja/meter.h"

#include "engine/text/jinja/failure.h"

namespace palimpsest::engine::jinja {

void Meter::too_many_steps()
{
    fail_limit("it takes more than " + std::to_string(limits::steps) + " steps");
}

void Meter::too_many_bytes()
{
    fail_limit("it makes more than " + std::to_string(limits::made_bytes >> 20) + " MiB of values");
}

void Meter::too_much_output()
{
    fail_limit("it prints more than " + std::to_string(limits::output_bytes >> 20) + " MiB");
}

void Meter::too_deep()
{
    fail_limit("its macros call one another too deeply");
}

} // namespace palimpsest::engine::jinja
