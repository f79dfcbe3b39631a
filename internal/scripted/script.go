package scripted

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"aibox/internal/fault"
)

// Script is a list of steps that the server plays, one per request, and then Done. In
// all texts the server replaces {agent} by the agent's name, {model} by the requested
// model, {tools} by the names of the agent's tools, {received:TEXT} by "yes" if the request
// contains TEXT and "no" otherwise, and {result} by the last line that the latest tool
// call printed.
type Script struct {
	Name  string `toml:"name"` // for errors
	Steps []Step `toml:"step"`
	Done  string `toml:"done"` // the last text; empty means "Done."
	// Expect is a text that must reach the model byte for byte. In all texts of the
	// script the server replaces {received} by "yes", or by the text that arrived instead,
	// in quotes.
	Expect string `toml:"expect"`
}

// Step is one answer of the model. It has at most one of write, edit, run, reach, use and
// fail; a step with none of them ends the agent's turn with its text.
type Step struct {
	Say   string `toml:"say"`   // text before the call
	Write *Write `toml:"write"` // make a file
	Edit  *Edit  `toml:"edit"`  // change a file
	Run   string `toml:"run"`   // shell command
	Reach string `toml:"reach"` // http or https URL to request from the sandbox
	Use   *Use   `toml:"use"`   // call any tool
	Fail  *Fail  `toml:"fail"`  // HTTP error instead of an answer, every time
	Loop  int    `toml:"loop"`  // how often to make the call: 0 means once, -1 forever
	Slow  *Slow  `toml:"slow"`  // stream the answer slowly
	Via   string `toml:"via"`   // "shell": write or edit by a shell command, even if there is a tool
}

// Write makes a file. Path is relative to the agent's working directory.
type Write struct {
	Path    string `toml:"path"`
	Content string `toml:"content"`
}

// Edit replaces the first Old in a file with New.
type Edit struct {
	Path string `toml:"path"`
	Old  string `toml:"old"`
	New  string `toml:"new"`
}

// Use calls a tool by its name, such as one of an MCP server. Agents put more in front of that
// name.
type Use struct {
	Tool string         `toml:"tool"`
	Args map[string]any `toml:"args"`
}

// Fail is an HTTP error in the dialect's own shape.
type Fail struct {
	Status  int    `toml:"status"`  // 400 to 599
	Message string `toml:"message"` // empty means the status's own text
}

// Slow cuts an answer into pieces with a pause before each.
type Slow struct {
	Chunk int           `toml:"chunk"` // runes in a piece; 0 means 8
	Delay time.Duration `toml:"-"`
	// DelayText is Delay as written in a file, "100ms"; at most one minute.
	DelayText string `toml:"delay"`
}

// maxScript bounds a script file, in bytes.
const maxScript = 256 << 10

//go:embed scripts/*.toml
var builtin embed.FS

// Names returns the names of the built-in scripts.
func Names() []string {
	entries, _ := builtin.ReadDir("scripts")
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".toml"))
	}
	return names
}

// Builtin returns the built-in script with the given name.
func Builtin(name string) (Script, error) {
	text, err := builtin.ReadFile(path.Join("scripts", name+".toml"))
	if err != nil || !slices.Contains(Names(), name) {
		return Script{}, fault.New(fault.Usage, "there is no script %q", name).
			Hint("the built-in scripts are %s", strings.Join(Names(), ", ")).
			Hint("a script of your own is a path with a slash in it, such as ./task.toml")
	}
	return Parse(text)
}

// Open returns the script that ref names: the default if ref is empty, a built-in one if
// ref has no slash, else the file with that path. Errors are Usage faults.
func Open(ref string) (Script, error) {
	if ref == "" {
		ref = "default"
	}
	if !strings.ContainsRune(ref, '/') {
		return Builtin(ref)
	}
	text, err := os.ReadFile(ref)
	if err != nil {
		return Script{}, fault.New(fault.Usage, "cannot read the script: %w", err)
	}
	script, err := Parse(text)
	if err != nil {
		return Script{}, fault.New(fault.Usage, "script %s: %w", ref, err)
	}
	return script, nil
}

// Parse reads a script in TOML. Unknown keys are errors that name the line.
func Parse(text []byte) (Script, error) {
	if len(text) > maxScript {
		return Script{}, fmt.Errorf("a script has at most %d bytes, this one %d", maxScript, len(text))
	}
	var script Script
	if err := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields().Decode(&script); err != nil {
		return Script{}, explain(err)
	}
	for i := range script.Steps {
		if err := script.Steps[i].check(); err != nil {
			return Script{}, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return script, nil
}

// explain adds the line and column to an error of the TOML decoder.
func explain(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		first := strict.Errors[0]
		line, column := first.Position()
		return fmt.Errorf("line %d, column %d: unknown key %q", line, column, strings.Join(first.Key(), "."))
	}
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		line, column := syntax.Position()
		return fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(syntax.Error(), "toml: "))
	}
	return err
}

// check rejects a step that cannot be played, and parses its delay.
func (s *Step) check() error {
	actions := 0
	for _, has := range []bool{s.Write != nil, s.Edit != nil, s.Run != "", s.Reach != "", s.Use != nil, s.Fail != nil} {
		if has {
			actions++
		}
	}
	switch {
	case actions > 1:
		return errors.New("it has more than one of write, edit, run, reach, use and fail")
	case actions == 0 && s.Say == "":
		return errors.New("it has neither a text nor an action")
	case s.Loop < -1:
		return fmt.Errorf("loop must be a number of times, or -1 for no limit, not %d", s.Loop)
	case s.Loop != 0 && (actions == 0 || s.Fail != nil):
		return errors.New("loop needs a write, edit, run, reach or use to repeat")
	case s.Via != "" && s.Via != "shell" && s.Via != "tool":
		return fmt.Errorf("via is \"shell\" or \"tool\", not %q", s.Via)
	}
	return errors.Join(s.Write.check(), s.Edit.check(), s.Use.check(), s.Fail.check(), s.Slow.check(), checkURL(s.Reach))
}

func (w *Write) check() error {
	if w != nil && w.Path == "" {
		return errors.New("write needs a path")
	}
	return nil
}

func (e *Edit) check() error {
	if e != nil && (e.Path == "" || e.Old == "") {
		return errors.New("edit needs a path and an old text")
	}
	return nil
}

func (u *Use) check() error {
	if u != nil && u.Tool == "" {
		return errors.New("use needs a tool")
	}
	return nil
}

func (f *Fail) check() error {
	if f != nil && (f.Status < 400 || f.Status > 599) {
		return fmt.Errorf("fail needs a status from 400 to 599, not %d", f.Status)
	}
	return nil
}

func (f *Fail) message() string {
	if f.Message != "" {
		return f.Message
	}
	if text := http.StatusText(f.Status); text != "" {
		return text
	}
	return fmt.Sprintf("status %d", f.Status)
}

func (s *Slow) check() error {
	if s == nil {
		return nil
	}
	delay, err := time.ParseDuration(s.DelayText)
	if err != nil || delay < 0 || delay > time.Minute {
		return fmt.Errorf("slow needs a delay from 0s to 1m, such as \"100ms\", not %q", s.DelayText)
	}
	if s.Chunk < 0 {
		return fmt.Errorf("slow: chunk is a number of characters, not %d", s.Chunk)
	}
	if s.Chunk == 0 {
		s.Chunk = 8
	}
	s.Delay = delay
	return nil
}

func checkURL(text string) error {
	if text == "" {
		return nil
	}
	target, err := url.Parse(text)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return fmt.Errorf("reach needs an http or https URL, not %q", text)
	}
	return nil
}
