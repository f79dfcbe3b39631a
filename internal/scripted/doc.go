// Package scripted is aibox's built-in inference server: it speaks the dialects of
// the real ones (OpenAI chat and responses, Anthropic messages, Gemini, Ollama)
// and plays a script of tool calls, so that the demo and the tests run the real
// agents with no key and no model. It keeps no state, reads no clock and makes no
// random numbers: the same request always gets the same answer. It never runs
// the commands that it asks an agent to run.
//
// It is written by hand because the vendors' SDKs are clients: none serves the APIs, and
// the agents under test need the exact frames that the real servers stream.
//
// Which step of the script comes next is the number of tool results in the
// request since the user's last message. A prompt may bring its own script, as the
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
