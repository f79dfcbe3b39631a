// Package supervisor runs one session in a separate process, from its start to its result.
// It owns the session's network, model gateway, sandbox, limits, record and log, and undoes
// everything if the start fails. Clients reach it through the control socket.
package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/session/queue"
	"aibox/session/terminal"
)

// The grace periods of a sandbox after a stop.
const (
	defaultGrace = 3 * time.Second
	maxGrace     = 10 * time.Minute
)

// Deps are the dependencies of a supervisor.
type Deps struct {
	manager.Deps
	// Init installs the static program of PID 1 and returns its host path.
	Init func() (string, error)
	// Inference finds the model server for value (--inference). env looks up the variables
	// with keys.
	Inference func(ctx context.Context, value string, env func(string) (string, bool)) (Inference, error)
	// Names serves the sandbox's name server on the sockets until ctx ends, and
	// reports each name it did not answer to refused.
	Names func(ctx context.Context, udp net.PacketConn, tcp net.Listener, refused func(name, kind string)) error
	// Proxy creates the egress proxy of a session. It does no I/O.
	Proxy func(ProxyAccess) (Proxy, error)
	// OwnSandboxes returns the server of the sandboxes that a session's agent creates. It does
	// no I/O.
	OwnSandboxes func(session.Host) (OwnSandboxes, error)
	// Limits returns the mechanism that enforces the limits of sandboxes on this machine.
	Limits func() limit.Enforcer
}

// supervisor runs one session from its start to its result.
type supervisor struct {
	*run
	*modelWatch
	*preparation
	*sandbox
	*limits
	*verifier

	own        *ownSandboxes
	processes  *processes
	pauser     pauser
	files      *fileAccess
	attention  attention
	usage      usageMeter
	held       *flock.Lock // the session's lock, until the process ends
	queue      *queue.Wait // the session's wait in the queue; nil if it may start
	scrollback *output.ScrollbackWriter
	updates    broadcast // the published counters
}

func newSupervisor(r *run) *supervisor {
	r.notifier.session = r
	models := &modelWatch{run: r}
	prepared := &preparation{modelWatch: models, policy: &policy{session: models}}
	sb := &sandbox{stopProxy: func() {}, warm: newWarmSandbox(), storing: newStoring(), preparation: prepared}
	sb.ports = newOpenPorts(models, sb.storing)
	bounds := &limits{sandbox: sb}
	models.askMore = bounds.askForBudget
	own := newOwnSandboxes(bounds)
	s := &supervisor{
		own: own, run: r, modelWatch: models, preparation: prepared, sandbox: sb, processes: newProcesses(sb),
		limits: bounds, verifier: &verifier{run: r}, attention: attention{session: r}, pauser: newPauser(),
	}
	s.files = newFileAccess(s)
	s.adoptProcesses = s.processes.adopt
	return s
}

// Run runs a session: it reads a Launch from in, reports the start on out (which it closes
// when the agent runs or the start has failed), supervises the agent, computes the change
// set and stores the result. It returns when the session has ended and all its resources
// are released. SIGTERM ends the session as `aibox stop` does.
func Run(ctx context.Context, deps Deps, in io.Reader, out io.WriteCloser) error {
	s := newSupervisor(&run{
		deps:   deps,
		store:  session.NewStore(deps.Dirs),
		report: reporter{out},
		ended:  make(chan struct{}),

		activity: activity{begin: time.Now()},
	})
	defer out.Close()
	s.docker = async(func() (daemon, error) { return openDaemon(ctx, deps.Deps) })
	s.init = async(deps.Init)
	switch err := json.NewDecoder(in).Decode(&s.launch); {
	case errors.Is(err, io.EOF):
		return nil // closed without a request
	case err != nil:
		return fmt.Errorf("reading the request: %w", err)
	}
	err := s.supervise(ctx)
	if err != nil {
		s.report.send(session.LaunchMessage{Failure: session.FailureOf(err)})
	}
	s.deliverRest()
	return err
}

