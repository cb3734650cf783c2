#include "storage/models/found_model.h"

namespace palimpsest::storage {

std::string source_name(ModelSource source)
{
    switch (source) {
    case ModelSource::Shipped:
        return "shipped";
    case ModelSource::Own:
        return "models folder";
    case ModelSource::LmStudio:
        return "LM Studio";
    case ModelSource::Ollama:
        return "Ollama";
    case ModelSource::HuggingFace:
        return "Hugging Face";
    }
    return {};
}

} // namespace palimpsest::storage
