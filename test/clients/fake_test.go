package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"aibox/api/server"
	"aibox/api/server/servertest"
	"aibox/app/sandbox"
	"aibox/internal/fault"
	"aibox/internal/files"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/process"

	aiboxv1 "aibox/api/aibox/v1"
)

// machines are sandboxes that are folders of this machine, in which processes of this machine
// run. So all of a client can be tested without Docker, against the real server.
type machines struct {
	server.Sandboxes // methods that no test calls
	dir              string

	mu  sync.Mutex
	all []*machine // the oldest first
}

type machine struct {
	view      sandbox.Sandbox
	dir       string
	env       []string
	processes []*running
}

func (m *machines) find(id string) (*machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, found := range m.all {
		if string(found.view.ID) == id {
			return found, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no sandbox %q", id).Hint("`aibox sandbox ls` lists your sandboxes")
}

func (m *machines) Create(_ context.Context, r sandbox.Request, _ func(session.Step)) (sandbox.Sandbox, error) {
	if r.Template != "" && r.Template != "code" {
		return sandbox.Sandbox{}, fault.New(fault.NotFound, "there is no template %q", r.Template).Hint("`aibox template ls` lists the templates")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := session.ID(fmt.Sprintf("%05d-code", len(m.all)+1))
	made := &machine{dir: filepath.Join(m.dir, string(id))}
	made.view = sandbox.Sandbox{
		ID: id, Tenant: r.Tenant, Labels: r.Labels, Template: "code", State: sandbox.Running, Created: time.Now(), Started: time.Now(),
		Expires: time.Now().Add(time.Hour), User: "user", Network: sandbox.Network{Policy: "none"},
	}
	if r.Settings.Has("network") {
		made.view.Network.Policy = r.Settings.Text("network")
	}
	if r.Settings.Has("allow") {
		for _, host := range r.Settings.Words("allow") {
			made.view.Network.Allow = append(made.view.Network.Allow, session.ListEntry{Pattern: host})
		}
	}
	for name, value := range r.Env {
		made.env = append(made.env, name+"="+value)
	}
	m.all = append(m.all, made)
	return made.view, os.Mkdir(made.dir, 0o700)
}

// change changes a machine, and returns it.
func (m *machines) change(id string, do func(*machine)) (sandbox.Sandbox, error) {
	found, err := m.find(id)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	do(found)
	return found.view, nil
}

func (m *machines) Get(_ context.Context, _ session.Tenant, id string) (sandbox.Sandbox, error) {
	return m.change(id, func(*machine) {})
}

func (m *machines) List(_ context.Context, _ session.Tenant, filter sandbox.Filter, _ int, token string) (sandbox.Page, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var page sandbox.Page
	for _, found := range slices.Backward(m.all) {
		matches := found.view.State != sandbox.Ended
		for key, value := range filter.Metadata {
			matches = matches && found.view.Metadata[key] == value
		}
		switch {
		case !matches || token != "" && string(found.view.ID) >= token:
		case len(page.Sandboxes) == 2: // small pages, so that clients have to ask for more
			page.Next = string(page.Sandboxes[1].ID)
			return page, nil
		default:
			page.Sandboxes = append(page.Sandboxes, found.view)
		}
	}
	return page, nil
}

func (m *machines) Extend(_ context.Context, _ session.Tenant, id string, by time.Duration) (sandbox.Sandbox, error) {
	return m.change(id, func(found *machine) { found.view.Expires = found.view.Expires.Add(by) })
}

func (m *machines) Update(_ context.Context, _ session.Tenant, id string, c session.SandboxChange) (sandbox.Sandbox, error) {
	return m.change(id, func(found *machine) {
		if c.Name != nil {
			found.view.Name = *c.Name
		}
		if c.Metadata != nil {
			found.view.Metadata = *c.Metadata
		}
		if c.Timeout != nil {
			found.view.Expires = time.Now().Add(*c.Timeout)
		}
		if c.IdleTimeout != nil {
			found.view.IdleTimeout = *c.IdleTimeout
		}
	})
}

func (m *machines) Destroy(_ context.Context, _ session.Tenant, id string) error {
	_, err := m.change(id, func(found *machine) {
		found.view.State = sandbox.Ended
		for _, process := range found.processes {
			_ = syscall.Kill(-process.command.Process.Pid, syscall.SIGKILL)
		}
	})
	return err
}

func (m *machines) Running(_ context.Context, _ session.Tenant, id string) (session.ID, error) {
	view, err := m.change(id, func(*machine) {})
	if err == nil && view.State != sandbox.Running {
		err = fault.New(fault.Conflict, "the sandbox %s has ended", id)
	}
	return session.ID(id), err
}

func (m *machines) Network(_ context.Context, _ session.Tenant, id string) (sandbox.Network, error) {
	view, err := m.change(id, func(*machine) {})
	return view.Network, err
}

func (m *machines) SetNetwork(_ context.Context, _ session.Tenant, id string, lists session.NetworkLists) (sandbox.Network, error) {
	view, err := m.change(id, func(found *machine) {
		if lists.Allow != nil {
			found.view.Network.Allow = nil
			for _, host := range *lists.Allow {
				found.view.Network.Allow = append(found.view.Network.Allow, session.ListEntry{Pattern: host})
			}
		}
	})
	return view.Network, err
}

// The scripts that copy files as aibox-init does.
const (
	report   = ` -type p -printf '"%p" is left out\n' `
	copyOut  = `cd "$(dirname "$1")"; name=$(basename "$1"); find "$name"` + report + `>&2; find "$name" ! -type p -print0 | tar -c --null --no-recursion -T -`
	copyInto = `tar -xC "$1"; find "$1"` + report + `-delete >&2`
)

// running is a process.
type running struct {
	info    process.Info
	command *exec.Cmd
	input   io.WriteCloser
	record  *process.Record
	expired atomic.Bool // its timeout has expired
}

func (m *machines) process(id session.ID, number int) (*running, error) {
	found, err := m.find(string(id))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if number < 1 || number > len(found.processes) {
		return nil, fault.New(fault.NotFound, "there is no process %d", number)
	}
	return found.processes[number-1], nil
}

func (m *machines) StartProcess(_ context.Context, id session.ID, r process.Request) (process.Info, error) {
	found, err := m.find(string(id))
	if err != nil {
		return process.Info{}, err
	}
	if r.Copy != nil {
		r.Argv, r.Stdin = []string{"sh", "-ec", copyOut, "sh", r.Copy.Path}, r.Copy.Into
		if r.Copy.Into {
			r.Argv[2] = copyInto
		}
	}
	// The processes continue after the call.
	command := exec.Command(r.Argv[0], r.Argv[1:]...)
	command.Dir = cmp.Or(r.Dir, found.dir)
	command.Env = slices.Concat(os.Environ(), found.env, r.Env)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &running{command: command, record: process.NewRecord(m.dir, cmp.Or(r.Keep, 1<<20), r.Overflow)}
	frames := &recorder{record: p.record}
	command.Stdout, command.Stderr = output{frames, process.Stdout}, output{frames, process.Stderr}
	if r.Stdin {
		if p.input, err = command.StdinPipe(); err != nil {
			return process.Info{}, err
		}
	}
	if err := command.Start(); err != nil {
		return process.Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found.processes = append(found.processes, p)
	p.info = process.Info{ID: len(found.processes), Argv: r.Argv, User: "user", Dir: command.Dir, PID: command.Process.Pid, Started: time.Now()}
	if r.Timeout > 0 {
		time.AfterFunc(r.Timeout, func() {
			p.expired.Store(true)
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		})
	}
	go m.await(p)
	return p.info, nil
}

func (m *machines) RunProcess(ctx context.Context, id session.ID, r process.Request, started func(process.Info) error, visit func(process.Frame) error) (process.Exit, error) {
	return servertest.RunProcess(ctx, m, id, r, started, visit)
}

// await records the end of a process.
func (m *machines) await(p *running) {
	_ = p.command.Wait()
	exit := process.Exit{Code: p.command.ProcessState.ExitCode()}
	if status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit = process.Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal()), TimedOut: p.expired.Load()}
	}
	m.mu.Lock()
	p.info.Exit, p.info.Ended = &exit, time.Now()
	m.mu.Unlock()
	_ = p.record.End(exit)
}

// recorder records two outputs from two goroutines.
type recorder struct {
	mu     sync.Mutex
	record *process.Record
}

type output struct {
	*recorder
	kind process.Kind
}

func (o output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(p), o.record.Append(context.Background(), o.kind, p)
}

func (m *machines) Processes(_ context.Context, id session.ID) ([]process.Info, error) {
	found, err := m.find(string(id))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []process.Info
	for _, p := range found.processes {
		info := p.info
		info.Frames, info.Output = p.record.Sizes()
		all = append(all, info)
	}
	return all, nil
}

func (m *machines) Process(ctx context.Context, id session.ID, number int) (process.Info, error) {
	all, err := m.Processes(ctx, id)
	for _, info := range all {
		if info.ID == number {
			return info, nil
		}
	}
	return process.Info{}, cmp.Or(err, error(fault.New(fault.NotFound, "there is no process %d", number)))
}

func (m *machines) ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error) {
	p, err := m.process(id, number)
	if err != nil {
		return process.Exit{}, err
	}
	reader, err := p.record.Reader(from)
	if err != nil {
		return process.Exit{}, err
	}
	defer reader.Close()
	for {
		frame, err := reader.Next(ctx)
		if err != nil {
			return process.Exit{}, err
		}
		if err := visit(frame); err != nil {
			return process.Exit{}, err
		}
		reader.Take(frame.Seq)
		if frame.Kind == process.Ended {
			return frame.Exit()
		}
	}
}

