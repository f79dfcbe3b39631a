package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// launcherCommand makes init wait for the program that it executes.
	launcherCommand = "launcher"
	// launcherPause is how long after the start of a program the next launcher is started,
	// to leave the processors to the program's first steps. If the program ends earlier, it
	// starts at once.
	launcherPause = 200 * time.Millisecond
	// maxLaunch bounds the description of a program, in bytes.
	maxLaunch = 16 << 20
)

// launching describes the program that a launcher executes.
type launching struct {
	Args     []string // of launch
	Env      []string
	Terminal bool // the standard input becomes the controlling terminal
}

// encode returns the program as lists of strings, each string and list with its length before
// it. Decoding JSON, in a process that has just started, takes longer than all else that a
// launcher does.
func (l launching) encode() []byte {
	text := appendStrings(nil, []string{strconv.FormatBool(l.Terminal)})
	return appendStrings(appendStrings(text, l.Args), l.Env)
}

func appendStrings(to []byte, list []string) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(len(list)))
	for _, text := range list {
		to = append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
	}
	return to
}

// decodeLaunching decodes what encode returns.
func decodeLaunching(text []byte) (launching, error) {
	var lists [3][]string
	for i := range lists {
		count, rest, err := cutNumber(text)
		for text = rest; err == nil && len(lists[i]) < count; {
			var size int
			if size, text, err = cutNumber(text); err == nil && size > len(text) {
				err = io.ErrUnexpectedEOF
			}
			if err == nil {
				lists[i] = append(lists[i], string(text[:size]))
				text = text[size:]
			}
		}
		if err != nil {
			return launching{}, err
		}
	}
	if len(text) > 0 || len(lists[0]) != 1 || lists[0][0] != "true" && lists[0][0] != "false" {
		return launching{}, errors.New("the description of a program is damaged")
	}
	return launching{Terminal: lists[0][0] == "true", Args: lists[1], Env: lists[2]}, nil
}

func cutNumber(text []byte) (n int, rest []byte, err error) {
	if len(text) < 4 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return int(binary.BigEndian.Uint32(text)), text[4:], nil
}

// launcher is a process that waits for the program that it executes. It leads its own
// session. A program that starts in it needs no new process and no start of init's own
// program, which take most of the time of a short command under gVisor.
type launcher struct {
	helper
	within time.Duration // how long it may take to accept its program
}

// newLauncher starts a launcher. It never runs two goroutines at once, and each thread that the
// program replaces takes time to end. The program does not get this variable.
func newLauncher(r *reaper) (*launcher, error) {
	h, err := startHelper(r, unix.SOCK_STREAM, []string{"GOMAXPROCS=1"}, launcherCommand)
	if err != nil {
		return nil, err
	}
	return &launcher{h, helperTime}, nil
}

// execute makes the launcher execute a program with the streams. After an error the launcher
// has ended, and has executed nothing.
func (l *launcher) execute(program launching, streams [3]*os.File) error {
	defer l.conn.Close()
	if err := l.conn.SetWriteDeadline(time.Now().Add(helperTime)); err != nil {
		return err
	}
	err := l.send(program, streams)
	if err == nil {
		err = l.awaitAcceptance(time.Now().Add(l.within))
	}
	if err == nil || l.retract() {
		return nil
	}
	_ = unix.Kill(l.pid, unix.SIGKILL)
	<-l.status
	return err
}

// awaitAcceptance returns when the launcher is about to execute its program. The zero deadline is
// none.
func (l *launcher) awaitAcceptance(deadline time.Time) error {
	if err := l.conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	var accepted [1]byte
	_, err := io.ReadFull(l.conn, accepted[:])
	return err
}

// retract keeps a launcher that is late from executing its program, unless it has accepted it
// already. The launcher may be stopped by the agent, by a freeze or by a stall of the sandbox, so init
// does not look at its state: once the connection is closed for reading, a launcher can no longer
// accept, and what it wrote before is still there.
func (l *launcher) retract() (accepted bool) {
	return l.conn.CloseRead() == nil && l.awaitAcceptance(time.Time{}) == nil
}

