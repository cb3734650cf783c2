#include "storage/models/found_model.h"

namespace palimpsest::storage {

Text source_name(ModelSource source)
{
    switch (source) {
    case ModelSource::Shipped:
        return Text("shipped");
    case ModelSource::Own:
        return Text("models folder");
    case ModelSource::LmStudio:
        return Text::verbatim("LM Studio");
    case ModelSource::Ollama:
        return Text::verbatim("Ollama");
    case ModelSource::HuggingFace:
        return Text::verbatim("Hugging Face");
    }
    return {};
}

} // namespace palimpsest::storage