func (m *machines) ProcessInput(_ context.Context, id session.ID, number int, in io.Reader, end bool) error {
	p, err := m.process(id, number)
	if err != nil {
		return err
	}
	if p.input == nil {
		return fault.New(fault.Conflict, "process %d has no input", number)
	}
	_, err = io.Copy(p.input, in)
	if end {
		err = errors.Join(err, p.input.Close())
	}
	return err
}

func (m *machines) SignalProcess(_ context.Context, id session.ID, number, signal int) error {
	p, err := m.process(id, number)
	if err != nil {
		return err
	}
	return syscall.Kill(-p.command.Process.Pid, syscall.Signal(signal))
}

func (m *machines) ResizeProcess(context.Context, session.ID, int, screen.Size) error {
	return fault.New(fault.Conflict, "the process has no terminal")
}

// RunCode runs only Python.
func (m *machines) RunCode(ctx context.Context, id session.ID, r *aiboxv1.RunCodeRequest) (*aiboxv1.RunCodeResponse, error) {
	if r.GetLanguage() != "python" {
		return nil, fault.New(fault.Usage, "%q is not a language", r.GetLanguage()).Hint("the languages are python, javascript, ruby and bash")
	}
	found, err := m.find(string(id))
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "python3", "-c", r.GetCode())
	command.Dir = found.dir
	stdout, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		code := int32(failed.ExitCode())
		return &aiboxv1.RunCodeResponse{Status: aiboxv1.CodeStatus_CODE_STATUS_FAILED, Stdout: stdout, Stderr: failed.Stderr, Error: string(failed.Stderr), ExitCode: &code}, nil
	}
	return &aiboxv1.RunCodeResponse{Status: aiboxv1.CodeStatus_CODE_STATUS_COMPLETED, Stdout: stdout, ExitCode: new(int32)}, err
}

