package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"aibox/test/flood"
	"aibox/test/terminal"
	"aibox/ui/widget/cursor"
)

// exhausting is a session that uses as much of a resource as it can.
type exhausting struct {
	name    string
	agent   string // empty for shell
	flags   []string
	program []string
}

// exhaustions are the floods that others are measured beside. Their limits are so high that they
// run until they are stopped; test/e2e checks that each is ended by its limit.
func exhaustions(model string) []exhausting {
	none := []string{"--network", "none"}
	return []exhausting{
		{"processor loops", "", none, flood.Shell(`for i in $(seq 20); do perl -e '1 while 1' & done; wait`)},
		// Fewer than the limit of tasks, which would end the session: 1,500 that compute, and one
		// that starts others as fast as it can.
		{"processes", "", none, flood.Perl(`for (1 .. 1500) { $p = fork; if (defined $p && !$p) { 1 while 1 } } while (1) { $p = fork; exit if defined $p && !$p; wait if $p }`)},
		{"memory", "", append(none, "--memory", "2048"), flood.Perl(`for (1 .. 3) { last unless fork } while (1) { next if wait > 0 || fork; $x = "x" x (450 << 20); exit }`)},
		{"large files", "", none, flood.Perl(`$x = "x" x (1 << 20); while (1) { for $i (1 .. 500) { open F, ">", "f"; print F $x for 1 .. 200; close F } }`)},
		{"small files", "", none, flood.Perl(`fork; fork; mkdir $$; while (1) { for (1 .. 1000) { open F, ">", "$$/$_"; print F "x"; close F } unlink glob "$$/*" }`)},
		{"conversation files", "filler", none, []string{"echo begun; while :; do head -c 200000000 /dev/zero > ~/.filler/x; rm ~/.filler/x; done"}},
		{"descriptors", "", none, flood.Python(flood.Descriptors)},
		{"output", "", append(none, "--max-output", "50000"), flood.Shell("yes flood")},
		{"output in single bytes", "", append(none, "--max-output", "50000"), flood.Perl(`syswrite STDOUT, "x\n" while 1`)},
		{"names", "", []string{"--network", "local", "--inference", "scripted"}, flood.Python(flood.Names)},
		{"connections", "", []string{"--network", "allowlist", "--allow", "example.com", "--inference", "scripted"}, flood.Python(flood.Connections)},
		{"an endless answer", "", []string{"--network", "local", "--inference", model}, flood.Shell(flood.Answer)},
	}
}

// fillerAgent is an agent with a conversation folder. Its prompt is a program.
const fillerAgent = `title = "Filler"
summary = "Fills its conversation folder"
state = ["~/.filler"]
[command]
headless = ["sh", "-c", 'eval "$1"', "sh", "{prompt}", ["{instructions_file}"]]
`

// besideFloods measures how responsive the host and other sessions are while a session floods,
// against the same beside a session that sleeps.
func besideFloods(ctx context.Context, b *bench) (rows []Row, err error) {
	server, model := flood.Model()
	defer server.Close()
	o, err := b.others(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.close(context.WithoutCancel(ctx))) }()
	for _, e := range exhaustions(model) {
		if !strings.Contains(e.name, b.flood) {
			continue
		}
		fmt.Fprintf(os.Stderr, "  %s …\n", e.name)
		measured, failure := o.beside(ctx, e)
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", e.name, failure))
		}
		rows = append(rows, measured...)
	}
	return rows, err
}

// others is what must stay responsive: a dashboard on a terminal, a list, and other runs.
type others struct {
	screens
	state string // the folder
	on    *terminal.Terminal
}

// others makes a state with ended sessions, and opens the dashboard on it.
func (b *bench) others(ctx context.Context) (o *others, err error) {
	state, err := b.crowd(ctx, 20)
	if err != nil {
		return nil, err
	}
	o = &others{screens: b.screens(state), state: state}
	config := filepath.Join(b.scratch, "flood-config")
	o.env = append(o.env, "XDG_CONFIG_HOME="+config)
	agents := filepath.Join(config, "aibox", "agents")
	if err := errors.Join(os.MkdirAll(agents, 0o700), os.WriteFile(filepath.Join(agents, "filler.toml"), []byte(fillerAgent), 0o600)); err != nil {
		return nil, err
	}
	if o.on, _, err = o.open(ctx); err != nil {
		return nil, err
	}
	_, err = o.seen(ctx, o.on, cursor.Mark+`.*`+listed)
	for range 2 { // the first runs make the agents' images
		err = cmp.Or(err, o.measure(ctx, "", new(responses)))
	}
	if err != nil {
		return nil, errors.Join(err, o.close(context.WithoutCancel(ctx)))
	}
	return o, nil
}

// close closes the dashboard, and removes the sessions. Those of the crowd are files.
func (o *others) close(ctx context.Context) error {
	return errors.Join(o.on.Close(), o.clear(ctx, ""))
}

// clear removes every session but those of the crowd, and keep.
func (o *others) clear(ctx context.Context, keep string) error {
	found, err := o.sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range found {
		if s.ID != keep && !crowdName.MatchString(s.ID) {
			err = errors.Join(err, o.remove(ctx, s.ID))
		}
	}
	return err
}

var crowdName = regexp.MustCompile(`^` + listed + `$`)

// responses are measured times in milliseconds.
type responses struct{ keys, list, shell, agent []float64 }

// npmAgent is an agent that runs on Node.
const npmAgent = "qwen"