// send sends a program.
func (l *launcher) send(program launching, streams [3]*os.File) error {
	text := program.encode()
	if len(text) > maxLaunch {
		return errors.New("the command is too long")
	}
	rights := unix.UnixRights(int(streams[0].Fd()), int(streams[1].Fd()), int(streams[2].Fd()))
	if _, _, err := l.conn.WriteMsgUnix(binary.BigEndian.AppendUint32(nil, uint32(len(text))), rights, nil); err != nil {
		return err
	}
	_, err := l.conn.Write(text)
	return err
}

// launchers keeps one launcher ready. It is safe for concurrent use.
type launchers struct {
	reaper *reaper

	mu    sync.Mutex
	ready *launcher // nil if there is none
	ended bool
}

// prepare starts a launcher if there is none. Without one, programs start as the agent does.
func (ls *launchers) prepare() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.ended || ls.ready != nil {
		return
	}
	ls.ready, _ = newLauncher(ls.reaper)
}

// prepareFirst is prepare in a sandbox that nobody uses yet. A program that a launcher executes
// gets a new address space. gVisor takes milliseconds to make one, and keeps it for another
// process when its own has ended. So a second launcher starts, and ends at once.
func (ls *launchers) prepareFirst() {
	ls.prepare()
	if spare, err := newLauncher(ls.reaper); err == nil {
		spare.conn.Close()
	}
}

// take returns the ready launcher, or nil.
func (ls *launchers) take() *launcher {
	if ls == nil {
		return nil
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.ready
	ls.ready = nil
	return l
}

// end ends the launcher, and keeps others from being started.
func (ls *launchers) end() {
	ls.mu.Lock()
	ls.ended = true
	ls.mu.Unlock()
	if l := ls.take(); l != nil {
		l.conn.Close()
		_ = unix.Kill(l.pid, unix.SIGKILL)
		select {
		case <-l.status:
		case <-time.After(killLimit):
		}
	}
}

// awaitProgram is a launcher: it waits for a program and executes it. It does not return.
func awaitProgram() {
	// The agent may run as the same user. Executing a program resets this.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	unix.CloseOnExec(helperSocket)
	program, streams, err := receiveProgram()
	if err != nil {
		os.Exit(125) // init then starts the program in another way, and reports its errors
	}
	if _, err := unix.Write(helperSocket, []byte{1}); err != nil {
		os.Exit(125) // init has retracted the program, and may have started it in another way
	}
	for i, stream := range streams {
		if err := unix.Dup3(stream, i, 0); err != nil {
			os.Exit(125)
		}
	}
	if program.Terminal {
		if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 1); err != nil {
			fmt.Fprintln(os.Stderr, "aibox-init: taking the terminal:", err)
			os.Exit(125)
		}
	}
	launch(program.Args, program.Env)
}

// receiveProgram receives a program and its streams.
func receiveProgram() (program launching, streams []int, err error) {
	var length [4]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	n, rightsLength, _, _, err := unix.Recvmsg(helperSocket, length[:], rights, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, rightsLength, _, _, err = unix.Recvmsg(helperSocket, length[:], rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n != len(length) {
		return program, nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rightsLength])
	if err != nil || len(messages) != 1 {
		return program, nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	if streams, err = unix.ParseUnixRights(&messages[0]); err != nil || len(streams) != 3 {
		return program, nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > maxLaunch {
		return program, nil, io.ErrShortBuffer
	}
	text := make([]byte, size)
	for rest := text; len(rest) > 0; {
		n, err := readSocket(rest)
		if err != nil || n == 0 {
			return program, nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
		rest = rest[n:]
	}
	decoded, decodeErr := decodeLaunching(text)
	return decoded, streams, decodeErr
}

// readSocket reads from init.
func readSocket(into []byte) (int, error) {
	for {
		n, err := unix.Read(helperSocket, into)
		if err != unix.EINTR {
			return n, err
		}
	}
}