func (m *machines) CreateContext(context.Context, session.ID, *aiboxv1.CreateContextRequest) (*aiboxv1.CodeContext, error) {
	return nil, fault.New(fault.Usage, "contexts are for real sandboxes")
}

func (m *machines) DeleteContext(context.Context, session.ID, string) error { return nil }

// folder is the files of a machine.
type folder struct{ dir string }

func (f folder) at(path files.Path) string {
	if filepath.IsAbs(string(path)) {
		return string(path)
	}
	return filepath.Join(f.dir, string(path))
}

// sandboxError converts the error of a file to that of a sandbox.
func sandboxError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "the file does not exist")
	}
	return err
}

func (f folder) Stat(_ context.Context, path files.Path, _ bool) (files.Entry, error) {
	info, err := os.Lstat(f.at(path))
	if err != nil {
		return files.Entry{}, sandboxError(err)
	}
	kind := files.Regular
	if info.IsDir() {
		kind = files.Folder
	}
	return files.Entry{Path: files.Path(f.at(path)), Kind: kind, Size: info.Size(), Mode: uint32(info.Mode().Perm()), Modified: info.ModTime()}, nil
}

func (f folder) List(ctx context.Context, path files.Path, o files.ListOptions) (files.Page, error) {
	entries, err := os.ReadDir(f.at(path))
	var page files.Page
	for _, entry := range entries {
		described, err := f.Stat(ctx, files.Path(filepath.Join(f.at(path), entry.Name())), false)
		if err != nil {
			return page, err
		}
		switch {
		case described.Path <= o.After:
		case len(page.Entries) == 3: // small pages, so that clients have to ask for more
			page.Next = page.Entries[2].Path
			return page, nil
		default:
			page.Entries = append(page.Entries, described)
		}
	}
	return page, sandboxError(err)
}

