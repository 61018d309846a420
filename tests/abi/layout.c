/* The layout of the structs of ABI 1 on 64-bit machines: a program compiled against an older g4.h relies on it. Fields may be added at
 * the end (the size grows with them); nothing else here may change. Compiled as C99 and as C++20 by abi_test.py. */
#include "g4/g4.h"

#define G4_CONCAT_INNER(a, b) a##b
#define G4_CONCAT(a, b) G4_CONCAT_INNER(a, b)
#define ASSERT_EQUAL(a, b) typedef char G4_CONCAT(differs_in_line_, __LINE__)[(a) == (b) ? 1 : -1]
#define SIZE(type, bytes) ASSERT_EQUAL(sizeof(type), bytes)
#define FIELD(type, field, bytes) ASSERT_EQUAL(offsetof(type, field), bytes)

SIZE(g4_event, 64);
FIELD(g4_event, struct_size, 0);
FIELD(g4_event, kind, 4);
FIELD(g4_event, done_count, 8);
FIELD(g4_event, total_count, 16);
FIELD(g4_event, token, 24);
FIELD(g4_event, channel, 28);
FIELD(g4_event, text, 32);
FIELD(g4_event, text_bytes, 40);
FIELD(g4_event, logits, 48);
FIELD(g4_event, logits_count, 56);

SIZE(g4_session_options, 72);
FIELD(g4_session_options, struct_size, 0);
FIELD(g4_session_options, context_count, 4);
FIELD(g4_session_options, thread_count, 8);
FIELD(g4_session_options, flags, 12);
FIELD(g4_session_options, kv_type, 16);
FIELD(g4_session_options, precision, 20);
FIELD(g4_session_options, cpu, 24);
FIELD(g4_session_options, ple_path, 32);
FIELD(g4_session_options, chunk_count, 40);
FIELD(g4_session_options, rewind_count, 44);
FIELD(g4_session_options, callback, 48);
FIELD(g4_session_options, payload, 56);
FIELD(g4_session_options, mmproj_path, 64);

SIZE(g4_memory_estimate, 48);
FIELD(g4_memory_estimate, struct_size, 0);
FIELD(g4_memory_estimate, reserved, 4);
FIELD(g4_memory_estimate, weights_bytes, 8);
FIELD(g4_memory_estimate, ple_disk_bytes, 16);
FIELD(g4_memory_estimate, kv_bytes, 24);
FIELD(g4_memory_estimate, scratch_bytes, 32);
FIELD(g4_memory_estimate, total_bytes, 40);

SIZE(g4_chat_options, 32);
FIELD(g4_chat_options, struct_size, 0);
FIELD(g4_chat_options, flags, 4);
FIELD(g4_chat_options, chat_template, 8);
FIELD(g4_chat_options, reserved, 12);
FIELD(g4_chat_options, media, 16);
FIELD(g4_chat_options, media_count, 24);

SIZE(g4_image, 32);
FIELD(g4_image, struct_size, 0);
FIELD(g4_image, width, 4);
FIELD(g4_image, height, 8);
FIELD(g4_image, channel_count, 12);
FIELD(g4_image, pixels, 16);
FIELD(g4_image, stride_bytes, 24);

SIZE(g4_sound, 32);
FIELD(g4_sound, struct_size, 0);
FIELD(g4_sound, sample_type, 4);
FIELD(g4_sound, rate, 8);
FIELD(g4_sound, channel_count, 12);
FIELD(g4_sound, samples, 16);
FIELD(g4_sound, instant_count, 24);

SIZE(g4_media_part, 48);
FIELD(g4_media_part, struct_size, 0);
FIELD(g4_media_part, reserved, 4);
FIELD(g4_media_part, begin_ns, 8);
FIELD(g4_media_part, end_ns, 16);
FIELD(g4_media_part, row_count, 24);
FIELD(g4_media_part, row_width, 32);
FIELD(g4_media_part, rows, 40);

SIZE(g4_prefill_options, 40);
FIELD(g4_prefill_options, struct_size, 0);
FIELD(g4_prefill_options, flags, 4);
FIELD(g4_prefill_options, all_logits, 8);
FIELD(g4_prefill_options, all_logits_count, 16);
FIELD(g4_prefill_options, callback, 24);
FIELD(g4_prefill_options, payload, 32);

