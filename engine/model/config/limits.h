// Upper limits on sizes and counts claimed by a model file; the ids name the rules in docs/validation.md. All are
// far above any real model, and stop a hostile file from choosing our allocation sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace palimpsest::engine::limits {

inline constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;

inline constexpr uint64_t file_bytes = uint64_t{1} << 40;               // L1
inline constexpr uint64_t key_value_pairs = 65536;                      // L1
inline constexpr uint64_t tensors = 65536;                              // L1
inline constexpr uint64_t shards = 1024;                                // S8
inline constexpr uint64_t key_bytes = 256;                              // L2
inline constexpr uint64_t tensor_name_bytes = 63;                       // G4
inline constexpr uint64_t safetensors_name_bytes = 256;                 // S3
inline constexpr uint64_t string_bytes = 16 * MiB;                      // L2
inline constexpr uint64_t array_elements = uint64_t{1} << 24;           // L2
inline constexpr uint64_t chat_template_bytes = 1 * MiB;                // L2
inline constexpr uint64_t gguf_header_bytes = 256 * MiB;                // L8: bounds the time to parse
inline constexpr uint64_t gguf_rank = 4, safetensors_rank = 8;          // L3
inline constexpr uint64_t gguf_dimension = uint64_t{1} << 40;           // L3
inline constexpr uint64_t elements = uint64_t{1} << 48;                 // L3
inline constexpr uint64_t layers = 1024, heads = 1024, head_dim = 1024; // L4
inline constexpr uint64_t dim = uint64_t{1} << 20;                      // L4
inline constexpr uint64_t ffn = uint64_t{1} << 22;                      // L4: four times `dim`
inline constexpr uint64_t experts = 1024;
inline constexpr double rope_base = 1e12;                        // published models: up to 3.6e9
inline constexpr uint64_t context = uint64_t{1} << 24;           // G12: larger claims are clamped
inline constexpr uint64_t vocabulary = uint64_t{1} << 20;        // L5
inline constexpr uint64_t piece_bytes = 4096;                    // L5
inline constexpr uint64_t merges = uint64_t{1} << 21;            // L5
inline constexpr uint64_t added_tokens = 65536;                  // L5
inline constexpr uint64_t safetensors_header_bytes = 16 * MiB;   // L6
inline constexpr uint64_t safetensors_metadata_bytes = 1 * MiB;  // S7
inline constexpr uint64_t config_bytes = 1 * MiB;                // L6
inline constexpr uint64_t tokenizer_bytes = 64 * MiB;            // L6
inline constexpr int header_json_depth = 4, json_depth = 32;     // L7
inline constexpr size_t header_json_values = size_t{1} << 21;    // L8: 65,536 tensors of up to 16 values, doubled
inline constexpr size_t json_values = size_t{1} << 20;           // L8
inline constexpr size_t tokenizer_json_values = size_t{1} << 22; // L8: a merge stored as a pair takes three values

} // namespace palimpsest::engine::limits
