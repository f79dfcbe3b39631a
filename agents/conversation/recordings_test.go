package conversation

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"aibox/internal/golden"
)

// The recordings are the output of real agents that followed a scripted model: look at the
// project, edit a file, write one, run a command that fails, try to reach a host. In
// recordings that fail, the model refused the request. They are shortened: Copilot's
// telemetry and most of its ephemeral events are left out, and lists of tools are cut.
//
// Cursor and Amp need an account. Their files were written by hand, in the documented
// format; that of Cursor's thinking, of a search of Codex, and of a subagent and a skill of
// Claude Code, in the one that they print.
func TestRecordingsMatchTheGoldenFiles(t *testing.T) {
	for name, data := range recordings(t) {
		events := decode(formatOf(t, name), data, 0)
		var shapes bytes.Buffer
		encoder := json.NewEncoder(&shapes)
		encoder.SetEscapeHTML(false)
		var text strings.Builder
		var renderer TextRenderer
		write := func(all []Rendered) {
			for _, one := range all {
				if one.Aside {
					one.Text = "\t" + one.Text
				}
				text.WriteString(one.Text)
			}
		}
		var document Markdown
		page := document.Head("0abcd-"+name, [][2]string{{"Agent", name}, {"Model", ""}})
		for _, e := range events {
			if err := encoder.Encode(e); err != nil {
				t.Fatal(err)
			}
			write(renderer.Render(e))
			page += document.Render(e)
		}
		text.WriteString(renderer.Close())
		golden.Check(t, name+".events.golden", shapes.String())
		golden.Check(t, name+".text.golden", text.String())
		golden.Check(t, name+".md.golden", page+document.Close())
	}
}

// Every conversation has all steps of the script.
func TestRecordingsHoldTheWholeConversation(t *testing.T) {
	for name, data := range recordings(t) {
		if !strings.HasSuffix(name, "-edit") {
			continue
		}
		calls, results, edits, failed, last := map[string]bool{}, 0, 0, 0, ""
		for _, e := range decode(formatOf(t, name), data, 0) {
			switch e.Kind {
			case Call:
				if e.ID == "" || calls[e.ID] {
					t.Errorf("%s: the call %q has the id %q", name, e.Title(), e.ID)
				}
				calls[e.ID] = true
				edits += len(e.Edits)
			case Result:
				if !calls[e.ID] {
					t.Errorf("%s: a result of %q, which was not called", name, e.ID)
				}
				results++
				if e.ExitCode != nil && *e.ExitCode == 3 && e.Failed {
					failed++
				}
			case Message:
				last = e.Text
			case Other:
				t.Errorf("%s: %s is unknown: %s", name, e.Name, e.Raw)
			}
		}
		if results != len(calls) || len(calls) < 5 {
			t.Errorf("%s: %d calls and %d results", name, len(calls), results)
		}
		if !strings.HasPrefix(name, "codex") && edits != 2 { // Codex has only a shell
			t.Errorf("%s: %d edits", name, edits)
		}
		if !strings.HasPrefix(name, "gemini") && failed != 1 { // Gemini does not report exit codes
			t.Errorf("%s: %d commands failed with exit code 3", name, failed)
		}
		if last != "Done: the greeting is *fixed* and tested." {
			t.Errorf("%s: the last message is %q", name, last)
		}
	}
}
