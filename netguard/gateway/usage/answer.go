package usage

import "aibox/netguard/gateway/schema"

// answer determines whether a server's response is an answer: a piece of text or of
// thinking, a tool call, or a refusal, in the form of the called API. A status of 200 by
// itself is not an answer, nor are keep-alives such as pings. It reads values as they
// arrive and keeps none of them.
type answer struct {
	api    schema.Endpoint // 0 for a call that does not generate
	pieces int64           // of the answer, so far
	ended  bool            // the server reported, in the API's form, why the answer ends
}

// inList represents a list in the paths that a scanner reports.
const inList = "[]"

// answerKeys are the keys that answer looks for. Other keys read as "".
var answerKeys = []string{
	"choices", "delta", "message", "text", "role", "finish_reason", "type",
	"item", "output", "part", "content", "content_block", "stop_reason", "stop_sequence", "incomplete_details", "reason", "status", "response",
	"candidates", "finishReason", "promptFeedback", "blockReason",
	"thinking", "done_reason",
}

// see takes a text of the answer, raw, with its path of keys.
func (a *answer) see(path []string, text []byte) {
	if len(text) == 0 {
		return
	}
	last := path[len(path)-1]
	switch a.api {
	case schema.ChatCompletions, schema.Completions:
		a.seeChat(path, last, text)
	case schema.Responses, schema.CompactResponse:
		a.seeResponse(path, last, text)
	case schema.Messages:
		a.seeMessage(path, last, text)
	case schema.GenerateContent:
		a.seeCandidate(path, last, text)
	case schema.OllamaChat, schema.OllamaGenerate:
		a.seeOllama(path, last, text)
	}
}

// end records why an answer ends. A refusal is an answer, too.
func (a *answer) end(why []byte) {
	a.ended = true
	switch string(why) {
	case "content_filter", "refusal", // OpenAI; Anthropic
		"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", // Gemini
		"load", "unload": // Ollama, when the request was only to load the model
		a.pieces++
	}
}

// seeChat looks for {"choices":[{"delta" or "message":{…},"finish_reason":…}]}, and for
// "text" of completions. Servers have different fields for thinking, so every text but the
// role counts.
func (a *answer) seeChat(path []string, last string, text []byte) {
	switch {
	case len(path) < 3 || path[0] != "choices" || path[1] != inList:
	case path[2] == "delta" || path[2] == "message":
		if last != "role" {
			a.pieces++
		}
	case len(path) == 3 && last == "text":
		a.pieces++
	case len(path) == 3 && last == "finish_reason":
		a.end(text)
	}
}

// seeResponse looks for {"output":[ITEM]} and, in events, {"delta":…}, {"item":ITEM}
// and {"response":{"output":[ITEM]}}. A message is an answer when it has content; a
// tool call, thinking or any other item always is.
func (a *answer) seeResponse(path []string, last string, text []byte) {
	if len(path) > 1 && path[0] == "response" {
		path = path[1:]
	}
	switch {
	case len(path) == 1 && last == "delta":
		a.pieces++
	case len(path) == 1 && last == "status":
		a.ended = a.ended || string(text) == "completed" || string(text) == "incomplete"
	case len(path) == 2 && path[0] == "incomplete_details" && last == "reason":
		a.end(text)
	case path[0] == "item":
		a.seeItem(path[1:], last, text)
	case len(path) > 2 && path[0] == "output" && path[1] == inList:
		a.seeItem(path[2:], last, text)
	}
}

func (a *answer) seeItem(path []string, last string, text []byte) {
	switch {
	case len(path) == 1 && last == "type" && string(text) != "message":
		a.pieces++
	case len(path) > 1 && path[0] == "content" && last != "type":
		a.pieces++
	}
}

// seeMessage looks for {"content":[BLOCK],"stop_reason":…} and, in events,
// {"content_block":BLOCK} and {"delta":…}.
func (a *answer) seeMessage(path []string, last string, text []byte) {
	if len(path) > 1 && path[0] == "message" {
		path = path[1:]
	}
	block := len(path) > 2 && path[0] == "content" && path[1] == inList ||
		len(path) > 1 && (path[0] == "content_block" || path[0] == "delta")
	switch {
	case last == "stop_reason" && (len(path) == 1 || len(path) == 2 && path[0] == "delta"):
		a.end(text)
	case block && last != "type" && last != "stop_sequence":
		a.pieces++
	}
}

// seeCandidate looks for {"candidates":[{"content":{…},"finishReason":…}]} and for
// {"promptFeedback":{"blockReason":…}}.
func (a *answer) seeCandidate(path []string, last string, text []byte) {
	switch {
	case len(path) == 2 && path[0] == "promptFeedback" && last == "blockReason":
		a.pieces++
	case len(path) < 3 || path[0] != "candidates" || path[1] != inList:
	case path[2] == "content" && last != "role":
		a.pieces++
	case len(path) == 3 && last == "finishReason":
		a.end(text)
	}
}

// seeOllama looks for {"message":{…},"done_reason":…}, and for "response" and
// "thinking" of /api/generate.
func (a *answer) seeOllama(path []string, last string, text []byte) {
	switch {
	case len(path) > 1 && path[0] == "message" && last != "role":
		a.pieces++
	case len(path) == 1 && (last == "response" || last == "thinking"):
		a.pieces++
	case len(path) == 1 && last == "done_reason":
		a.end(text)
	}
}
