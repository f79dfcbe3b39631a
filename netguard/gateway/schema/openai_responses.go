package schema

import "aibox/netguard"

// responsesRequest is POST /v1/responses, and without stored the calls that compact a
// conversation and count its tokens. An answer is never stored: by default OpenAI stores
// them. https://platform.openai.com/docs/api-reference/responses/create
func responsesRequest(stored bool) rule {
	request := object{need: []string{"model"}, fields: fields{
		"model":        modelName{},
		"instructions": scalar{},
		"input":        either{text: scalar{}, list: list{responseItem()}},

		"tools":               list{responseTool()},
		"tool_choice":         either{text: scalar{}, object: responseToolChoice()},
		"parallel_tool_calls": scalar{},
		"max_tool_calls":      scalar{},

		"max_output_tokens": outputLimit{}, "temperature": scalar{}, "top_p": scalar{}, "top_logprobs": scalar{}, "truncation": scalar{},
		"reasoning":          reasoning(),
		"text":               fields{"verbosity": scalar{}, "format": typed(namedSchema())},
		"include":            list{scalar{}},
		"stream":             streamSwitch{},
		"stream_options":     fields{"include_obfuscation": scalar{}, "reasoning_summary_delivery": scalar{}},
		"context_management": list{typed(fields{"compact_threshold": scalar{}})},
		"prompt_cache_key":   scalar{}, "prompt_cache_retention": scalar{}, "safety_identifier": scalar{}, "service_tier": serviceTier{}, "user": scalar{},
		"metadata":        anything{},
		"client_metadata": anything{}, // Codex

		"previous_response_id": answerID{},
		"conversation":         refused{storedObject},
		"prompt":               refused{"it names a prompt that your account stores, with tools and models that this session was not given"},
		"background":           refused{"an answer in the background is stored in your account"},
	}}
	if stored {
		request.force = map[string]string{"store": "false"}
	}
	return request
}

func mcpTool() fields {
	return typed(fields{
		"server_label": scalar{}, "server_url": scalar{}, "server_description": scalar{}, "connector_id": scalar{}, "authorization": scalar{},
		"headers": anything{}, "allowed_tools": anything{}, "require_approval": anything{}, "defer_loading": scalar{},
	})
}

// responseFunction and the following are tools that the agent executes.
func responseFunction() fields {
	return typed(function().with(fields{"defer_loading": scalar{}, "output_schema": jsonSchema{}}))
}

func responseCustomTool() fields { return typed(customTool().with(fields{"defer_loading": scalar{}})) }

func responseTool() tagged {
	return tagged{key: "type", of: map[string]rule{
		"function":    responseFunction(),
		"custom":      responseCustomTool(),
		"local_shell": typed(fields{}),
		"shell":       newShellTool(),
		"apply_patch": typed(fields{}),
		"tool_search": typed(fields{"execution": scalar{}, "description": scalar{}, "parameters": jsonSchema{}}),
		"namespace": typed(fields{"name": scalar{}, "description": scalar{}, "tools": list{tagged{key: "type", of: map[string]rule{
			"function": responseFunction(), "custom": responseCustomTool(),
		}}}}),

		"mcp":                           serverTool{netguard.MCP, mcpTool()},
		"web_search":                    offeredTool{netguard.WebSearch, webSearchTool()},
		"web_search_2025_08_26":         offeredTool{netguard.WebSearch, webSearchTool()},
		"web_search_preview":            offeredTool{netguard.WebSearch, webSearchTool()},
		"web_search_preview_2025_03_11": offeredTool{netguard.WebSearch, webSearchTool()},
		"file_search":                   offeredTool{netguard.FileSearch, typed(fields{"vector_store_ids": list{scalar{}}, "filters": anything{}, "max_num_results": scalar{}, "ranking_options": anything{}})},
		"code_interpreter":              offeredTool{netguard.CodeExecution, typed(fields{"container": object{fields: typed(fields{"memory_limit": scalar{}, "file_ids": refused{storedFile}}), need: []string{"type"}}})},
		"image_generation": offeredTool{netguard.ImageGeneration, typed(fields{
			"action": scalar{}, "background": scalar{}, "input_fidelity": scalar{}, "moderation": scalar{}, "output_compression": scalar{},
			"output_format": scalar{}, "partial_images": scalar{}, "quality": scalar{}, "size": scalar{},
		})},
		"computer":             offeredTool{netguard.ComputerUse, computerTool()},
		"computer_use":         offeredTool{netguard.ComputerUse, computerTool()},
		"computer_use_preview": offeredTool{netguard.ComputerUse, computerTool()},
		"x_search":             offeredTool{netguard.WebSearch, anything{}}, // xAI
		"code_execution":       offeredTool{netguard.CodeExecution, typed(fields{})},
	}}
}

