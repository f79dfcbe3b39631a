package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Conversation is a request as every dialect tells it.
type Conversation struct {
	Agent   string   // the agent: "codex"; from the path or the User-Agent
	Model   string   // the model asked for, said back in the answer
	Stream  bool     // whether the answer is streamed
	System  string   // system prompts, joined
	Prompts []string // what the person and the agent's own frame said, in order
	Results []string // tool results since the last prompt, oldest first
	Tools   []Tool   // what the agent offers
	Schema  *schema  // shape of the JSON that the answer has to be, or nil
	Usage   bool     // whether a stream ends with its token counts (OpenAI chat)

	size   int    // bytes of the request, for the token estimate
	digest string // hash of the request, for ids
}

// Turn is an answer as every dialect can tell it.
type Turn struct {
	Text string
	Call *Call // at most one
	Fail *Fail // instead of everything else
	Slow *Slow // nil means as fast as it goes
}

// Call asks the agent to use one of its tools.
type Call struct {
	Name      string
	Namespace string          // of tools that the agent groups (Codex)
	Args      json.RawMessage // a JSON object
}

// created stands wherever a dialect wants a time, since answers depend on the
// request alone.
var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newConversation is an empty one for a request body.
func newConversation(body []byte) Conversation {
	sum := sha256.Sum256(body)
	return Conversation{Model: Model, size: len(body), digest: hex.EncodeToString(sum[:])}
}

// id is a stable id: the prefix a dialect wants and part of the request's hash.
func (c Conversation) id(prefix string) string { return prefix + c.digest[:24] }

// inputTokens estimates the request at four bytes a token.
func (c Conversation) inputTokens() int { return c.size/4 + 1 }

// outputTokens estimates an answer the same way.
func (t Turn) outputTokens() int {
	size := len(t.Text)
	if t.Call != nil {
		size += len(t.Call.Name) + len(t.Call.Args)
	}
	return size/4 + 1
}

// instruct adds a system prompt.
func (c *Conversation) instruct(text string) {
	if c.System != "" && text != "" {
		c.System += "\n"
	}
	c.System += text
}

// hear adds what came in the user's name. Only what a user can have written starts
// the script again; what the agent's own frame adds between tool results does not.
func (c *Conversation) hear(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	c.Prompts = append(c.Prompts, text)
	if !framed(text) {
		c.Results = nil
	}
}

// observe adds the result of a tool call.
func (c *Conversation) observe(text string) { c.Results = append(c.Results, text) }

// framed reports whether text is nothing but elements like
// <system-reminder>…</system-reminder>, which agents add on their own.
func framed(text string) bool {
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

var elementName = regexp.MustCompile(`^[a-z][a-z_-]{0,40}$`)

// workdir matches where agents name their working directory.
var workdir = regexp.MustCompile(
	`(?m)(?:^[ \t-]*(?:Primary )?[Ww]orking directory: |<cwd>|working in the directory: |\*\*Workspace Directories:\*\*\n\s*- )(/[^\n<]*)`)

// Workdir is the agent's working directory, or "" when it does not say.
func (c Conversation) Workdir() string {
	for _, text := range append([]string{c.System}, c.Prompts...) {
		if found := workdir.FindStringSubmatch(text); found != nil {
			return strings.TrimRight(strings.TrimSpace(found[1]), "/.")
		}
	}
	return ""
}

// still is how Codex reports a command that is still running.
var still = regexp.MustCompile(`Process running with session ID (\d+)`)

// finished counts the results of calls that have ended, and names the session of
// the one that has not, if any.
func (c Conversation) finished() (count int, running string) {
	if _, _, waits := c.find(pollRole); !waits {
		return len(c.Results), ""
	}
	for i, result := range c.Results {
		found := still.FindStringSubmatch(result)
		if found == nil {
			count++
		} else if i == len(c.Results)-1 {
			running = found[1]
		}
	}
	return count, running
}

// lastLine is what {result} stands for: what a reach step found out, else the last
// line that says something.
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

// cut bounds a line that is repeated in an answer.
func cut(line string) string {
	const most = 200
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return line
}

// encode is json.Marshal for values that cannot fail.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("scripted: encoding an answer: %v", err))
	}
	return text
}
