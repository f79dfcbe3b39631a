// Package scripted is aibox's built-in inference server: it speaks the dialects of
// the real ones (OpenAI chat and responses, Anthropic messages, Gemini, Ollama)
// and plays a script of tool calls, so that the demo and the tests run the real
// agents with no key and no model. It keeps no state, reads no clock and makes no
// random numbers: the same request always gets the same answer. It never runs
// what it tells an agent to run.
//
// Which step of the script comes next is the number of tool results in the
// request since the person last spoke. A prompt may bring its own script, as the
// name of a built-in one,
//
//	[[script demo]]
//
// or whole, in a fenced block:
//
//	```aibox-script
//	[[step]]
//	run = "make test"
//	```
//
// The last one in the prompt wins over the server's own.
package scripted