// shellTool is a shell of the agent, or one in a container of the model's server: "environment"
// chooses. A tool that is not for a container is written as the agent's own, so that a server which has
// another default does not choose. Some servers have only containers of their own.
// https://developers.openai.com/api/docs/guides/tools-shell
type shellTool struct{ hosted, own rule }

func newShellTool() shellTool {
	return shellTool{
		hosted: offeredTool{netguard.CodeExecution, typed(fields{"environment": tagged{key: "type", of: map[string]rule{
			"local": typed(fields{}), "container_auto": typed(fields{"memory_limit": scalar{}}),
		}}})},
		own: object{fields: typed(fields{}), force: map[string]string{"environment": `{"type":"local"}`}},
	}
}

func (s shellTool) apply(w *walk) (bool, error) {
	environment, ok := w.tag("environment", "type")
	if w.policy.HostsShells || ok && environment != "local" {
		return s.hosted.apply(w)
	}
	return s.own.apply(w)
}

func webSearchTool() fields {
	return typed(fields{
		"filters": anything{}, "search_context_size": scalar{}, "user_location": anything{}, "external_web_access": scalar{}, "search_content_types": list{scalar{}},
	})
}

func computerTool() fields {
	return typed(fields{"display_width": scalar{}, "display_height": scalar{}, "environment": scalar{}})
}

// responseToolChoice names one of the tools, which are checked where they are declared.
func responseToolChoice() tagged {
	return tagged{key: "type", of: map[string]rule{
		"function":      typed(fields{"name": scalar{}}),
		"custom":        typed(fields{"name": scalar{}}),
		"shell":         typed(fields{}),
		"local_shell":   typed(fields{}),
		"apply_patch":   typed(fields{}),
		"allowed_tools": typed(fields{"mode": scalar{}, "tools": list{typed(fields{"name": scalar{}})}}),
	}}
}

