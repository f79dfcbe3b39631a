package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"aibox/internal/lazyregexp"
)

// Conversation is a request, independent of its dialect.
type Conversation struct {
	Agent   string   // the agent: "codex"; from the path or the User-Agent
	Model   string   // the requested model, repeated in the answer
	Stream  bool     // whether the answer is streamed
	System  string   // system prompts, joined
	Prompts []string // texts of the user and those that the agent adds, in order
	Results []string // tool results since the last prompt, oldest first
	Tools   []Tool   // the agent's tools
	Schema  *schema  // schema that the answer must follow, or nil
	Usage   bool     // whether a stream ends with its token counts (OpenAI chat)

	size   int    // bytes of the request, for the token estimate
	digest string // hash of the request, for ids
}

// Turn is an answer, independent of its dialect.
type Turn struct {
	Text string
	Call *Call // at most one
	Fail *Fail // instead of everything else
	Slow *Slow // nil means at full speed
}

// Call makes the agent use one of its tools.
type Call struct {
	Name      string
	Namespace string          // of tools that the agent groups (Codex)
	Args      json.RawMessage // a JSON object
}

// created is the time in all answers, since answers depend only on the request.
var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newConversation returns an empty conversation for a request body.
func newConversation(body []byte) Conversation {
	sum := sha256.Sum256(body)
	return Conversation{Model: Model, size: len(body), digest: hex.EncodeToString(sum[:])}
}

// id returns a stable id: the dialect's prefix and part of the request's hash.
func (c Conversation) id(prefix string) string { return prefix + c.digest[:24] }

// inputTokens estimates the request's size in tokens, at four bytes each.
func (c Conversation) inputTokens() int { return c.size/4 + 1 }

// outputTokens estimates an answer's size in the same way.
func (t Turn) outputTokens() int {
	size := len(t.Text)
	if t.Call != nil {
		size += len(t.Call.Name) + len(t.Call.Args)
	}
	return size/4 + 1
}

// addSystem adds a system prompt.
func (c *Conversation) addSystem(text string) {
	if c.System != "" && text != "" {
		c.System += "\n"
	}
	c.System += text
}

// addPrompt adds a prompt. Only a text that the user can have written restarts the script;
// texts that the agent adds between tool results do not.
func (c *Conversation) addPrompt(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	c.Prompts = append(c.Prompts, text)
	if !isFrame(text) {
		c.Results = nil
	}
}

// addResult adds the result of a tool call.
func (c *Conversation) addResult(text string) { c.Results = append(c.Results, text) }

// isFrame reports whether text consists only of elements like
// <system-reminder>…</system-reminder>, which agents add by themselves.
func isFrame(text string) bool {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, _, ok := strings.Cut(strings.TrimPrefix(text, "<"), ">")
		if !ok || text[0] != '<' || !elementName.MatchString(name) {
			return false
		}
		end := "</" + name + ">"
		at := strings.Index(text, end)
		if at < 0 {
			return false
		}
		text = text[at+len(end):]
	}
	return true
}

var elementName = lazyregexp.New(`^[a-z][a-z_-]{0,40}$`)

// workdir matches the texts in which agents name their working directory.
var workdir = lazyregexp.New(
	`(?m)(?:^[ \t-]*(?:Primary )?[Ww]orking directory: |<cwd>|working in the directory: |\*\*Workspace Directories:\*\*\n\s*- )(/[^\n<]*)`)

// Workdir returns the agent's working directory, or "" if the request does not name it.
func (c Conversation) Workdir() string {
	for _, text := range append([]string{c.System}, c.Prompts...) {
		if found := workdir.FindStringSubmatch(text); found != nil {
			return strings.TrimRight(strings.TrimSpace(found[1]), "/.")
		}
	}
	return ""
}

// stillRunning matches Codex's report about a command that is still running.
var stillRunning = lazyregexp.New(`Process running with session ID (\d+)`)

// finished counts the calls that have ended. If the last one is still running, it also
// returns that call's session.
func (c Conversation) finished() (count int, running string) {
	if _, _, waits := c.find(pollRole); !waits {
		return len(c.Results), ""
	}
	for i, result := range c.Results {
		found := stillRunning.FindStringSubmatch(result)
		if found == nil {
			count++
		} else if i == len(c.Results)-1 {
			running = found[1]
		}
	}
	return count, running
}

// lastLine returns the value of {result}: the result of a reach step, else the last line
// that is neither empty nor an XML element.
func (c Conversation) lastLine() string {
	if len(c.Results) == 0 {
		return ""
	}
	last := ""
	for line := range strings.SplitSeq(c.Results[len(c.Results)-1], "\n") {
		line = strings.TrimSpace(line)
		if verdict, ok := strings.CutPrefix(line, reachMark); ok {
			return cut(verdict)
		}
		if line != "" && line[0] != '<' {
			last = line
		}
	}
	return cut(last)
}

// cut shortens a line for use in an answer.
func cut(line string) string {
	const most = 200
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}

// encode calls json.Marshal on values that cannot fail.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("scripted: encoding an answer: %v", err))
	}
	return text
}
