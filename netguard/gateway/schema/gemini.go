package schema

import "aibox/netguard"

// generateContentRequest is POST …:generateContent and …:streamGenerateContent. Its
// model is in the path. Names here are those in camel case; the API takes them in
// snake case too.
// https://ai.google.dev/api/generate-content
func generateContentRequest() rule { return geminiRequest() }

func geminiRequest() fields {
	return fields{
		"model":             modelName{},
		"contents":          either{list: list{geminiContent()}, object: geminiContent()},
		"systemInstruction": either{text: scalar{}, object: geminiContent()},
		"tools":             list{geminiTool()},
		"toolConfig":        fields{"functionCallingConfig": fields{"mode": scalar{}, "allowedFunctionNames": list{scalar{}}, "streamFunctionCallArguments": scalar{}}},
		"safetySettings":    list{fields{"category": scalar{}, "threshold": scalar{}, "method": scalar{}}},
		"generationConfig":  generationConfig(),
		"serviceTier":       serviceTier{},
		"cachedContent":     refused{storedObject},
	}
}

func generationConfig() fields {
	return fields{
		"candidateCount": choiceCount{}, "stopSequences": list{scalar{}}, "maxOutputTokens": outputLimit{}, "temperature": scalar{}, "topP": scalar{}, "topK": scalar{},
		"seed": scalar{}, "presencePenalty": scalar{}, "frequencyPenalty": scalar{}, "responseLogprobs": scalar{}, "logprobs": scalar{},
		"responseMimeType": scalar{}, "responseModalities": list{scalar{}}, "responseSchema": jsonSchema{}, "responseJsonSchema": jsonSchema{},
		"thinkingConfig":  fields{"includeThoughts": scalar{}, "thinkingBudget": scalar{}, "thinkingLevel": scalar{}},
		"mediaResolution": scalar{}, "audioTimestamp": scalar{},
	}
}

func geminiContent() fields {
	return fields{"role": scalar{}, "parts": either{list: list{geminiPart()}, object: geminiPart()}}
}

func geminiPart() fields {
	return fields{
		"text": scalar{}, "thought": scalar{}, "thoughtSignature": scalar{},
		"inlineData":   inlineData(),
		"functionCall": fields{"id": scalar{}, "name": scalar{}, "args": anything{}, "willContinue": scalar{}, "partialArgs": anything{}},
		"functionResponse": fields{
			"id": scalar{}, "name": scalar{}, "response": anything{}, "willContinue": scalar{}, "scheduling": scalar{},
			"parts": list{fields{"inlineData": inlineData(), "fileData": refused{remote}}},
		},
		"videoMetadata":   fields{"startOffset": scalar{}, "endOffset": scalar{}, "fps": scalar{}},
		"mediaResolution": either{text: scalar{}, object: fields{"level": scalar{}, "numTokens": scalar{}}},

		"fileData":            refused{"the model's server would read the file or URL, from your account or from its own network. Send the content itself"},
		"executableCode":      history{netguard.CodeExecution, anything{}},
		"codeExecutionResult": history{netguard.CodeExecution, anything{}},
	}
}

func inlineData() fields {
	return fields{"mimeType": mediaName{}, "data": base64Data{}, "displayName": scalar{}}
}

func geminiTool() fields {
	return fields{
		"functionDeclarations": list{fields{
			"name": scalar{}, "description": scalar{}, "behavior": scalar{},
			"parameters": jsonSchema{}, "parametersJsonSchema": jsonSchema{}, "response": jsonSchema{}, "responseJsonSchema": jsonSchema{},
		}},

		"googleSearch":          offeredTool{netguard.WebSearch, anything{}},
		"googleSearchRetrieval": offeredTool{netguard.WebSearch, anything{}},
		"enterpriseWebSearch":   offeredTool{netguard.WebSearch, anything{}},
		"googleMaps":            offeredTool{netguard.WebSearch, anything{}},
		"parallelAiSearch":      offeredTool{netguard.WebSearch, anything{}},
		"urlContext":            offeredTool{netguard.WebFetch, anything{}},
		"codeExecution":         offeredTool{netguard.CodeExecution, anything{}},
		"fileSearch":            offeredTool{netguard.FileSearch, anything{}},
		"retrieval":             offeredTool{netguard.FileSearch, anything{}},
		"computerUse":           offeredTool{netguard.ComputerUse, anything{}},
		"mcpServers":            serverTool{netguard.MCP, anything{}},
	}
}

// countContentRequest is POST …:countTokens, of a prompt or of a whole request.
func countContentRequest() rule {
	return geminiRequest().with(fields{"generateContentRequest": geminiRequest()})
}

// embedContentRequest is POST …:embedContent.
// https://ai.google.dev/api/embeddings
func embedContentRequest() rule { return embedContent() }

func embedContent() fields {
	return fields{
		"model": modelName{}, "content": geminiContent(), "taskType": scalar{}, "title": scalar{}, "outputDimensionality": scalar{},
		"embedContentConfig": fields{"taskType": scalar{}, "title": scalar{}, "outputDimensionality": scalar{}, "autoTruncate": scalar{}},
	}
}

// batchEmbedContentsRequest is POST …:batchEmbedContents.
func batchEmbedContentsRequest() rule { return fields{"requests": list{embedContent()}} }
