package lifeline

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// MaxProcesses is the maximum number of processes besides the agent that run at the same
// time. Init refuses more.
const MaxProcesses = 64

// Process is the request to run a process besides the agent. Its ID is also that of its
// Flow, which carries its input and output.
type Process struct {
	ID   uint32   `json:"id"` // of its flow; see Conn.NewFlow
	Argv []string `json:"argv"`
	// Env is NAME=VALUE, added to the agent's environment or, before the agent's start, to
	// the image's.
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`  // working directory; empty means /
	User string   `json:"user,omitempty"` // USER or USER:GROUP, each a name or a number; empty is root
	// Tool runs init itself, with Argv as its arguments.
	Tool   bool   `json:"tool,omitempty"`
	TTY    bool   `json:"tty,omitempty"`
	Rows   uint16 `json:"rows,omitempty"`   // of the PTY; 0 means 24
	Cols   uint16 `json:"cols,omitempty"`   // of the PTY; 0 means 80
	Stdin  bool   `json:"stdin,omitempty"`  // it gets the flow's data; otherwise an empty input
	Nproc  uint64 `json:"nproc,omitempty"`  // as in Start
	NoFile uint64 `json:"nofile,omitempty"` // as in Start
	// NoChildren keeps the process from starting others; see seccomp(2).
	NoChildren bool `json:"no_children,omitempty"`
}

// ProcessStarted reports that a process runs.
type ProcessStarted struct {
	ID  uint32 `json:"id"`
	PID int    `json:"pid"` // inside the sandbox
}

// ProcessExit is the end of a process. Its group has ended, too.
type ProcessExit struct {
	ID     uint32 `json:"id"`
	Code   int    `json:"code"` // exit code, or 128 + Signal; 127, 126 and 125 as in Error
	Signal int    `json:"signal,omitempty"`
	Cut    bool   `json:"cut,omitempty"`   // the sandbox ended before all its output was sent
	Error  string `json:"error,omitempty"` // why it could not be run; may hold bytes of the sandbox: escape
}

// ProcessEnding reports that a process has ended, but that some of its output is not sent yet.
type ProcessEnding struct {
	ID uint32 `json:"id"`
}

// ProcessResize sets the size of a process's PTY.
type ProcessResize struct {
	ID   uint32 `json:"id"`
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// ProcessSignal requests a signal to a process's group.
type ProcessSignal struct {
	ID     uint32 `json:"id"`
	Number int    `json:"number"` // 1 to 31
}

// ResizeProcess sets the size of a process's PTY.
func (c *Conn) ResizeProcess(id uint32, rows, cols uint16) error {
	return c.SendMessage(TypeProcessResize, ProcessResize{ID: id, Rows: rows, Cols: cols})
}

// SignalProcess sends a signal to a process's group.
func (c *Conn) SignalProcess(id uint32, number int) error {
	return c.SendMessage(TypeProcessSignal, ProcessSignal{ID: id, Number: number})
}

// Output is the output of a process that Run has run.
type Output struct {
	ProcessExit

	Stdout []byte // its beginning
	Stderr []byte // its beginning
	Late   bool   // it reached the limit and was killed
}

// Run runs processes at the same time, without input, and waits until they end. The results
// have the order of processes. It sets their IDs. It kills a process after limit, and keeps
// the first bytes of each output. It is for the time before Start, when nothing else
// arrives.
func (c *Conn) Run(ctx context.Context, processes []Process, limit time.Duration, keep int) ([]Output, error) {
	outputs := make([]Output, len(processes))
	flows := make([]*Flow, len(processes))
	running := map[uint32]int{} // the index of each process that has not ended
	for i, process := range processes {
		flows[i] = c.NewFlow()
		defer flows[i].Close()
		running[flows[i].ID] = i
		process.ID, process.Stdin = flows[i].ID, false
		if err := c.SendMessage(TypeProcess, process); err != nil {
			return nil, err
		}
	}
	began := time.Now() // before the timer starts, so that what it kills is late
	late := time.AfterFunc(limit, func() {
		for _, flow := range flows {
			_ = c.SignalProcess(flow.ID, int(unix.SIGKILL))
		}
	})
	defer late.Stop()
	for len(running) > 0 {
		f, err := c.awaitAny(ctx, TypeProcessStarted, TypeData, TypeProcessEnding, TypeProcessExit)
		if err != nil {
			return nil, err
		}
		switch f.Type {
		case TypeData:
			data, err := ParseData(f.Payload)
			if err != nil {
				return nil, err
			}
			if i, ok := running[data.Flow]; ok {
				outputs[i].add(data, keep)
				if err := flows[i].Acknowledge(len(data.Bytes)); err != nil {
					return nil, err
				}
			}
		case TypeProcessExit:
			exit, err := Decode[ProcessExit](f)
			if err != nil {
				return nil, err
			}
			i, ok := running[exit.ID]
			if !ok {
				return nil, fmt.Errorf("%w: the end of process %d", ErrProtocol, exit.ID)
			}
			delete(running, exit.ID)
			outputs[i].ProcessExit = exit
			outputs[i].Late = exit.Signal == int(unix.SIGKILL) && time.Since(began) >= limit
		}
	}
	return outputs, nil
}

// add keeps the beginning of each stream.
func (o *Output) add(data Data, keep int) {
	kept := &o.Stdout
	if data.Stream == StreamStderr {
		kept = &o.Stderr
	}
	*kept = append(*kept, data.Bytes[:min(len(data.Bytes), max(keep-len(*kept), 0))]...)
}
