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

func (c controlled) Processes(ctx context.Context, _ session.ID) ([]process.Info, error) {
	return c.Client.Processes(ctx)
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

func TestCodeRunsInTheSandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sleep", "1000")
	r := code.NewRunner(controlled{control.Dial(filepath.Join(m.sessions(), id), control.AnswerTimeout)})
	name := session.ID(id)
	for language, text := range map[code.Language][3]string{
		code.Python:     {"x = 40", "print(x + 2)", "import time\nwhile True: time.sleep(1)"},
		code.JavaScript: {"var x = 40", "console.log(x + 2)", "for (;;) {}"},
		code.Bash:       {"x=40", "echo $((x + 2))", "sleep 1000"},
	} {
		alone, err := r.Run(t.Context(), name, code.Request{Language: language, Code: text[0] + "\n" + text[1], Validation: code.Advise})
		if err != nil || alone.Status != code.Completed || string(alone.Stdout.Bytes) != "42\n" || len(alone.Findings) > 0 {
			t.Errorf("%s alone: %+v, %v", language, alone, err)
		}
		kept, err := r.CreateContext(t.Context(), name, language, code.Place{User: "nobody", Dir: "/tmp"})
		if err != nil {
			t.Errorf("%s: %v", language, err)
			continue
		}
		for i, step := range []string{text[0], text[2], text[1]} {
			result, err := r.Run(t.Context(), name, code.Request{Context: kept, Code: step, Timeout: 5 * time.Second})
			want := code.Completed
			if i == 1 {
				want = code.TimedOut
			}
			if err != nil || result.Status != want || i == 2 && string(result.Stdout.Bytes) != "42\n" {
				t.Errorf("%s %q: %+v, %v", language, step, result, err)
			}
		}
		if err := r.DeleteContext(t.Context(), name, kept); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Run(t.Context(), name, code.Request{Language: code.Ruby, Code: "1"}); err == nil || !strings.Contains(err.Error(), "has no ruby") {
		t.Errorf("ruby: %v", err)
	}
	found, err := r.Check(t.Context(), name, code.JavaScript, "require('child_process')")
	if err != nil || len(found) != 1 || found[0].Rule != "process" {
		t.Errorf("%+v, %v", found, err)
	}
	_, err = r.Run(t.Context(), name, code.Request{Language: code.Python, Code: "import socket", Validation: code.Refuse})
	if refused := new(code.RefusedError); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
	m.aibox(0, "stop", id)
}