// measure measures everything, the short things several times. It removes the sessions that it
// starts, and leaves keep.
func (o *others) measure(ctx context.Context, keep string, into *responses) error {
	keys, err := o.moves(ctx, 10)
	if err != nil {
		return err
	}
	into.keys = append(into.keys, keys...)
	for range 3 {
		if err := measure(ctx, &into.list, func(ctx context.Context) (time.Duration, error) { return o.timed(ctx, o.aibox, "ls") }); err != nil {
			return err
		}
	}
	run := func(args ...string) func(context.Context) (time.Duration, error) {
		return func(ctx context.Context) (time.Duration, error) {
			return o.timed(ctx, o.aibox, append([]string{"run"}, args...)...)
		}
	}
	return cmp.Or(
		measure(ctx, &into.shell, run("shell", "--network", "none", "--", "true")),
		measure(ctx, &into.agent, run(npmAgent, "--inference", "scripted", "--prompt", task)),
		o.clear(ctx, keep),
	)
}

// moves measures how long it takes until the selection of the dashboard follows a key. Frames alone
// would not do: what a running session prints makes some too.
func (o *others) moves(ctx context.Context, n int) (took []float64, err error) {
	for i := range n {
		if err := pause(ctx, rest+time.Duration(o.random.IntN(50))*time.Millisecond); err != nil {
			return nil, err
		}
		before := selected(o.on.Text())
		began := time.Now()
		if err := o.on.Press([]string{"down", "up"}[i%2]); err != nil {
			return nil, err
		}
		at, err := o.moved(ctx, before)
		if err != nil {
			return nil, err
		}
		took = append(took, millis(at.Sub(began)))
	}
	return took, nil
}

// moved waits until another row than before is selected.
func (o *others) moved(ctx context.Context, before string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	for {
		n, at := o.on.Frames()
		if now := selected(o.on.Text()); now != before && now != "" {
			return at, nil
		}
		if _, err := o.on.Frame(ctx, n); err != nil {
			return time.Time{}, fmt.Errorf("the selection does not move: %w\n%s", err, o.on.Text())
		}
	}
}

// selected is the name of the session in the selected row.
func selected(screen string) string {
	_, rest, _ := strings.Cut(screen, cursor.Mark)
	return selectedName.FindString(rest)
}

// selectedName is the name of a session after the mark of its row.
var selectedName = regexp.MustCompile(`[0-9a-z]+-(shell|filler|` + npmAgent + `)`)

// pause waits.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beside measures in turns beside a flood and beside a session that sleeps.
func (o *others) beside(ctx context.Context, e exhausting) ([]Row, error) {
	var flooded, quiet responses
	for i := range max(1, o.pairs/4) { // each takes a minute
		steps := []func() error{
			func() error { return o.whileRuns(ctx, e, &flooded) },
			func() error { return o.whileRuns(ctx, asleep, &quiet) },
		}
		if i%2 == 1 {
			slices.Reverse(steps)
		}
		for _, step := range steps {
			if err := cmp.Or(ctx.Err(), step()); err != nil {
				return nil, err
			}
		}
	}
	return floodRows(e.name, flooded, quiet), nil
}

// asleep is a session that uses nothing.
var asleep = exhausting{flags: []string{"--network", "none"}, program: flood.Shell("exec sleep 1000")}

// whileRuns measures beside a session, and stops it.
func (o *others) whileRuns(ctx context.Context, e exhausting, into *responses) (err error) {
	id, err := o.begin(ctx, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.remove(context.WithoutCancel(ctx), id)) }()
	if err := o.measure(ctx, id, into); err != nil {
		return err
	}
	found, err := o.sessions(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(s session) bool { return s.ID == id && s.State.Phase == "running" }) {
		return errors.New("the session ended before it was stopped")
	}
	return nil
}

// lead is how long a flood runs before others are measured. At first it is a session like any other
// that is busy.
const lead = 4 * time.Second

// begin starts a flood in the background, and returns lead after it has begun.
func (o *others) begin(ctx context.Context, e exhausting) (id string, err error) {
	args := append([]string{"run", "-d", cmp.Or(e.agent, "shell")}, e.flags...)
	if e.agent == "" {
		args = append(append(args, "--"), e.program...)
	} else {
		args = append(append(args, "--prompt"), e.program...)
	}
	if id, err = o.quiet(ctx, o.aibox, args...); err != nil {
		return "", err
	}
	deadline, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	for {
		printed, err := os.Open(filepath.Join(o.state, "aibox", "sessions", id, "output.raw"))
		if err == nil {
			head, _ := io.ReadAll(io.LimitReader(printed, 1<<10))
			_ = printed.Close()
			if bytes.Contains(head, []byte("begun")) {
				return id, pause(ctx, lead)
			}
		}
		if err := pause(deadline, 50*time.Millisecond); err != nil {
			return "", errors.Join(fmt.Errorf("the flood does not begin: %w", err), o.remove(context.WithoutCancel(ctx), id))
		}
	}
}

// slower is how much slower others may be beside a flood.
const slower = 1.5

func floodRows(name string, flooded, quiet responses) []Row {
	beside := func(what string, ours, theirs []float64) Row {
		return versus(what+", beside a flood: "+name, "beside a session that sleeps", "ms", ours, theirs, target{most: slower})
	}
	keys := beside("key to frame", flooded.keys, quiet.keys)
	late, before := quantile(flooded.keys, 0.95), quantile(quiet.keys, 0.95)
	keys.Note = fmt.Sprintf("p95 %s ms and %s ms, %s x", number(late), number(before), number(late/before))
	return []Row{
		keys,
		beside("list", flooded.list, quiet.list),
		beside("shell run", flooded.shell, quiet.shell),
		beside(npmAgent+" run", flooded.agent, quiet.agent),
	}
}