SIZE(g4_logit_bias, 8);
FIELD(g4_logit_bias, token, 0);
FIELD(g4_logit_bias, bias, 4);

SIZE(g4_sampling, 64);
FIELD(g4_sampling, struct_size, 0);
FIELD(g4_sampling, flags, 4);
FIELD(g4_sampling, temperature, 8);
FIELD(g4_sampling, top_k, 12);
FIELD(g4_sampling, top_p, 16);
FIELD(g4_sampling, min_p, 20);
FIELD(g4_sampling, repetition_penalty, 24);
FIELD(g4_sampling, presence_penalty, 28);
FIELD(g4_sampling, frequency_penalty, 32);
FIELD(g4_sampling, reserved, 36);
FIELD(g4_sampling, seed, 40);
FIELD(g4_sampling, biases, 48);
FIELD(g4_sampling, bias_count, 56);

SIZE(g4_generate_options, 56);
FIELD(g4_generate_options, struct_size, 0);
FIELD(g4_generate_options, flags, 4);
FIELD(g4_generate_options, prompt, 8);
FIELD(g4_generate_options, prompt_count, 16);
FIELD(g4_generate_options, max_token_count, 24);
FIELD(g4_generate_options, stops, 32);
FIELD(g4_generate_options, stop_count, 40);
FIELD(g4_generate_options, sampling, 48);

SIZE(g4_generate_result, 48);
FIELD(g4_generate_result, struct_size, 0);
FIELD(g4_generate_result, finish_reason, 4);
FIELD(g4_generate_result, prompt_token_count, 8);
FIELD(g4_generate_result, generated_token_count, 16);
FIELD(g4_generate_result, prefill_ns, 24);
FIELD(g4_generate_result, decode_ns, 32);
FIELD(g4_generate_result, reused_token_count, 40);

SIZE(g4_cache_options, 24);
FIELD(g4_cache_options, struct_size, 0);
FIELD(g4_cache_options, flags, 4);
FIELD(g4_cache_options, path, 8);
FIELD(g4_cache_options, limit_bytes, 16);

SIZE(g4_cache_result, 24);
FIELD(g4_cache_result, struct_size, 0);
FIELD(g4_cache_result, cache_status, 4);
FIELD(g4_cache_result, reused_count, 8);
FIELD(g4_cache_result, written_bytes, 16);

SIZE(g4_info, 120);
FIELD(g4_info, struct_size, 0);
FIELD(g4_info, layer_count, 4);
FIELD(g4_info, hidden_size, 8);
FIELD(g4_info, head_count, 12);
FIELD(g4_info, vocab_count, 16);
FIELD(g4_info, context_count, 20);
FIELD(g4_info, model_context_count, 24);
FIELD(g4_info, sliding_window, 28);
FIELD(g4_info, shared_kv_layer_count, 32);
FIELD(g4_info, ple_size, 36);
FIELD(g4_info, expert_count, 40);
FIELD(g4_info, thread_count, 44);
FIELD(g4_info, weights_bytes, 48);
FIELD(g4_info, ple_bytes, 56);
FIELD(g4_info, kv_type, 64);
FIELD(g4_info, precision, 68);
FIELD(g4_info, architecture, 72);
FIELD(g4_info, name, 80);
FIELD(g4_info, variant, 88);
FIELD(g4_info, quantisation, 96);
FIELD(g4_info, cpu, 104);
FIELD(g4_info, can_see, 112);
FIELD(g4_info, can_hear, 116);

SIZE(g4_kv_layer, 32);
FIELD(g4_kv_layer, struct_size, 0);
FIELD(g4_kv_layer, is_sliding, 4);
FIELD(g4_kv_layer, source_layer, 8);
FIELD(g4_kv_layer, window, 12);
FIELD(g4_kv_layer, kv_head_count, 16);
FIELD(g4_kv_layer, head_size, 20);
FIELD(g4_kv_layer, offset_bytes, 24);

SIZE(g4_stats, 96);
FIELD(g4_stats, struct_size, 0);
FIELD(g4_stats, reserved, 4);
FIELD(g4_stats, evaluated_token_count, 8);
FIELD(g4_stats, prefill_ns, 16);
FIELD(g4_stats, decode_ns, 24);
FIELD(g4_stats, prefill_token_count, 32);
FIELD(g4_stats, decode_token_count, 40);
FIELD(g4_stats, kv_bytes, 48);
FIELD(g4_stats, scratch_bytes, 56);
FIELD(g4_stats, ple_row_count, 64);
FIELD(g4_stats, ple_read_bytes, 72);
FIELD(g4_stats, ple_ns, 80);
FIELD(g4_stats, reused_token_count, 88);

