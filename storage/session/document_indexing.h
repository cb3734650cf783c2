// Prepares documents for a search. Indexes the passages of documents that lack them: those that an earlier version
// stored, or that a backup brought back.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "storage/session/listener.h"
#include "storage/session/passage_encoder.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

// Those that lack passages, without those for which index_documents has failed.
std::vector<int64_t> unindexed(Store& store, std::span<const int64_t> documents);

// Indexes these documents where passages are missing, and names them to the listener, also one that is damaged or
// for which there is no room, and which is left out. Returns false if it was stopped. REQUIRES: the store may be
// written.
bool index_documents(Store& store, std::span<const int64_t> documents, Listener& listener,
                     const std::stop_token& stop);

// Encodes the passages of these documents that lack embeddings, and names a document of which many do to the
// listener. Returns false if it was stopped. Throws as PassageEncoder::encode. REQUIRES: as index_documents.
bool encode_documents(Store& store, std::span<const int64_t> documents, PassageEncoder& encoder, Listener& listener,
                      const std::stop_token& stop);
bool all_encoded(Store& store, std::span<const int64_t> documents, PassageEncoder& encoder);

// Names the documents that lack passages, and why.
void name_unindexed(Store& store, std::span<const int64_t> documents, const Text& why, Listener& listener);
// Names the documents that lack embeddings, and why.
void name_unencoded(Store& store, std::span<const int64_t> documents, PassageEncoder& encoder, const Text& why,
                    Listener& listener);

} // namespace palimpsest::storage
