#include "engine/text/jinja/meter.h"

#include "engine/text/jinja/failure.h"

namespace palimpsest::engine::jinja {

void Meter::too_many_steps()
{
    fail_limit(Text("it takes more than {0} steps", limits::steps));
}

void Meter::too_many_bytes()
{
    fail_limit(Text("it makes more than {0} MiB of values", limits::made_bytes >> 20));
}

void Meter::too_much_output()
{
    fail_limit(Text("it prints more than {0} MiB", limits::output_bytes >> 20));
}

void Meter::too_deep()
{
    fail_limit(Text("its macros call one another too deeply"));
}

} // namespace palimpsest::engine::jinja
