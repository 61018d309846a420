// Made from include/g4/g4.h by tools/make_rust.py.
types! {
    g4_event { struct_size kind done_count total_count token channel text text_bytes logits logits_count }
    g4_session_options { struct_size context_count thread_count flags kv_type precision cpu ple_path chunk_count rewind_count callback payload mmproj_path }
    g4_memory_estimate { struct_size reserved weights_bytes ple_disk_bytes kv_bytes scratch_bytes total_bytes }
    g4_chat_options { struct_size flags chat_template reserved media media_count }
    g4_image { struct_size width height channel_count pixels stride_bytes }
    g4_sound { struct_size sample_type rate channel_count samples instant_count }
    g4_media_part { struct_size reserved begin_ns end_ns row_count row_width rows }
    g4_prefill_options { struct_size flags all_logits all_logits_count callback payload }
    g4_logit_bias { token bias }
    g4_sampling { struct_size flags temperature top_k top_p min_p repetition_penalty presence_penalty frequency_penalty reserved seed biases bias_count }
    g4_generate_options { struct_size flags prompt prompt_count max_token_count stops stop_count sampling }
    g4_generate_result { struct_size finish_reason prompt_token_count generated_token_count prefill_ns decode_ns reused_token_count }
    g4_cache_options { struct_size flags path limit_bytes }
    g4_cache_result { struct_size cache_status reused_count written_bytes }
    g4_kv_probe_result { struct_size has_logits position_count file_bytes model kv_type }
    g4_info { struct_size layer_count hidden_size head_count vocab_count context_count model_context_count sliding_window shared_kv_layer_count ple_size expert_count thread_count weights_bytes ple_bytes kv_type precision architecture name variant quantisation cpu can_see can_hear }
    g4_kv_layer { struct_size is_sliding source_layer window kv_head_count head_size offset_bytes }
    g4_stats { struct_size reserved evaluated_token_count prefill_ns decode_ns prefill_token_count decode_token_count kv_bytes scratch_bytes ple_row_count ple_read_bytes ple_ns reused_token_count }
    g4_status {  }
    g4_event_kind {  }
    g4_channel {  }
    g4_event_callback {  }
    g4_kv_type {  }
    g4_precision {  }
    g4_chat_template {  }
    g4_sample_type {  }
    g4_finish_reason {  }
}
constants! {
    G4_ABI_VERSION,
    G4_OK,
    G4_ERR_ARGUMENT,
    G4_ERR_BUFFER,
    G4_ERR_STATE,
    G4_ERR_IO,
    G4_ERR_FORMAT,
    G4_ERR_UNSUPPORTED,
    G4_ERR_MISMATCH,
    G4_ERR_MEMORY,
    G4_ERR_CONTEXT_FULL,
    G4_ERR_CANCELLED,
    G4_ERR_INTERNAL,
    G4_EVENT_LOAD,
    G4_EVENT_PREFILL,
    G4_EVENT_TOKEN,
    G4_EVENT_LOGITS,
    G4_EVENT_END,
    G4_CHANNEL_TEXT,
    G4_CHANNEL_THOUGHT,
    G4_CHANNEL_TOOL_CALL,
    G4_KV_DEFAULT,
    G4_KV_F16,
    G4_KV_F32,
    G4_KV_Q8_0,
    G4_PRECISION_DEFAULT,
    G4_PRECISION_F32,
    G4_SESSION_PLE_READ,
    G4_SESSION_PIN,
    G4_TOKENIZE_BOS,
    G4_TOKENIZE_SPECIAL,
    G4_DETOKENIZE_SPECIAL,
    G4_TEMPLATE_AUTO,
    G4_TEMPLATE_PLAIN,
    G4_TEMPLATE_INTERLEAVED,
    G4_CHAT_THINKING,
    G4_CHAT_NO_GENERATION_PROMPT,
    G4_SAMPLE_F32,
    G4_SAMPLE_I16,
    G4_SOUND_SPLIT,
    G4_MEDIA_ROWS_ONLY,
    G4_SAMPLING_GREEDY,
    G4_FINISH_NONE,
    G4_FINISH_TURN,
    G4_FINISH_EOS,
    G4_FINISH_TOOL_CALL,
    G4_FINISH_STOP_STRING,
    G4_FINISH_LENGTH,
    G4_FINISH_CALLBACK,
    G4_FINISH_CANCELLED,
    G4_GENERATE_IGNORE_STOP,
    G4_GENERATE_LOGITS_EVENTS,
    G4_GENERATE_EXTEND,
    G4_TRUNCATE_REEVALUATE,
    G4_CACHE_FILE,
}
