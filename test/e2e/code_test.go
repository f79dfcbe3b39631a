package e2e

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/app/sandbox/code"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/process"
)

// controlled are the processes of one session, over its control socket.
type controlled struct{ control.Client }

func (c controlled) StartProcess(ctx context.Context, _ session.ID, r process.Request) (process.Info, error) {
	return c.Client.StartProcess(ctx, r)
}

func (c controlled) ProcessInput(ctx context.Context, _ session.ID, number int, in io.Reader, end bool) error {
	return c.Client.ProcessInput(ctx, number, in, end)
}

func (c controlled) SignalProcess(ctx context.Context, _ session.ID, number, signal int) error {
	return c.Client.SignalProcess(ctx, number, signal)
}

func (c controlled) Process(ctx context.Context, _ session.ID, number int) (process.Info, error) {
	return c.Client.Process(ctx, number)
}

func (c controlled) ReadProcess(ctx context.Context, _ session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	reader, err := c.ConnectProcess(ctx, number, from)
	if err != nil {
		return process.Exit{}, err
	}
	defer reader.Close()
	for {
		frame, err := reader.Next()
		if err == nil {
			err = visit(frame)
		}
		if err != nil {
			return process.Exit{}, err
		}
		if frame.Kind == process.Ended {
			return frame.Exit()
		}
	}
}

// The steps of a language: the first two print 42, also in a context. The third does not end
// and prints endlessly, and the fourth fails in line 2.
var steps = map[code.Language][4]string{
	code.Python:     {"x = 40", "print(x + 2)", "while True: print('x' * 1000)", "x = 1\nraise ValueError('wrong')"},
	code.JavaScript: {"var x = 40", "console.log(x + 2)", "for (;;) require('fs').writeSync(1, 'x'.repeat(1000) + '\\n')", "x = 1\nthrow new Error('wrong')"},
	code.Ruby:       {"x = 40", "puts x + 2", "loop { puts 'x' * 1000 }", "x = 1\nraise 'wrong'"},
	code.Bash:       {"x=40", "echo $((x + 2))", "yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "x=1\necho wrong >&2; exit 2"},
}

func TestCodeRunsInTheSandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := strings.TrimSpace(m.aibox(0, "sandbox", "create").stdout)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	r := code.NewRunner(controlled{control.Dial(filepath.Join(m.sessions(), id), control.AnswerTimeout)})
	name := session.ID(id)
	run := func(what string, request code.Request, want code.Status) code.Result {
		t.Helper()
		result, err := r.Run(t.Context(), name, request)
		if err != nil || result.Status != want {
			t.Errorf("%s: %+v, %v", what, result, err)
		}
		return result
	}
	for language, step := range steps {
		what := string(language)
		alone := run(what, code.Request{Language: language, Code: step[0] + "\n" + step[1], Validation: code.Advise}, code.Completed)
		if string(alone.Stdout.Bytes) != "42\n" || len(alone.Findings) > 0 {
			t.Errorf("%s alone: %+v", language, alone)
		}
		if failed := run(what, code.Request{Language: language, Code: step[3]}, code.Failed); !strings.Contains(string(failed.Stderr.Bytes), "wrong") ||
			language != code.Bash && (failed.Error != string(failed.Stderr.Bytes) || !strings.Contains(failed.Error, "2")) || *failed.Exit == 0 {
			t.Errorf("%s failing: %+v", language, failed)
		}
		kept, err := r.CreateContext(t.Context(), name, language, code.Place{Dir: "/tmp"})
		if err != nil {
			t.Errorf("%s: %v", language, err)
			continue
		}
		run(what, code.Request{Context: kept, Code: step[0]}, code.Completed)
		flood := run(what, code.Request{Context: kept, Code: step[2], Timeout: 3 * time.Second, MaxOutput: 1000}, code.TimedOut)
		if len(flood.Stdout.Bytes) != 1000 || flood.Stdout.Dropped == 0 || flood.Ended {
			t.Errorf("%s endlessly: %d bytes, %d dropped, ended %v", language, len(flood.Stdout.Bytes), flood.Stdout.Dropped, flood.Ended)
		}
		if again := run(what, code.Request{Context: kept, Code: step[1]}, code.Completed); string(again.Stdout.Bytes) != "42\n" {
			t.Errorf("%s afterwards: %+v", language, again)
		}
		if err := r.DeleteContext(t.Context(), name, kept); err != nil {
			t.Error(err)
		}
	}
	if list := run("list", code.Request{Language: code.Python, Code: "[x * 2 for x in (1, 'b')]"}, code.Completed); list.Value != "[2, 'bb']" {
		t.Errorf("the value of a list is %q", list.Value)
	}
	if object := run("object", code.Request{Language: code.JavaScript, Code: "({ a: [1, 'b'] })"}, code.Completed); object.Value != "{ a: [ 1, 'b' ] }" {
		t.Errorf("the value of an object is %q", object.Value)
	}
	late := run("late", code.Request{Language: code.Bash, Code: "sleep 1000", Timeout: time.Second}, code.TimedOut)
	if late.Exit == nil || *late.Exit != 137 {
		t.Errorf("%+v", late)
	}
	run("links", code.Request{Language: code.Bash, Code: "mkdir /tmp/bin; ln -s /bin/sh /tmp/bin/sh"}, code.Completed)
	if _, err := r.Run(t.Context(), name, code.Request{Language: code.Ruby, Code: "1", Place: code.Place{Env: []string{"PATH=/tmp/bin"}}}); err == nil || !strings.Contains(err.Error(), "has no ruby") {
		t.Errorf("without ruby: %v", err)
	}
	found, err := r.Check(t.Context(), name, code.JavaScript, "require('child_process')")
	if err != nil || len(found) != 1 || found[0].Rule != "process" {
		t.Errorf("%+v, %v", found, err)
	}
	_, err = r.Run(t.Context(), name, code.Request{Language: code.Python, Code: "import socket", Validation: code.Refuse})
	if refused := new(code.RefusedError); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
}