func (f folder) MakeFolder(ctx context.Context, path files.Path, _ files.MakeOptions) (files.Entry, error) {
	if err := os.MkdirAll(f.at(path), 0o755); err != nil {
		return files.Entry{}, err
	}
	return f.Stat(ctx, path, false)
}

func (f folder) Move(ctx context.Context, from, to files.Path, replace bool) (files.Entry, error) {
	if _, err := os.Lstat(f.at(to)); err == nil && !replace {
		return files.Entry{}, fault.New(fault.Conflict, "the file exists")
	}
	if err := os.Rename(f.at(from), f.at(to)); err != nil {
		return files.Entry{}, sandboxError(err)
	}
	return f.Stat(ctx, to, false)
}

func (f folder) Remove(_ context.Context, path files.Path, deep bool) error {
	if deep {
		return os.RemoveAll(f.at(path))
	}
	return sandboxError(os.Remove(f.at(path)))
}

func (f folder) Read(ctx context.Context, path files.Path, part files.Range) (files.Entry, io.ReadCloser, error) {
	file, err := os.Open(f.at(path))
	if err != nil {
		return files.Entry{}, nil, sandboxError(err)
	}
	length := part.Length
	if length == 0 {
		length = 1 << 62
	}
	entry, err := f.Stat(ctx, path, true)
	return entry, struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, part.Offset, length), file}, err
}

func (f folder) Write(ctx context.Context, path files.Path, in io.Reader, o files.WriteOptions) (files.Entry, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return files.Entry{}, err
	}
	if err := os.MkdirAll(filepath.Dir(f.at(path)), 0o755); err != nil {
		return files.Entry{}, err
	}
	if err := os.WriteFile(f.at(path), data, cmp.Or(fs.FileMode(o.Mode), 0o644)); err != nil {
		return files.Entry{}, err
	}
	return f.Stat(ctx, path, true)
}

func (f folder) Watch(ctx context.Context, path files.Path, _ bool, watching func(), visit func(files.Event) error) error {
	watching()
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if entries, _ := os.ReadDir(f.at(path)); len(entries) > 0 {
			return visit(files.Event{Change: files.Created, Path: files.Path(filepath.Join(f.at(path), entries[0].Name()))})
		}
	}
	return ctx.Err()
}
