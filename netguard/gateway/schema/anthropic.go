package schema

import "aibox/netguard"

// messagesRequest is POST /v1/messages and /v1/messages/count_tokens.
// https://docs.anthropic.com/en/api/messages
func messagesRequest() rule { return messages() }

// vertexRequest is the same for Vertex AI, where a generating request has its model in the
// path.
func vertexRequest(generates bool) rule {
	request := messages()
	request.force = map[string]string{"anthropic_version": `"vertex-2023-10-16"`}
	if generates {
		request.need, request.fields = nil, request.fields.with(fields{"model": pathModel{}})
	}
	return request
}

func messages() object {
	return object{need: []string{"model"}, fields: fields{
		"model":    modelName{},
		"messages": list{fields{"role": scalar{}, "content": anthropicContent()}},
		"system":   anthropicContent(),

		"tools":       list{anthropicTool()},
		"tool_choice": typed(fields{"name": scalar{}, "disable_parallel_tool_use": scalar{}}),

		"max_tokens": outputLimit{}, "stop_sequences": list{scalar{}}, "stream": streamSwitch{}, "temperature": scalar{}, "top_k": scalar{}, "top_p": scalar{},
		"thinking":           typed(fields{"budget_tokens": scalar{}, "display": scalar{}}),
		"output_config":      fields{"effort": scalar{}, "format": typed(fields{"schema": jsonSchema{}}), "task_budget": typed(fields{"total": scalar{}, "remaining": scalar{}})},
		"output_format":      typed(fields{"schema": jsonSchema{}}),
		"context_management": fields{"edits": anything{}}, // parts of the conversation that the server leaves out
		"cache_control":      cacheControl(),
		"metadata":           fields{"user_id": scalar{}},
		"service_tier":       serviceTier{}, "speed": serviceTier{},

		"mcp_servers": serverTool{netguard.MCP, list{typed(fields{
			"name": scalar{}, "url": scalar{}, "authorization_token": scalar{}, "tool_configuration": anything{},
		})}},
		"container": refused{"a container and its skills are kept in your account, with files of other work"},
		"fallbacks": refused{"another model than the session's own would answer"},
	}}
}

func anthropicFunction() fields {
	return typed(fields{
		"name": scalar{}, "description": scalar{}, "input_schema": jsonSchema{}, "input_examples": anything{}, "strict": scalar{},
		"cache_control": cacheControl(), "defer_loading": scalar{}, "eager_input_streaming": scalar{}, "allowed_callers": list{scalar{}},
	})
}

// anthropicTool is a tool that the agent executes, or one that only finds others of
// the same request, unless its kind is named.
func anthropicTool() tagged {
	return tagged{key: "type", absent: "custom", of: map[string]rule{
		"custom":        anthropicFunction(),
		"bash_*":        anthropicFunction(),
		"text_editor_*": anthropicFunction().with(fields{"max_characters": scalar{}}),
		"memory_*":      anthropicFunction(),

		"tool_search_tool_regex_*": anthropicFunction(),
		"tool_search_tool_regex":   anthropicFunction(),
		"tool_search_tool_bm25_*":  anthropicFunction(),
		"tool_search_tool_bm25":    anthropicFunction(),

		"web_search_*":     offeredTool{netguard.WebSearch, anthropicWebTool()},
		"web_fetch_*":      offeredTool{netguard.WebFetch, anthropicWebTool()},
		"code_execution_*": offeredTool{netguard.CodeExecution, anthropicFunction()},
		"computer_*": offeredTool{netguard.ComputerUse, anthropicFunction().with(fields{
			"display_width_px": scalar{}, "display_height_px": scalar{}, "display_number": scalar{}, "enable_zoom": scalar{},
		})},
		"mcp_toolset": serverTool{netguard.MCP, typed(fields{
			"mcp_server_name": scalar{}, "default_config": anything{}, "configs": anything{}, "cache_control": cacheControl(),
		})},
	}}
}

func anthropicWebTool() fields {
	return anthropicFunction().with(fields{
		"max_uses": scalar{}, "allowed_domains": list{scalar{}}, "blocked_domains": list{scalar{}}, "user_location": anything{},
		"citations": anything{}, "max_content_tokens": scalar{}, "use_cache": scalar{},
	})
}

func anthropicContent() either {
	return either{text: scalar{}, list: list{anthropicBlocks(anthropicResult())}}
}

// anthropicResult is the content of a tool's result.
func anthropicResult() either { return either{text: scalar{}, list: list{anthropicBlocks(nil)}} }

