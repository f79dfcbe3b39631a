package form

import (
	"bytes"
	"context"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"aibox/agents/spec"

	"github.com/creack/pty"
)

// plain has every type of option that can be asked without a terminal: all but a secret.
type plain struct {
	Effort string        `label:"Effort" help:"How hard" choices:"low high"`
	Fast   bool          `label:"Fast" help:"Hurry"`
	Turns  int           `label:"Turns" help:"How often" min:"10" max:"99" when:"fast"`
	Wait   time.Duration `label:"Wait" help:"How long" default:"1m"`
	Tools  []string      `label:"Tools" help:"What it may use" choices:"saw axe pen" group:"More"`
	Names  []string      `label:"Names" help:"Whom it knows" group:"More"`
	Model  string        `label:"Model" help:"Which one" type:"model" group:"More"`
	Last   string        `label:"Last" help:"The end" group:"More"`
}

// preview is a preview that shows the options as text.
func preview(draft any) string {
	fields, err := spec.Of(draft)
	if err != nil {
		return err.Error()
	}
	var words []string
	for _, field := range fields {
		if text := field.Text(draft); text != "" && spec.Visible(draft, field) {
			words = append(words, "--"+field.Key+"="+strings.ReplaceAll(text, "\n", `\n`))
		}
	}
	return "agent " + strings.Join(words, " ") + "\nKEY=" + "••••••••"
}

func plainRequest(in io.Reader, out io.Writer, options any) Request {
	return Request{
		In: in, Out: out, Title: "Options", Action: "Run", Options: options, Preview: preview,
		Suggest: func(spec.Field) []string { return []string{"small", "large"} },
	}
}

func TestTheSameQuestionsAreAskedLineByLine(t *testing.T) {
	// A choice, a wrong answer to a switch and a right one, a number out of bounds and
	// one within, an empty line that keeps the default, two of several choices.
	in := "3\nmaybe\ny\n5\n12\n\n1\n3\n0\nann, \"b,c\"\nlarge\nthe end\ny\n"
	options, out := &plain{Wait: time.Minute}, new(bytes.Buffer)
	done, err := Run(t.Context(), plainRequest(strings.NewReader(in), out, options))
	if err != nil || !done {
		t.Fatalf("done %t, %v\n%s", done, err, out)
	}
	want := &plain{
		Effort: "high", Fast: true, Turns: 12, Wait: time.Minute, Tools: []string{"saw", "pen"}, Names: []string{"ann", "b,c"},
		Model: "large", Last: "the end",
	}
	if !reflect.DeepEqual(options, want) {
		t.Errorf("got %+v, want %+v\n%s", options, want, out)
	}
	for _, want := range []string{
		"How hard", "== More", "must be a number from 10 to 99, not 5", "Empty keeps 1m", "Such as small, large", "--effort=high", "Run?", "Commas between",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("control sequences in %q", out)
	}
}

func TestTheEndOfTheInputCancelsAtEveryQuestion(t *testing.T) {
	lines := strings.SplitAfter("3\ny\n12\n2m\n1\n0\nann\nlarge\nend\n", "\n")
	for i := range lines {
		options := &plain{}
		done, err := Run(t.Context(), plainRequest(strings.NewReader(strings.Join(lines[:i], "")), io.Discard, options))
		if done || err != nil || !reflect.DeepEqual(options, &plain{}) {
			t.Errorf("after %d lines: done %t, %v, %+v", i, done, err, options)
		}
	}
	options := &plain{}
	in := strings.NewReader(strings.Join(lines, "") + "n\n")
	if done, err := Run(t.Context(), plainRequest(in, io.Discard, options)); done || err != nil || !reflect.DeepEqual(options, &plain{}) {
		t.Errorf("after no: done %t, %v, %+v", done, err, options)
	}
}

func TestAnInterruptedFormLetsGoOfItsInput(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = tty.Close(), master.Close() }()
	go func() { _, _ = io.Copy(io.Discard, master) }() // ends when the terminal is closed
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	options := &plain{}
	if done, err := Run(ctx, plainRequest(tty, tty, options)); done || err != nil || !reflect.DeepEqual(options, &plain{}) {
		t.Errorf("done %t, %v, %+v", done, err, options)
	}
}

func TestThePreviewIsEscaped(t *testing.T) {
	out := new(bytes.Buffer)
	r := plainRequest(strings.NewReader("\n\n"), out, &struct {
		Line string `label:"Line" help:"Some words"`
	}{})
	r.Preview = func(any) string { return strings.Repeat("line\n", 99) + "the end \x1b]52;c;aGk=\x07" }
	if done, err := Run(t.Context(), r); !done || err != nil {
		t.Errorf("done %t, %v", done, err)
	}
	if !strings.Contains(out.String(), `the end \x1b]52;c;aGk=\x07`) || strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("the preview is %q", out)
	}
}

func TestOptionsThatCannotBeReadAreAnError(t *testing.T) {
	for _, options := range []any{nil, plain{}, 3, &struct{ X float64 }{}} {
		if done, err := Run(t.Context(), Request{In: os.Stdin, Out: io.Discard, Options: options}); done || err == nil {
			t.Errorf("%T: done %t, %v", options, done, err)
		}
	}
}
