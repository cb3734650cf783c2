#include "storage/session/stored_reading_rate.h"

#include <cstdlib>

#include "kernels/base/byte_quantity.h"

namespace palimpsest::storage {

void StoredReadingRate::add(uint64_t tokens, double seconds)
{
    tokens_ += tokens;
    seconds_ += seconds;
}

std::string StoredReadingRate::key() const
{
    const kernels::Backend& backend = context_.model->backend();
    return "tokens per second: " + context_.model->fingerprint() + " " + backend.name() + " " +
           backend.simd_target() + " " + compute_name(backend) + " " + std::to_string(backend.threads());
}

void StoredReadingRate::store()
{
    constexpr uint64_t enough = 2048;
    if (tokens_ < enough || seconds_ <= 0) return;
    context_.store.settings.set(key(), std::to_string(static_cast<double>(tokens_) / seconds_));
    tokens_ = 0;
    seconds_ = 0;
}

std::optional<std::string> StoredReadingRate::time_to_read(uint64_t tokens) const
{
    const double rate = std::atof(context_.store.settings.get(key()).value_or("0").c_str());
    if (rate <= 0) return std::nullopt;
    return format_duration(static_cast<double>(tokens) / rate);
}

} // namespace palimpsest::storage