// anthropicBlocks returns the parts of a message. result is the content of tool results;
// nil inside a tool's result.
func anthropicBlocks(result rule) rule {
	block := func(f fields) fields { return typed(f.with(fields{"cache_control": cacheControl()})) }
	blocks := map[string]rule{
		"text":           block(fields{"text": scalar{}, "citations": anything{}}),
		"image":          block(fields{"source": anthropicSource()}),
		"document":       block(fields{"source": anthropicSource(), "title": scalar{}, "context": scalar{}, "citations": fields{"enabled": scalar{}}}),
		"search_result":  block(fields{"source": scalar{}, "title": scalar{}, "content": list{typed(fields{"text": scalar{}})}, "citations": fields{"enabled": scalar{}}}),
		"tool_reference": block(fields{"tool_name": scalar{}, "name": scalar{}}),
	}
	if result == nil {
		return tagged{key: "type", of: blocks}
	}
	for tag, r := range map[string]rule{
		"thinking":          block(fields{"thinking": scalar{}, "signature": scalar{}}),
		"redacted_thinking": block(fields{"data": scalar{}}),
		"compaction":        block(fields{"content": scalar{}, "encrypted_content": scalar{}}),
		"tool_use":          block(fields{"id": scalar{}, "name": scalar{}, "input": anything{}, "caller": typed(fields{"tool_id": scalar{}})}),
		"tool_result":       block(fields{"tool_use_id": scalar{}, "is_error": scalar{}, "content": result}),
		"tool_addition":     block(fields{"tool": tagged{key: "type", absent: "custom", of: anthropicAdded()}}),
		"tool_removal":      block(fields{"tool": typed(fields{"name": scalar{}})}),

		"container_upload": refused{storedFile},
		"mcp_tool_use":     history{netguard.MCP, block(fields{"id": scalar{}, "name": scalar{}, "server_name": scalar{}, "input": anything{}})},
		"mcp_tool_result":  history{netguard.MCP, block(fields{"tool_use_id": scalar{}, "is_error": scalar{}, "content": result})},
		"server_tool_use": tagged{key: "name", of: map[string]rule{
			"tool_search_tool_regex": serverUse(),
			"tool_search_tool_bm25":  serverUse(),
			"web_search":             history{netguard.WebSearch, serverUse()},
			"web_fetch":              history{netguard.WebFetch, serverUse()},
			"code_execution":         history{netguard.CodeExecution, serverUse()},
			"bash_code_execution":    history{netguard.CodeExecution, serverUse()},
		}},
		"tool_search_tool_result":         block(fields{"tool_use_id": scalar{}, "content": anything{}}),
		"web_search_tool_result":          history{netguard.WebSearch, block(fields{"tool_use_id": scalar{}, "content": anything{}, "caller": anything{}})},
		"web_fetch_tool_result":           history{netguard.WebFetch, block(fields{"tool_use_id": scalar{}, "content": anything{}, "caller": anything{}})},
		"code_execution_tool_result":      history{netguard.CodeExecution, block(fields{"tool_use_id": scalar{}, "content": anything{}})},
		"bash_code_execution_tool_result": history{netguard.CodeExecution, block(fields{"tool_use_id": scalar{}, "content": anything{}})},
	} {
		blocks[tag] = r
	}
	return tagged{key: "type", of: blocks}
}

// serverUse is the model's use of a tool that its server ran.
func serverUse() fields {
	return typed(fields{"id": scalar{}, "name": scalar{}, "input": anything{}, "caller": anything{}, "cache_control": cacheControl()})
}

// anthropicAdded returns the rule for tools that a message adds, or selects from those of
// the request.
func anthropicAdded() map[string]rule {
	added := map[string]rule{"tool_reference": typed(fields{"name": scalar{}, "tool_name": scalar{}})}
	for tag, r := range anthropicTool().of {
		added[tag] = r
	}
	return added
}

func anthropicSource() tagged {
	return tagged{key: "type", of: map[string]rule{
		"base64": typed(fields{"media_type": mediaName{}, "data": base64Data{}}),
		"text":   typed(fields{"media_type": mediaName{}, "data": scalar{}}),
		"content": typed(fields{"content": either{text: scalar{}, list: list{tagged{key: "type", of: map[string]rule{
			"text":  typed(fields{"text": scalar{}, "cache_control": cacheControl()}),
			"image": typed(fields{"source": anthropicInlineSource(), "cache_control": cacheControl()}),
		}}}}}),
		"url":  refused{remote},
		"file": refused{storedFile},
	}}
}

// anthropicInlineSource is the source of a picture in a document.
func anthropicInlineSource() tagged {
	return tagged{key: "type", of: map[string]rule{
		"base64": typed(fields{"media_type": mediaName{}, "data": base64Data{}}),
		"url":    refused{remote},
		"file":   refused{storedFile},
	}}
}
