package supervisor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime/limit/limittest"
	"aibox/session"
	"aibox/session/process"
)

// builtPrograms is a folder for programs of the tests.
var builtPrograms string

func TestMain(m *testing.M) {
	limittest.Child()
	var err error
	if builtPrograms, err = os.MkdirTemp("", "aibox-supervisor-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(builtPrograms)
	os.Exit(code)
}

// initProgram builds the real init once.
var initProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builtPrograms, "aibox-init")
	out, err := exec.Command("go", "build", "-o", path, "aibox/cmd/aibox-init").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// connected returns the processes of a running session whose init is the real one, as an
// ordinary process.
func connected(t *testing.T) (*processes, *audit.Log) {
	t.Helper()
	program, err := initProgram()
	if err != nil {
		t.Fatal(err)
	}
	listener := lineListener(t)
	cmd := exec.Command(program, listener.Addr().String())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &sandbox{storing: newStoring(), preparation: &preparation{modelWatch: &modelWatch{run: &run{dir: t.TempDir()}}}}
	line, _, err := s.acceptLine(t.Context(), listener)
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(s.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s.line, s.log, s.current.Phase, s.agentFolder = line, log, session.Running, "/"
	ps := newProcesses(s)
	receiving := make(chan struct{})
	go func() {
		defer close(receiving)
		for {
			frame, err := line.Receive()
			if err != nil || ps.receive(frame) != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = line.Close()
		<-receiving
		ps.close()
		ps.awaitReaders()
		_ = cmd.Wait()
		_ = log.Close()
	})
	return ps, log
}

// read reads a process from its first frame to its end.
func read(t *testing.T, ps *processes, id int, out io.Writer) process.Exit {
	t.Helper()
	reader, err := ps.Read(id, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for seq := uint64(1); ; seq++ {
		frame, err := reader.Next(ctx)
		if err != nil || frame.Seq != seq {
			t.Fatalf("frame %d in place of %d: %v", frame.Seq, seq, err)
		}
		reader.Take(seq)
		if frame.Kind == process.Ended {
			exit, err := frame.Exit()
			if err != nil {
				t.Fatal(err)
			}
			return exit
		}
		_, _ = out.Write(frame.Data)
	}
}

func begin(t *testing.T, ps *processes, request process.Request) process.Info {
	t.Helper()
	info, err := ps.Start(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func sh(script string) process.Request { return process.Request{Argv: []string{"sh", "-c", script}} }

func TestProcessesOfTheRealInitAreRecordedAndLogged(t *testing.T) {
	ps, log := connected(t)
	request := sh("cat; echo $KEY; exit 5")
	request.Stdin, request.Env = true, []string{"KEY=value"}
	info := begin(t, ps, request)
	if info.ID != 1 || info.PID == 0 || info.Exit != nil || info.Dir != "/" {
		t.Errorf("%+v", info)
	}
	input := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	go func() { _ = ps.Input(t.Context(), 1, bytes.NewReader(input), true) }()
	var out bytes.Buffer
	if exit := read(t, ps, 1, &out); exit != (process.Exit{Code: 5}) || out.String() != string(input)+"value\n" {
		t.Errorf("%+v, %d bytes", exit, out.Len())
	}
	failed := begin(t, ps, process.Request{Argv: []string{"no-such-program"}})
	if failed.Exit == nil || failed.Exit.Code != 127 || failed.PID != 0 {
		t.Errorf("%+v", failed)
	}
	if err := ps.Input(t.Context(), 2, strings.NewReader("x"), true); fault.KindOf(err) != fault.Usage {
		t.Errorf("input for a process without one: %v", err)
	}
	if err := ps.Signal(1, 15); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a signal for an ended process: %v", err)
	}
	ps.pumps.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var types []audit.Type
	_ = audit.Read(filepath.Join(ps.sandbox.dir, "audit.jsonl"), func(e audit.Event) error {
		types = append(types, e.Type)
		return nil
	})
	if fmt.Sprint(types) != "[process.started process.ended process.started process.ended]" {
		t.Errorf("%v", types)
	}
}

// One client can end the input of a process to which another one still sends.
func TestInputAfterItsEndIsRefusedAndHarmsNothing(t *testing.T) {
	ps, _ := connected(t)
	sleeping, terminal := sh("exec sleep 1000"), sh("exec sleep 1000")
	sleeping.Stdin, terminal.TTY = true, true
	begin(t, ps, sleeping)
	begin(t, ps, terminal)
	for id := 1; id <= 2; id++ {
		for range 2 {
			if err := ps.Input(t.Context(), id, strings.NewReader(""), true); err != nil {
				t.Fatal(err)
			}
		}
		if err := ps.Input(t.Context(), id, strings.NewReader("late"), false); fault.KindOf(err) != fault.Conflict {
			t.Errorf("input of process %d after its end: %v", id, err)
		}
	}
	if err := ps.all[1].Stdin(t.Context(), []byte("key")); err != nil {
		t.Errorf("a key ends the viewer: %v", err)
	}
	begin(t, ps, sh("echo alive"))
	var out bytes.Buffer
	if exit := read(t, ps, 3, &out); exit.Code != 0 || out.String() != "alive\n" {
		t.Errorf("%+v, %q", exit, out.String())
	}
	for id := 1; id <= 2; id++ {
		if err := ps.Signal(id, 9); err != nil {
			t.Errorf("process %d: %v", id, err)
		}
	}
}

// A reader that does not read blocks its process, but no other process and no other reader
// of the lifeline.
func TestReaderThatDoesNotReadBlocksOnlyItsProcess(t *testing.T) {
	ps, _ := connected(t)
	request := sh("exec yes")
	request.Keep = 512 << 10
	begin(t, ps, request)
	still, err := ps.Read(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer still.Close()
	begin(t, ps, sh("head -c 20000000 /dev/zero"))
	hash := sha256.New()
	if exit := read(t, ps, 2, hash); exit.Code != 0 || [32]byte(hash.Sum(nil)) != sha256.Sum256(make([]byte, 20_000_000)) {
		t.Errorf("%+v", exit)
	}
	if _, output := ps.all[0].record.Sizes(); output > 512<<10 {
		t.Errorf("%d bytes are kept of the process that is not read", output)
	}
	if err := ps.Signal(1, 9); err != nil {
		t.Error(err)
	}
}

// The records are on the disk of the host, where no limit of the sandbox counts them.
func TestTheRecordsOfAllProcessesAreBounded(t *testing.T) {
	ps, _ := connected(t)
	ps.records = 2 << 20
	kept := func(script string) process.Request {
		request := sh(script)
		request.Keep = 1 << 20
		return request
	}
	begin(t, ps, kept("head -c 700000 /dev/zero"))
	done, err := ps.Done(1)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	begin(t, ps, kept("exec sleep 1000"))
	if all := ps.List(); len(all) != 2 {
		t.Errorf("there is room for both, and the list has %d", len(all))
	}
	begin(t, ps, kept("exec sleep 1000"))
	if all := ps.List(); len(all) != 2 || all[0].ID != 2 || all[1].ID != 3 {
		t.Errorf("the list is %+v", all)
	}
	if _, err := ps.Start(t.Context(), kept("true")); fault.KindOf(err) != fault.Limit {
		t.Errorf("one more: %v", err)
	}
	for id := 2; id <= 3; id++ {
		if err := ps.Signal(id, 9); err != nil {
			t.Error(err)
		}
	}
}

func TestProcessWithoutAReaderEndsAfterItsLinger(t *testing.T) {
	ps, _ := connected(t)
	request := sh("exec sleep 1000")
	request.Linger = 50 * time.Millisecond
	begin(t, ps, request)
	done, err := ps.Done(1)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if exit := ps.List()[0].Exit; exit == nil || exit.Signal != 1 {
		t.Errorf("%+v", exit)
	}
}

// Otherwise it would count as a process that runs, until the end of the session.
func TestProcessWithMuchOutputAndWithoutAReaderEndsAfterItsLinger(t *testing.T) {
	ps, _ := connected(t)
	request := sh("exec yes")
	request.Linger, request.Keep = time.Second, 1<<20 // a second: so init holds more output than that, too
	begin(t, ps, request)
	done, err := ps.Done(1)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := ps.Read(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for full := int64(0); full < request.Keep-2*process.MaxData; _, full = ps.all[0].record.Sizes() {
		<-time.After(time.Millisecond)
	}
	reader.Close()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it has not ended after a minute")
	}
	if exit := ps.List()[0].Exit; exit == nil || exit.Signal != 1 && exit.Signal != 9 {
		t.Errorf("%+v", exit)
	}
	if reader, err = ps.Read(1, 1); err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if frame, err := reader.Next(t.Context()); err != nil || frame.Kind != process.Lost {
		t.Errorf("the loss of output is not reported: %+v, %v", frame, err)
	}
}

// A process that has ended does not count as one that runs, whatever is left to read.
func TestAProcessEndsWithMoreOutputThanItsRecordKeeps(t *testing.T) {
	ps, _ := connected(t)
	const size = 1_500_000 // half of it does not fit
	for _, overflow := range []process.Overflow{process.Hold, process.DropUnread} {
		request := sh(fmt.Sprintf("head -c %d /dev/zero", size))
		request.Keep, request.Overflow = 512<<10, overflow
		id := begin(t, ps, request).ID
		done, err := ps.Done(id)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("it has not ended after a minute")
		}
		hash := sha256.New()
		if exit := read(t, ps, id, hash); exit.Code != 0 || exit.Cut || [32]byte(hash.Sum(nil)) != sha256.Sum256(make([]byte, size)) {
			t.Errorf("%s: its output is lost: %+v", overflow, exit)
		}
	}
}

func TestProcessEndsAtItsTimeout(t *testing.T) {
	ps, _ := connected(t)
	request := sh("exec sleep 1000")
	request.Timeout = 50 * time.Millisecond
	begin(t, ps, request)
	if exit := read(t, ps, 1, io.Discard); exit.Signal != 9 || !exit.TimedOut {
		t.Errorf("%+v", exit)
	}
	request = sh("kill -KILL $$")
	request.Timeout = time.Hour
	begin(t, ps, request)
	if exit := read(t, ps, 2, io.Discard); exit.Signal != 9 || exit.TimedOut {
		t.Errorf("a process that kills itself before its timeout: %+v", exit)
	}
}

func TestEndOfTheSandboxEndsItsProcesses(t *testing.T) {
	ps, _ := connected(t)
	begin(t, ps, sh("echo before; exec sleep 1000"))
	reader, err := ps.Read(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if frame, err := reader.Next(t.Context()); err != nil || string(frame.Data) != "before\n" {
		t.Fatalf("%q, %v", frame.Data, err)
	}
	_ = ps.sandbox.line.Close()
	ps.close()
	frame, err := reader.Next(t.Context())
	exit, exitErr := frame.Exit()
	if err != nil || exitErr != nil || exit.Error != "the session ended" {
		t.Errorf("%+v, %v", exit, err)
	}
	if _, err := reader.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := ps.Start(t.Context(), sh("true")); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a start after the end: %v", err)
	}
}

func TestProcessesStartOnlyBesideARunningAgent(t *testing.T) {
	ps, _ := connected(t)
	ps.sandbox.current.Phase = session.Preparing
	if _, err := ps.Start(t.Context(), sh("true")); fault.KindOf(err) != fault.Conflict {
		t.Errorf("before the agent: %v", err)
	}
	ps.sandbox.current.Phase = session.Computing
	if _, err := ps.Start(t.Context(), sh("true")); fault.KindOf(err) != fault.Conflict {
		t.Errorf("after the agent: %v", err)
	}
}

func TestOldEndedProcessesAreForgotten(t *testing.T) {
	ps, _ := connected(t)
	for range maxEndedProcesses + 5 {
		info := begin(t, ps, process.Request{Argv: []string{"no-such-program"}})
		done, err := ps.Done(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		<-done
	}
	all := ps.List()
	if len(all) > maxEndedProcesses+1 || all[len(all)-1].ID != maxEndedProcesses+5 {
		t.Errorf("%d are listed", len(all))
	}
	if _, err := ps.Read(1, 1); fault.KindOf(err) != fault.Usage {
		t.Errorf("the first can still be read: %v", err)
	}
}

// Programs that cannot be run are kept as well, so their commands must not fill the memory of those
// who ask for a process.
func TestLongCommandsFillNoListOfProcesses(t *testing.T) {
	ps, _ := connected(t)
	const size = 120 << 10
	for range maxEndedProcesses {
		begin(t, ps, process.Request{Argv: []string{"no-such-program", strings.Repeat("<", size)}})
	}
	list, err := json.Marshal(ps.List())
	if err != nil || len(list) > 1<<20 {
		t.Errorf("the list has %d bytes: %v", len(list), err)
	}
	if info, err := ps.Info(1); err != nil || len(info.Argv[1]) != size {
		t.Errorf("one process lost its command: %v", err)
	}
	if _, err := ps.Start(t.Context(), process.Request{Argv: []string{"no-such-program", strings.Repeat("x", 128<<10)}}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a longer command: %v", err)
	}
	if _, err := ps.Start(t.Context(), process.Request{Argv: []string{"no-such-program"}, Dir: strings.Repeat("/x", 4<<10)}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a longer folder: %v", err)
	}
}

func TestAnEndedProcessThatIsReadIsNotForgotten(t *testing.T) {
	ps, _ := connected(t)
	ended := func(request process.Request) int {
		info := begin(t, ps, request)
		done, err := ps.Done(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		<-done
		return info.ID
	}
	slow := ended(sh("head -c 1000000 /dev/zero"))
	reader, err := ps.Read(slow, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	unread := ended(sh("echo unread"))
	read(t, ps, ended(sh("echo read")), io.Discard)
	isListed := func(id int) bool { _, err := ps.find(id); return err == nil }
	for len(ps.List()) <= maxEndedProcesses {
		ended(process.Request{Argv: []string{"no-such-program"}})
	}
	ended(process.Request{Argv: []string{"no-such-program"}})
	if isListed(unread+1) || !isListed(unread) {
		t.Error("a process whose output was not read is forgotten before one whose end was")
	}
	for range maxEndedProcesses {
		ended(process.Request{Argv: []string{"no-such-program"}})
	}
	if isListed(unread) {
		t.Error("processes that nobody reads are kept")
	}
	size := 0
	for {
		frame, err := reader.Next(t.Context())
		if err != nil {
			t.Fatalf("after %d bytes: %v", size, err)
		}
		if frame.Kind == process.Ended {
			break
		}
		size += len(frame.Data)
	}
	if size != 1_000_000 {
		t.Errorf("%d bytes were read", size)
	}
}

// A hostile init must not cause the supervisor to store more than the window of a process.
func TestHostileFramesAboutProcessesAreHarmless(t *testing.T) {
	ps, _ := connected(t)
	for _, frame := range []lifeline.Frame{
		{Type: lifeline.TypeProcessStarted, Payload: []byte(`{"id":77,"pid":-1}`)},
		{Type: lifeline.TypeProcessExit, Payload: []byte(`{"id":77,"code":-5}`)},
		{Type: lifeline.TypeData, Payload: []byte{0, 0, 0, 77, 1, 'x'}},
		{Type: lifeline.TypeDataEnd, Payload: []byte{0, 0, 0, 77}},
		{Type: lifeline.TypeProcessEnding, Payload: []byte(`{"id":77}`)},
	} {
		if err := ps.receive(frame); err != nil {
			t.Errorf("%#x: %v", frame.Type, err)
		}
	}
	for _, frame := range []lifeline.Frame{
		{Type: lifeline.TypeProcessStarted, Payload: []byte(`{"id":-1}`)},
		{Type: lifeline.TypeProcessExit, Payload: []byte(`{`)},
		{Type: lifeline.TypeProcessEnding, Payload: []byte(`{`)},
		{Type: lifeline.TypeData, Payload: []byte{0}},
	} {
		if err := ps.receive(frame); !errors.Is(err, lifeline.ErrProtocol) {
			t.Errorf("%#x: %v", frame.Type, err)
		}
	}
}

// Otherwise the session's event log on the host would also keep the whole error.
func TestALongErrorOfAHostileInitIsCut(t *testing.T) {
	ps, _ := connected(t)
	info := begin(t, ps, sh("exec sleep 1000"))
	done, err := ps.Done(info.ID)
	if err != nil {
		t.Fatal(err)
	}
	frame := lifeline.Frame{Type: lifeline.TypeProcessExit, Payload: fmt.Appendf(nil, `{"id":%d,"code":1,"error":%q}`, ps.all[0].flow.ID, strings.Repeat("x", 1<<20))}
	if err := ps.receive(frame); err != nil {
		t.Fatal(err)
	}
	<-done
	if exit := ps.List()[0].Exit; exit.Code != 1 || len(exit.Error) > 4<<10 {
		t.Errorf("the process ended with the code %d and an error of %d bytes", exit.Code, len(exit.Error))
	}
}

// Each report would start the clocks of the process again.
func TestAProcessThatIsReportedToRunAgainAndAgainRunsOnce(t *testing.T) {
	ps, _ := connected(t)
	request := sh("exec sleep 1000")
	request.Timeout, request.Linger = time.Hour, time.Hour
	pid := begin(t, ps, request).PID
	before := runtime.NumGoroutine()
	for range 1000 {
		frame := lifeline.Frame{Type: lifeline.TypeProcessStarted, Payload: fmt.Appendf(nil, `{"id":%d,"pid":4711}`, ps.all[0].flow.ID)}
		if err := ps.receive(frame); err != nil {
			t.Fatal(err)
		}
	}
	if now := runtime.NumGoroutine(); now > before+100 || ps.List()[0].PID != pid {
		t.Errorf("the supervisor has %d goroutines, before %d, and the process %+v", now, before, ps.List()[0])
	}
}