// supervise does the work of Run. Its errors are for the launcher and mean that the agent
// never started.
func (s *supervisor) supervise(ctx context.Context) (err error) {
	stopped := false // the start was abandoned because the session is to end
	defer func() {
		if err != nil && stopped {
			if !errors.Is(err, context.Canceled) {
				fmt.Fprintln(os.Stderr, "the start failed while it was stopped:", err)
			}
			err = s.endCause()
		}
		watched := s.notifier.isWatched() // read now, because the undo closes the clients' connections
		if undoErr := s.undo.Run(ctx, 0); undoErr != nil {
			err = errors.Join(err, fmt.Errorf("undoing the start: %w", undoErr))
		}
		if err != nil && s.keepsRecord() {
			s.recordFailedStart(err, watched)
		}
	}()
	if err := s.open(); err != nil {
		return err
	}
	defer s.removeAbandoned()
	ctx, left := s.watchWaiter(ctx)
	defer left()
	// The session's services run as long as the supervisor, even after ctx has ended: a signal
	// ends the sandbox first and the services after it.
	services, stopServices := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServices()
	starting, abandon := context.WithCancel(ctx)
	defer abandon()
	release := s.watchClient(abandon)
	defer release()
	settled := s.watchEnd(func() { stopped = true; abandon() })
	defer settled()
	working, stopWork := context.WithCancel(starting)
	defer stopWork()
	control, err := s.awaitTurn(working)
	if err != nil {
		return err
	}
	res, err := s.prepare(working)
	if err != nil {
		return err
	}
	if control == nil {
		if control, err = s.startControl(); err != nil {
			return err
		}
	}
	container, err := s.startSandbox(starting, services, res)
	if err != nil {
		// If the workspace could not be created, it was removed, and there is no sandbox.
		stopWork()
		var cause *fault.Fault
		if _, wsErr := res.awaitWorkspace(); errors.As(wsErr, &cause) && !errors.Is(wsErr, context.Canceled) {
			return wsErr
		}
		return err
	}
	err = s.startAgent(starting, res, container)
	release()
	settled()
	if err == nil {
		err = s.checkClient()
	}
	if err == nil {
		err = s.markRunning()
	}
	s.warm.result <- err // answers a claim, if there is one
	if err != nil {
		return err
	}
	s.undo.Release()
	s.report.send(session.LaunchMessage{Started: s.id})
	_ = s.report.out.Close()

	over := make(chan struct{})
	orphans := async(func() (int, error) {
		s.settle(over)
		return s.removeOrphans(services, res.docker.Backend)
	})
	s.watchModel(res.agent.Info())
	go s.startServices(services)
	exit, cause := s.watch(ctx, res, container)
	close(over)
	s.own.end(services)
	s.processes.close()
	watched := s.notifier.isWatched()
	s.scrollback.Close()
	s.keepScreen()
	s.term.Close()
	result := s.finish(services, ctx.Done(), res, container, exit, cause)
	s.notifier.notifyEnd(&result, watched)
	s.closeLog()
	s.term.Wait()
	s.processes.awaitReaders()
	shutdown(control)
	if err := removeSocket(s.dir); err != nil {
		fmt.Fprintln(os.Stderr, "removing the control socket:", err)
	}
	if _, err := orphans(); err != nil {
		fmt.Fprintln(os.Stderr, "removing sandboxes of no session:", err)
	}
	return nil
}

// orphansTimeout is how long the daemon may take to list and remove the sandboxes of no session. The
// end of this session waits for that, and the next start tries it again.
const orphansTimeout = time.Minute

// removeOrphans removes the sandboxes of no session, and returns their number.
func (s *supervisor) removeOrphans(ctx context.Context, backend runtime.Backend) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, orphansTimeout)
	defer cancel()
	return manager.RemoveOrphans(ctx, s.store, backend)
}

