package schema

import "aibox/netguard"

// chatRequest is POST /v1/chat/completions, with the fields for sampling and reasoning that
// OpenRouter, vLLM and others add. An answer is never stored.
// https://platform.openai.com/docs/api-reference/chat/create
func chatRequest() rule {
	return streaming{object{need: []string{"model"}, force: map[string]string{"store": "false"}, fields: sampling().with(fields{
		"model":    modelName{},
		"messages": list{chatMessage()},

		"tools":               list{chatTool()},
		"tool_choice":         either{text: scalar{}, object: chatToolChoice()},
		"parallel_tool_calls": scalar{},
		"functions":           list{function()},
		"function_call":       either{text: scalar{}, object: fields{"name": scalar{}}},

		"max_completion_tokens":  outputLimit{},
		"modalities":             list{scalar{}},
		"audio":                  fields{"voice": scalar{}, "format": scalar{}},
		"prediction":             fields{"type": scalar{}, "content": chatContent()},
		"reasoning_effort":       scalar{},
		"reasoning":              reasoning(),
		"include_reasoning":      scalar{},
		"thinking":               typed(fields{"budget_tokens": scalar{}, "clear_thinking": scalar{}}),
		"enable_thinking":        scalar{},
		"thinking_budget":        scalar{},
		"chat_template_kwargs":   fields{"enable_thinking": scalar{}, "thinking": scalar{}, "reasoning_effort": scalar{}, "preserve_thinking": scalar{}, "clear_thinking": scalar{}},
		"verbosity":              scalar{},
		"response_format":        typed(fields{"json_schema": namedSchema()}),
		"prompt_cache_key":       scalar{},
		"prompt_cache_retention": scalar{},
		"cache_control":          cacheControl(),
		"safety_identifier":      scalar{},
		"service_tier":           serviceTier{},
		"metadata":               anything{},
		"usage":                  fields{"include": scalar{}}, // OpenRouter

		"models":             list{modelName{}}, // OpenRouter's fallbacks
		"web_search_options": serverTool{netguard.WebSearch, anything{}},
		"search_parameters":  serverTool{netguard.WebSearch, anything{}}, // xAI
		"enable_search":      serverTool{netguard.WebSearch, scalar{}},   // Alibaba
		"plugins":            serverTool{netguard.WebSearch, list{tagged{key: "id", of: map[string]rule{"web": fields{"id": scalar{}, "max_results": scalar{}}}}}},
		"preset":             refused{"a preset holds settings, tools and models that this session was not given"},
	})}}
}

// sampling has the sampling options of all of OpenAI's older calls.
func sampling() fields {
	return fields{
		"max_tokens": outputLimit{}, "temperature": scalar{}, "top_p": scalar{}, "top_k": scalar{}, "min_p": scalar{}, "top_a": scalar{},
		"typical_p": scalar{}, "n": choiceCount{}, "seed": scalar{}, "stop": scalars(), "stop_token_ids": scalars(),
		"frequency_penalty": scalar{}, "presence_penalty": scalar{}, "repetition_penalty": scalar{}, "repeat_penalty": scalar{}, "repeat_last_n": scalar{},
		"logit_bias": anything{}, "logprobs": scalar{}, "top_logprobs": scalar{}, "ignore_eos": scalar{}, "min_tokens": scalar{},
		"stream": streamSwitch{}, "stream_options": newStreamOptions(),
		"user": scalar{},
	}
}

func reasoning() fields {
	return fields{
		"effort": scalar{}, "summary": scalar{}, "generate_summary": scalar{}, "max_tokens": scalar{}, "exclude": scalar{}, "enabled": scalar{},
		"context": scalar{},
	}
}

func namedSchema() fields {
	return fields{"name": scalar{}, "description": scalar{}, "strict": scalar{}, "schema": jsonSchema{}}
}

// function is a tool that the agent executes.
func function() fields {
	return fields{"name": scalar{}, "description": scalar{}, "parameters": jsonSchema{}, "strict": scalar{}}
}

// grammar is the format of a custom tool's input.
func grammar() fields {
	return typed(fields{"syntax": scalar{}, "definition": scalar{}, "grammar": fields{"syntax": scalar{}, "definition": scalar{}}})
}

func customTool() fields {
	return fields{"name": scalar{}, "description": scalar{}, "format": grammar()}
}

func chatTool() tagged {
	return tagged{key: "type", absent: "function", of: map[string]rule{
		"function": typed(fields{"function": function(), "cache_control": cacheControl()}),
		"custom":   typed(fields{"custom": customTool()}),

		"mcp":                         serverTool{netguard.MCP, mcpTool()},
		"web_search":                  offeredTool{netguard.WebSearch, anything{}}, // Z.ai
		"web_search_preview":          offeredTool{netguard.WebSearch, anything{}},
		"openrouter:web_search":       offeredTool{netguard.WebSearch, anything{}},
		"openrouter:web_fetch":        offeredTool{netguard.WebFetch, anything{}},
		"builtin_function":            offeredTool{netguard.WebSearch, anything{}}, // Moonshot
		"browser_search":              offeredTool{netguard.WebSearch, anything{}}, // Groq
		"retrieval":                   offeredTool{netguard.FileSearch, anything{}},
		"file_search":                 offeredTool{netguard.FileSearch, anything{}},
		"code_interpreter":            offeredTool{netguard.CodeExecution, anything{}},
		"image_generation":            offeredTool{netguard.ImageGeneration, anything{}},
		"computer_use_preview":        offeredTool{netguard.ComputerUse, anything{}},
		"openrouter:image_generation": offeredTool{netguard.ImageGeneration, anything{}},
	}}
}