// responseItem is one item of a conversation. One without a type is a message, and one with
// only an ID refers to a stored item.
func responseItem() tagged {
	return tagged{key: "type", absent: "message", of: map[string]rule{
		"message": object{need: []string{"role", "content"}, fields: responseItemOf(fields{"role": scalar{}, "content": responseContent(), "status": scalar{}, "phase": scalar{}})},
		"reasoning": responseItemOf(fields{
			"summary": list{typed(fields{"text": scalar{}})}, "content": list{typed(fields{"text": scalar{}})}, "encrypted_content": scalar{}, "status": scalar{},
		}),
		"function_call":           responseItemOf(fields{"call_id": scalar{}, "name": scalar{}, "namespace": scalar{}, "arguments": scalar{}, "status": scalar{}}),
		"function_call_output":    toolOutput(),
		"custom_tool_call":        responseItemOf(fields{"call_id": scalar{}, "name": scalar{}, "namespace": scalar{}, "input": scalar{}, "status": scalar{}}),
		"custom_tool_call_output": toolOutput(),
		"local_shell_call": responseItemOf(fields{"call_id": scalar{}, "status": scalar{}, "action": typed(fields{
			"command": list{scalar{}}, "env": anything{}, "timeout_ms": scalar{}, "user": scalar{}, "working_directory": scalar{},
		})}),
		"local_shell_call_output": toolOutput(),
		"shell_call": responseItemOf(fields{"call_id": scalar{}, "status": scalar{}, "action": typed(fields{
			"commands": list{scalar{}}, "timeout_ms": scalar{}, "max_output_length": scalar{},
		})}),
		"shell_call_output": responseItemOf(fields{"call_id": scalar{}, "status": scalar{}, "max_output_length": scalar{}, "output": list{fields{
			"stdout": scalar{}, "stderr": scalar{}, "outcome": typed(fields{"exit_code": scalar{}}),
		}}}),
		"apply_patch_call": responseItemOf(fields{"call_id": scalar{}, "status": scalar{}, "operation": typed(fields{
			"path": scalar{}, "diff": scalar{},
		})}),
		"apply_patch_call_output": toolOutput(),
		"tool_search_call":        responseItemOf(fields{"call_id": scalar{}, "status": scalar{}, "execution": scalar{}, "arguments": anything{}}),
		"tool_search_output":      responseItemOf(fields{"call_id": scalar{}, "status": scalar{}, "execution": scalar{}, "tools": list{responseTool()}}),
		"additional_tools":        responseItemOf(fields{"role": scalar{}, "tools": list{responseTool()}}),
		"agent_message":           responseItemOf(fields{"author": scalar{}, "recipient": scalar{}, "content": responseContent()}),
		"compaction":              responseItemOf(fields{"encrypted_content": scalar{}}),
		"compaction_summary":      responseItemOf(fields{"encrypted_content": scalar{}}),
		"context_compaction":      responseItemOf(fields{"encrypted_content": scalar{}}),
		"compaction_trigger":      responseItemOf(fields{}),

		"item_reference":        refused{storedObject},
		"mcp_approval_response": serverTool{netguard.MCP, responseItemOf(fields{"approval_request_id": scalar{}, "approve": scalar{}, "reason": scalar{}})},
		"mcp_approval_request":  history{netguard.MCP, responseItemOf(fields{"arguments": scalar{}, "name": scalar{}, "server_label": scalar{}})},
		"mcp_list_tools":        history{netguard.MCP, responseItemOf(fields{"server_label": scalar{}, "tools": anything{}, "error": anything{}})},
		"mcp_call":              history{netguard.MCP, responseItemOf(fields{"arguments": scalar{}, "name": scalar{}, "server_label": scalar{}, "output": scalar{}, "error": anything{}, "status": scalar{}, "approval_request_id": scalar{}})},
		"web_search_call":       history{netguard.WebSearch, responseItemOf(fields{"status": scalar{}, "action": anything{}})},
		"file_search_call":      history{netguard.FileSearch, responseItemOf(fields{"status": scalar{}, "queries": list{scalar{}}, "results": anything{}})},
		"code_interpreter_call": history{netguard.CodeExecution, responseItemOf(fields{"status": scalar{}, "code": scalar{}, "container_id": answerID{}, "outputs": anything{}})},
		"image_generation_call": history{netguard.ImageGeneration, responseItemOf(fields{"status": scalar{}, "result": base64Data{}})},
	}}
}

// responseItemOf adds the fields of every item. Its ID refers to nothing stored.
func responseItemOf(f fields) fields { return typed(f.with(fields{"id": itemID{}})) }

func toolOutput() fields {
	return responseItemOf(fields{"call_id": scalar{}, "name": scalar{}, "status": scalar{}, "output": responseContent()})
}

func responseContent() either {
	return either{text: scalar{}, list: list{either{text: scalar{}, object: responsePart()}}}
}

func responsePart() tagged {
	return tagged{key: "type", absent: "input_text", of: map[string]rule{
		"input_text":        typed(fields{"text": scalar{}}),
		"text":              typed(fields{"text": scalar{}}),
		"output_text":       typed(fields{"text": scalar{}, "annotations": list{responseAnnotation()}, "logprobs": anything{}}),
		"refusal":           typed(fields{"refusal": scalar{}}),
		"summary_text":      typed(fields{"text": scalar{}}),
		"reasoning_text":    typed(fields{"text": scalar{}}),
		"encrypted_content": typed(fields{"encrypted_content": scalar{}}),
		"input_image":       typed(fields{"image_url": inline(), "detail": scalar{}, "file_id": refused{storedFile}}),
		"input_audio":       typed(fields{"audio_url": inline(), "input_audio": fields{"data": dataOrBase64{}, "format": scalar{}}}),
		"input_file": typed(fields{
			"file_data": dataOrBase64{}, "filename": scalar{}, "detail": scalar{}, "file_id": refused{storedFile}, "file_url": refused{remote},
		}),
		"computer_screenshot": typed(fields{"image_url": inline(), "file_id": refused{storedFile}}),
	}}
}

// responseAnnotation is an annotation of an answer's text. Those of files name stored
// files.
func responseAnnotation() tagged {
	return tagged{key: "type", of: map[string]rule{
		"url_citation": typed(fields{"start_index": scalar{}, "end_index": scalar{}, "title": scalar{}, "url": scalar{}}),
	}}
}
