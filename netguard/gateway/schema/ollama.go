package schema

// ollamaOptions are the sampling options of an answer. Options for the server's memory,
// processors and files (num_ctx, num_gpu, num_thread, use_mmap and so on), and for how long
// a model stays loaded (keep_alive), are left to the server's owner.
// https://github.com/ollama/ollama/blob/main/docs/modelfile.mdx
func ollamaOptions() fields {
	return fields{
		"num_predict": outputLimit{}, "num_keep": scalar{}, "seed": scalar{}, "temperature": scalar{}, "top_k": scalar{}, "top_p": scalar{}, "min_p": scalar{},
		"typical_p": scalar{}, "tfs_z": scalar{}, "repeat_last_n": scalar{}, "repeat_penalty": scalar{}, "presence_penalty": scalar{},
		"frequency_penalty": scalar{}, "mirostat": scalar{}, "mirostat_tau": scalar{}, "mirostat_eta": scalar{}, "penalize_newline": scalar{}, "stop": scalars(),
	}
}

// ollamaAnswer has the fields of both calls for an answer.
// https://github.com/ollama/ollama/blob/main/docs/api.md
func ollamaAnswer() fields {
	return fields{
		"model": modelName{}, "stream": streamSwitch{}, "think": scalar{}, "format": either{text: scalar{}, object: jsonSchema{}},
		"options": ollamaOptions(), "logprobs": scalar{}, "top_logprobs": scalar{}, "truncate": scalar{}, "shift": scalar{},
	}
}

// ollamaChatRequest is POST /api/chat.
func ollamaChatRequest() rule {
	return object{need: []string{"model"}, fields: ollamaAnswer().with(fields{
		"messages": list{fields{
			"role": scalar{}, "content": scalar{}, "thinking": scalar{}, "tool_name": scalar{}, "tool_call_id": scalar{},
			"images":     list{picture{}},
			"tool_calls": list{typed(fields{"id": scalar{}, "function": fields{"index": scalar{}, "name": scalar{}, "arguments": anything{}}})},
		}},
		"tools": list{tagged{key: "type", absent: "function", of: map[string]rule{"function": typed(fields{"function": function()})}}},
	})}
}

// ollamaGenerateRequest is POST /api/generate.
func ollamaGenerateRequest() rule {
	return object{need: []string{"model"}, fields: ollamaAnswer().with(fields{
		"prompt": scalar{}, "suffix": scalar{}, "system": scalar{}, "raw": scalar{}, "context": list{scalar{}}, "images": list{picture{}},
	})}
}

// ollamaEmbedRequest is POST /api/embed and /api/embeddings.
func ollamaEmbedRequest() rule {
	return object{need: []string{"model"}, fields: fields{
		"model": modelName{}, "input": scalars(), "prompt": scalar{}, "truncate": scalar{}, "dimensions": scalar{}, "options": ollamaOptions(),
	}}
}

// ollamaShowRequest is POST /api/show, in which older clients send a name.
func ollamaShowRequest() rule {
	return fields{"model": modelName{}, "name": modelName{}, "verbose": scalar{}}
}