func chatToolChoice() tagged {
	return tagged{key: "type", absent: "function", of: map[string]rule{
		"function":      typed(fields{"function": fields{"name": scalar{}}, "name": scalar{}}),
		"custom":        typed(fields{"custom": fields{"name": scalar{}}, "name": scalar{}}),
		"allowed_tools": typed(fields{"allowed_tools": fields{"mode": scalar{}, "tools": list{chatToolChoiceOf()}}}),
	}}
}

func chatToolChoiceOf() fields {
	return typed(fields{"function": fields{"name": scalar{}}, "custom": fields{"name": scalar{}}, "name": scalar{}})
}

func chatMessage() fields {
	return fields{
		"role": scalar{}, "name": scalar{}, "tool_call_id": scalar{}, "refusal": scalar{}, "cache_control": cacheControl(),
		"content":       chatContent(),
		"tool_calls":    list{chatToolCall()},
		"function_call": fields{"name": scalar{}, "arguments": scalar{}},
		"audio":         refused{storedObject}, // the ID of an earlier answer
		"prefix":        scalar{},

		// The model's thinking, under the names of different servers.
		"reasoning": either{text: scalar{}, list: anything{}, object: anything{}}, "reasoning_content": scalar{}, "reasoning_text": scalar{},
		"reasoning_opaque": scalar{}, "reasoning_details": anything{}, "thinking": scalar{}, "thought_signature": scalar{},
	}
}

func chatToolCall() fields {
	return typed(fields{
		"id": scalar{}, "index": scalar{},
		"function": fields{"name": scalar{}, "arguments": scalar{}},
		"custom":   fields{"name": scalar{}, "input": scalar{}},
		// Gemini's compatible API keeps the signature of a thought here.
		"extra_content": fields{"google": fields{"thought_signature": scalar{}}},
	})
}

func chatContent() either {
	return either{text: scalar{}, list: list{either{text: scalar{}, object: chatPart()}}}
}

func chatPart() tagged {
	return tagged{key: "type", absent: "text", of: map[string]rule{
		"text":        typed(fields{"text": scalar{}, "cache_control": cacheControl()}),
		"refusal":     typed(fields{"refusal": scalar{}}),
		"thinking":    typed(fields{"thinking": either{text: scalar{}, list: list{typed(fields{"text": scalar{}})}}, "signature": scalar{}, "closed": scalar{}}),
		"reasoning":   typed(fields{"text": scalar{}, "reasoning": scalar{}}),
		"image_url":   typed(fields{"image_url": inline(), "cache_control": cacheControl()}),
		"input_image": typed(fields{"image_url": inline(), "detail": scalar{}, "file_id": refused{storedFile}}),
		"video_url":   typed(fields{"video_url": inline()}),
		"audio_url":   typed(fields{"audio_url": inline()}),
		"input_audio": typed(fields{"input_audio": fields{"data": dataOrBase64{}, "format": scalar{}}}),
		"file": typed(fields{
			"file":    fields{"file_data": dataOrBase64{}, "filename": scalar{}, "file_id": refused{storedFile}, "file_url": refused{remote}},
			"file_id": refused{storedFile}, "cache_control": cacheControl(),
		}),
		"document_url": typed(fields{"document_url": inline(), "document_name": scalar{}}), // Mistral
	}}
}

// inline is a data URL, by itself or in an object.
func inline() either {
	return either{text: dataURL{}, object: fields{"url": dataURL{}, "detail": scalar{}, "format": scalar{}}}
}

// completionRequest is POST /v1/completions.
// https://platform.openai.com/docs/api-reference/completions/create
func completionRequest() rule {
	return streaming{object{need: []string{"model"}, fields: sampling().with(fields{
		"model":   modelName{},
		"prompt":  either{text: scalar{}, list: list{prompt{either{text: scalar{}, list: list{scalar{}}}}}},
		"suffix":  scalar{},
		"echo":    scalar{},
		"best_of": choiceCount{},
	})}}
}

// embeddingsRequest is POST /v1/embeddings.
// https://platform.openai.com/docs/api-reference/embeddings/create
func embeddingsRequest() rule {
	return object{need: []string{"model"}, fields: fields{
		"model":           modelName{},
		"input":           either{text: scalar{}, list: list{either{text: scalar{}, list: list{scalar{}}}}},
		"encoding_format": scalar{}, "dimensions": scalar{}, "user": scalar{}, "input_type": scalar{},
	}}
}
