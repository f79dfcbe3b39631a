// Package scripted is aibox's built-in inference server. It speaks the dialects of
// real servers (OpenAI chat and responses, Anthropic messages, Gemini, Ollama) and
// plays a script of tool calls, so the demo and the tests run real agents without a
// key or a model. It keeps no state, reads no clock and uses no random numbers: the
// same request always gets the same answer. It never runs the commands that it asks
// an agent to run.
//
// It is written by hand because the vendors' SDKs are clients: none serves the APIs, and
// the agents under test need the exact frames that the real servers stream.
//
// The number of tool results in the request since the user's last message selects the
// next step. A prompt can name a built-in script,
//
//	[[script demo]]
//
// or contain a whole script in a fenced block:
//
//	```aibox-script
//	[[step]]
//	run = "make test"
//	```
//
// The last script in the prompt replaces the server's own.
package scripted
