package main

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

func TestProgramsRunBesideEachOtherBeforeTheAgent(t *testing.T) {
	p := newPeer(t)
	run := func(script string) lifeline.Exec {
		return lifeline.Exec{Argv: []string{"sh", "-c", script}, Timeout: 60_000, Output: 1000}
	}
	named := run("echo $KEY $FROM_IMAGE; pwd; cat; echo no >&2; exit 3")
	named.Env = []string{"KEY=value"}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	slow, endless, orphan := run("echo begun; sleep 1234567"), run("yes"), run("sleep 1234567 & echo done")
	slow.Timeout, endless.Timeout = 300, 300
	ends, err := p.Exec(t.Context(), []lifeline.Exec{named, slow, endless, orphan, run("cat " + fifo), run("echo met >" + fifo), {Argv: []string{"no-such-program"}}, {Argv: nil}})
	if err != nil {
		t.Fatal(err)
	}
	if e := ends[0]; e.Code != 3 || string(e.Stdout) != "value yes\n/\n" || string(e.Stderr) != "no\n" || e.Late || e.Error != "" {
		t.Errorf("%+v, %q, %q", e, e.Stdout, e.Stderr)
	}
	if e := ends[1]; e.Code != 137 || string(e.Stdout) != "begun\n" || !e.Late {
		t.Errorf("slow: %+v", e)
	}
	if e := ends[2]; len(e.Stdout) != 1000 || !e.Late {
		t.Errorf("endless: code %d, %d bytes, late %v", e.Code, len(e.Stdout), e.Late)
	}
	if e := ends[3]; e.Code != 0 || string(e.Stdout) != "done\n" || e.Late {
		t.Errorf("with a child: %+v", e)
	}
	if e := ends[4]; string(e.Stdout) != "met\n" {
		t.Errorf("two that wait for each other: %+v", e)
	}
	if e := ends[6]; e.Code != 127 || !strings.Contains(e.Error, "no-such-program") {
		t.Errorf("no program: %+v", e)
	}
	if e := ends[7]; e.Code != 125 || e.Error == "" {
		t.Errorf("no command: %+v", e)
	}
	p.start(shell("ps -e -o args= | grep '^sleep 1234567' || true"))
	if o := p.finish(nil); o.exit.Code != 0 || o.stdout.Len() > 0 {
		t.Errorf("left %q", o.stdout.String())
	}
}
