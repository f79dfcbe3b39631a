// Command sandboxes calls the use cases of sandboxes for the end-to-end tests, as a server
// does: it reads calls from its standard input and writes their results, a line of JSON each.
// As `sandboxes supervise` it is the supervisor of a sandbox.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"aibox/app"
	"aibox/app/pool"
	"aibox/app/sandbox"
	"aibox/cli"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/process"
)

// Call is one call. Which fields count depends on Do.
type Call struct {
	Do      string // the name of the use case
	Request sandbox.Request
	Tenant  session.Tenant
	ID      session.ID
	Name    string
	Argv    []string
	Dir     string
	User    string
	By      time.Duration
	Change  session.SandboxChange
	Lists   session.NetworkLists
	Filter  sandbox.Filter
	Kind    string
}

// Result is the result of a call.
type Result struct {
	Value any
	Kind  string // of the error; empty for none
	Error string
	Hints []string
	Took  time.Duration
}

// Output is the result of a program in a sandbox.
type Output struct {
	Text string
	Exit process.Exit
}

func main() {
	if len(os.Args) > 1 {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// server serves calls.
type server struct {
	app      *app.App
	sessions *manager.Manager
	service  *sandbox.Service
	pool     *pool.Pool
	stop     func()
}

func serve(ctx context.Context) error {
	s := server{app: app.New(nil), stop: func() {}}
	var err error
	if s.sessions, err = s.app.Sessions(); err != nil {
		return err
	}
	if s.service, err = s.app.Sandboxes(s.sessions); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for in := json.NewDecoder(os.Stdin); in.More(); {
		var call Call
		if err := in.Decode(&call); err != nil {
			return err
		}
		begin := time.Now()
		value, err := s.call(ctx, call)
		result := Result{Value: value, Took: time.Since(begin)}
		if err != nil {
			result.Kind, result.Error, result.Hints = fault.KindOf(err).String(), err.Error(), fault.Hints(err)
			if errors.Is(err, session.ErrWrongState) {
				result.Kind = "conflict"
			}
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	s.stop()
	return nil
}

func (s *server) call(ctx context.Context, c Call) (any, error) {
	id := string(c.ID)
	switch c.Do {
	case "create":
		return s.service.Create(ctx, c.Request, nil)
	case "get":
		return s.service.Get(ctx, c.Tenant, id)
	case "list":
		return s.service.List(ctx, c.Tenant, c.Filter, 0, "")
	case "destroy":
		return nil, s.service.Destroy(ctx, c.Tenant, id)
	case "extend":
		return s.service.Extend(ctx, c.Tenant, id, c.By)
	case "update":
		return s.service.Update(ctx, c.Tenant, id, c.Change)
	case "network":
		return s.service.SetNetwork(ctx, c.Tenant, id, c.Lists)
	case "pause":
		return s.service.Pause(ctx, c.Tenant, id)
	case "resume":
		return s.service.Resume(ctx, c.Tenant, id)
	case "metrics":
		return s.service.Metrics(ctx, c.Tenant, id)
	case "volume":
		return s.service.CreateVolume(ctx, c.Tenant, c.Name)
	case "delete-volume":
		return nil, s.service.DeleteVolume(ctx, c.Tenant, c.Name)
	case "snapshot":
		return s.service.Snapshot(ctx, c.Tenant, id, c.Name, 0)
	case "snapshots":
		return s.service.ListSnapshots(ctx, c.Tenant)
	case "delete-snapshot":
		return nil, s.service.DeleteSnapshot(ctx, c.Tenant, c.Name)
	case "exec":
		return s.exec(ctx, c)
	case "launch":
		return s.launch(ctx, c)
	case "processes":
		return s.processes(ctx, c)
	case "pool":
		return nil, s.startPool(ctx, c.Kind)
	case "warm":
		return s.pool.Warm(), nil
	case "claim":
		launch, err := s.service.Plan(ctx, c.Request)
		if err != nil {
			return nil, err
		}
		return nil, s.sessions.ClaimSandbox(ctx, c.ID, session.Claim{Launch: launch})
	default:
		return nil, errors.New("unknown call " + c.Do)
	}
}

// exec runs a program to its end.
func (s *server) exec(ctx context.Context, c Call) (any, error) {
	id, err := s.service.Running(ctx, c.Tenant, string(c.ID))
	if err != nil {
		return nil, err
	}
	info, err := s.sessions.StartProcess(ctx, id, process.Request{Argv: c.Argv, Dir: c.Dir, User: c.User})
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	exit, err := s.sessions.ReadProcess(ctx, id, info.ID, 1, func(f process.Frame) error {
		if f.Kind == process.Stdout || f.Kind == process.Stderr {
			text.Write(f.Data)
		}
		return nil
	})
	return Output{text.String(), exit}, err
}

// launch starts a program, and does not wait for its end.
func (s *server) launch(ctx context.Context, c Call) (any, error) {
	id, err := s.service.Running(ctx, c.Tenant, string(c.ID))
	if err != nil {
		return nil, err
	}
	return s.sessions.StartProcess(ctx, id, process.Request{Argv: c.Argv, User: c.User, Stdin: true, TTY: c.Name == "tty"})
}

// processes lists the processes of a sandbox.
func (s *server) processes(ctx context.Context, c Call) (any, error) {
	id, err := s.service.Running(ctx, c.Tenant, string(c.ID))
	if err != nil {
		return nil, err
	}
	return s.sessions.Processes(ctx, id)
}

// startPool keeps sandboxes warm until the calls end.
func (s *server) startPool(ctx context.Context, kind string) error {
	ctx, cancel := context.WithCancel(ctx)
	p, err := s.app.WarmPool(ctx, s.service, []string{kind}, pool.Options{Log: func(text string) { fmt.Fprintln(os.Stderr, text) }})
	if err != nil {
		cancel()
		return err
	}
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	s.pool, s.stop = p, func() { cancel(); <-done }
	return nil
}