// removeSocket removes the file of a control socket that is closed.
func removeSocket(dir string) error {
	err := os.Remove(filepath.Join(dir, control.SocketFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// open creates the session's folder with its lock, log and record.
func (s *supervisor) open() error {
	err := s.checkHostDisks(session.ReservedSize)
	if err != nil {
		return err
	}
	switch verifies := s.launch.Spec.Verifies; {
	case verifies == nil && s.launch.Spec.ID != "":
		s.id, err = s.launch.Spec.ID, s.store.CreateChosen(s.launch.Spec.ID)
	case verifies == nil:
		s.id, err = s.store.Create(s.launch.Spec.Agent, time.Now())
	case verifies.Opens:
		s.id, err = s.store.CreateOpened(time.Now())
	default:
		s.id, err = s.store.CreateVerification(time.Now())
	}
	s.requests.record = s.answered
	s.askAboutAccess()
	if s.launch.AsksNothing {
		s.requests.close()
	}
	if err != nil {
		return err
	}
	s.dir = s.store.Dir(s.id)
	s.onUndo(func(ctx context.Context) error {
		if s.keepsRecord() || s.isUndoIncomplete() {
			return nil
		}
		return s.store.Remove(ctx, s.id)
	})
	if s.held, err = s.store.Lock(s.id); err != nil {
		return fmt.Errorf("taking the session's lock: %w", err)
	}
	if err := divertStderr(s.store.SupervisorLog(s.id)); err != nil {
		return err
	}
	if s.log, err = s.store.OpenLog(s.id); err != nil {
		return err
	}
	if s.record, err = output.NewRecorder(s.dir); err != nil {
		return err
	}
	if err := s.startAuditCommand(); err != nil {
		return err
	}
	s.onUndo(func(context.Context) error { s.stopAuditCommand(); return nil })
	if s.launch.Spec.Interactive {
		s.scrollback = output.NewScrollbackWriter(s.dir)
		s.term = terminal.New(s.launch.Size, s.scrollback.Append)
		s.onUndo(func(context.Context) error { s.term.Close(); return nil })
	}
	if err := session.Reserve(s.dir); err != nil {
		return err
	}
	s.launch.Spec.ID, s.launch.Spec.Created = s.id, time.Now().UTC()
	self, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	s.current = session.State{Phase: session.Preparing, Supervisor: self, ImageID: s.launch.ImageID}
	if err := s.joinQueue(); err != nil {
		return err
	}
	s.audit(audit.SessionStarted, startedEvent(s.launch.Spec))
	return nil
}

// startedEvent returns the event data of a session's start. A prompt and arguments can be
// larger than an event, so the event has only their hash, and the spec holds them.
func startedEvent(spec session.Spec) map[string]any {
	task := sha256.New()
	fmt.Fprintf(task, "%q %q", spec.Prompt, spec.Args)
	event := map[string]any{
		"session": spec.ID, "agent": spec.Agent, "repository": spec.Repository, "network": spec.Network, "inference": spec.Inference,
		"image": spec.Image, "task_sha256": hex.EncodeToString(task.Sum(nil)),
	}
	if spec.Tenant != "" {
		event["tenant"] = spec.Tenant
	}
	if spec.Resumes != "" {
		event["resumes"] = spec.Resumes
	}
	if spec.Forks != "" {
		event["forks"] = spec.Forks
	}
	if spec.Sandbox != nil {
		event["sandbox"] = spec.Sandbox
	}
	if len(spec.InferenceTools) > 0 {
		event["inference_tools"] = spec.InferenceTools
	}
	if most := spec.OwnSandboxes(); most > 0 {
		event["sandboxes"] = most
	}
	return event
}

// divertStderr redirects this process's standard error, panics included, to file.
func divertStderr(file string) error {
	log, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	return unix.Dup3(int(log.Fd()), int(os.Stderr.Fd()), 0)
}