SIZE(g4_kv_probe_result, 48);
FIELD(g4_kv_probe_result, struct_size, 0);
FIELD(g4_kv_probe_result, has_logits, 4);
FIELD(g4_kv_probe_result, position_count, 8);
FIELD(g4_kv_probe_result, file_bytes, 16);
FIELD(g4_kv_probe_result, model, 24);
FIELD(g4_kv_probe_result, kv_type, 40);

/* Numbers that never change meaning. */
ASSERT_EQUAL(G4_OK, 0);
ASSERT_EQUAL(G4_ERR_ARGUMENT, 10);
ASSERT_EQUAL(G4_ERR_BUFFER, 11);
ASSERT_EQUAL(G4_ERR_STATE, 12);
ASSERT_EQUAL(G4_ERR_IO, 20);
ASSERT_EQUAL(G4_ERR_FORMAT, 21);
ASSERT_EQUAL(G4_ERR_UNSUPPORTED, 22);
ASSERT_EQUAL(G4_ERR_MEMORY, 30);
ASSERT_EQUAL(G4_ERR_CONTEXT_FULL, 31);
ASSERT_EQUAL(G4_ERR_CANCELLED, 40);
ASSERT_EQUAL(G4_ERR_INTERNAL, 90);
ASSERT_EQUAL(G4_EVENT_LOAD, 1);
ASSERT_EQUAL(G4_EVENT_PREFILL, 2);
ASSERT_EQUAL(G4_EVENT_TOKEN, 3);
ASSERT_EQUAL(G4_EVENT_LOGITS, 4);
ASSERT_EQUAL(G4_EVENT_END, 5);
ASSERT_EQUAL(G4_CHANNEL_TEXT, 0);
ASSERT_EQUAL(G4_CHANNEL_THOUGHT, 1);
ASSERT_EQUAL(G4_CHANNEL_TOOL_CALL, 2);
ASSERT_EQUAL(G4_KV_DEFAULT, 0);
ASSERT_EQUAL(G4_KV_F16, 1);
ASSERT_EQUAL(G4_KV_F32, 2);
ASSERT_EQUAL(G4_KV_Q8_0, 3);
ASSERT_EQUAL(G4_PRECISION_DEFAULT, 0);
ASSERT_EQUAL(G4_PRECISION_F32, 1);
ASSERT_EQUAL(G4_SESSION_PLE_READ, 1u);
ASSERT_EQUAL(G4_SESSION_PIN, 2u);
ASSERT_EQUAL(G4_TOKENIZE_BOS, 1u);
ASSERT_EQUAL(G4_TOKENIZE_SPECIAL, 2u);
ASSERT_EQUAL(G4_DETOKENIZE_SPECIAL, 1u);
ASSERT_EQUAL(G4_TEMPLATE_AUTO, 0);
ASSERT_EQUAL(G4_TEMPLATE_PLAIN, 1);
ASSERT_EQUAL(G4_TEMPLATE_INTERLEAVED, 2);
ASSERT_EQUAL(G4_CHAT_THINKING, 1u);
ASSERT_EQUAL(G4_CHAT_NO_GENERATION_PROMPT, 2u);
ASSERT_EQUAL(G4_SAMPLING_GREEDY, 1u);
ASSERT_EQUAL(G4_FINISH_NONE, 0);
ASSERT_EQUAL(G4_FINISH_TURN, 1);
ASSERT_EQUAL(G4_FINISH_EOS, 2);
ASSERT_EQUAL(G4_FINISH_TOOL_CALL, 3);
ASSERT_EQUAL(G4_FINISH_STOP_STRING, 4);
ASSERT_EQUAL(G4_FINISH_LENGTH, 5);
ASSERT_EQUAL(G4_FINISH_CALLBACK, 6);
ASSERT_EQUAL(G4_FINISH_CANCELLED, 7);
ASSERT_EQUAL(G4_GENERATE_IGNORE_STOP, 1u);
ASSERT_EQUAL(G4_GENERATE_LOGITS_EVENTS, 2u);
