package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/process"
)

// passedSignals are passed on to a process that the user follows.
func passedSignals() []os.Signal {
	return endSignals(os.Interrupt, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
}

// killingInterrupt is the ctrl-c that kills a process.
const killingInterrupt = 3

// runProcess starts a process and follows it; see followProcess.
func (c *console) runProcess(ctx context.Context, service *manager.Manager, id session.ID, request process.Request, in io.Reader) error {
	// The end of ctx ends the start. Later, signals are passed on.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	f := c.following(service, id, in)
	defer f.close()
	exit, err := service.RunProcess(running, id, request, func(info process.Info) error {
		if !stop() {
			_ = service.SignalProcess(context.WithoutCancel(ctx), id, info.ID, int(syscall.SIGTERM))
			return ctx.Err()
		}
		f.begin(running, info)
		return nil
	}, f.printer.print)
	if err != nil && ctx.Err() != nil && f.info.ID == 0 {
		return fault.New(fault.Interrupted, "interrupted")
	}
	return f.end(running, exit, err)
}

// followProcess passes on what a process prints until it ends, and the user's signals and
// input to it. in may be nil. Its error has the exit code of the process.
func (c *console) followProcess(ctx context.Context, service *manager.Manager, id session.ID, info process.Info, in io.Reader) error {
	f := c.following(service, id, in)
	defer f.close()
	if ctx.Err() != nil {
		f.signals <- syscall.SIGTERM // it arrived before Notify
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	f.begin(ctx, info)
	exit, err := service.ReadProcess(ctx, id, info.ID, 1, f.printer.print)
	return f.end(ctx, exit, err)
}

// following is a process that the user follows. close must be called.
type following struct {
	service *manager.Manager
	id      session.ID
	in      io.Reader // nil: the process gets no input
	printer *processPrinter
	signals chan os.Signal // of the user, from the beginning on

	info process.Info // set by begin
}

func (c *console) following(service *manager.Manager, id session.ID, in io.Reader) *following {
	f := &following{service: service, id: id, in: in, printer: c.processPrinter(), signals: make(chan os.Signal, 4)}
	signal.Notify(f.signals, passedSignals()...)
	// Go would end this program before end could hang up the process.
	signal.Ignore(syscall.SIGPIPE)
	return f
}

func (f *following) close() { signal.Stop(f.signals) }

// begin passes on signals and input until ctx ends.
func (f *following) begin(ctx context.Context, info process.Info) {
	f.info = info
	go passSignals(ctx, f.signals, func(number int) { _ = f.service.SignalProcess(ctx, f.id, info.ID, number) })
	if f.in != nil {
		// The error is that of the end of the process, which end reports.
		go func() { _ = f.service.ProcessInput(ctx, f.id, info.ID, f.in, true) }()
	}
}

// end returns what the command line ends with after the process.
func (f *following) end(ctx context.Context, exit process.Exit, err error) error {
	if err = errors.Join(err, f.printer.close()); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			// Nobody reads it any more.
			_ = f.service.SignalProcess(ctx, f.id, f.info.ID, int(syscall.SIGHUP))
			return &processExit{code: 128 + int(syscall.SIGPIPE)}
		}
		return err
	}
	name := "the process"
	if len(f.info.Argv) > 0 {
		name = f.info.Argv[0]
	}
	return exitError(name, exit)
}

// passSignals passes signals on until ctx ends.
func passSignals(ctx context.Context, signals <-chan os.Signal, send func(number int)) {
	interrupts := 0
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			number := int(s.(syscall.Signal))
			if s == os.Interrupt {
				if interrupts++; interrupts >= killingInterrupt {
					number = int(syscall.SIGKILL)
				}
			}
			send(number)
		}
	}
}

// processPrinter prints the frames of a process: unchanged, but filtered on a terminal.
type processPrinter struct {
	stdout, stderr io.Writer
	errOut         io.Writer
	errTerm        terminal
	filters        []*termtext.Filter
}

func (c *console) processPrinter() *processPrinter {
	p := &processPrinter{errOut: c.err, errTerm: c.errTerm}
	of := func(w io.Writer, t terminal) io.Writer {
		if !t.interactive {
			return w
		}
		filter := termtext.NewFilter(w, termtext.Stream)
		p.filters = append(p.filters, filter)
		return filter
	}
	p.stdout, p.stderr = of(c.out, c.term), of(c.err, c.errTerm)
	return p
}

func (p *processPrinter) print(frame process.Frame) (err error) {
	switch frame.Kind {
	case process.Stdout:
		_, err = p.stdout.Write(frame.Data)
	case process.Stderr:
		_, err = p.stderr.Write(frame.Data)
	case process.Lost:
		_, err = fmt.Fprintf(p.errOut, "%s earlier output is no longer kept\n", p.errTerm.warn("!"))
	}
	return err
}

func (p *processPrinter) close() error {
	var errs []error
	for _, filter := range p.filters {
		errs = append(errs, filter.Close())
	}
	return errors.Join(errs...)
}

// attachProcess shows the terminal of a process until it ends or the user detaches.
func (c *console) attachProcess(ctx context.Context, service *manager.Manager, id session.ID, info process.Info) error {
	out, ok := fileOf(c.out)
	if !ok || !c.isInteractive() {
		return fault.New(fault.Usage, "the terminal of a process needs a terminal as input and output")
	}
	if info.Exit == nil {
		t := &attachedTerminal{in: c.in, out: out, label: fmt.Sprintf("%s · %s", id, safe(firstLine(info.Argv[0], 20))), plain: true}
		attachment, err := service.AttachProcess(ctx, id, info.ID, t.agentSize(), colorDepth(c.term))
		if err != nil {
			return err
		}
		left, err := t.run(ctx, attachment)
		switch {
		case errors.Is(err, errDetached):
			fmt.Fprintf(c.err, "%s process %d is still running; `aibox exec --connect %d %s` reattaches\n", c.errTerm.faint("→"), info.ID, info.ID, id)
			return nil
		case ctx.Err() != nil:
			// The terminal hung up, or aibox was asked to end.
			_ = service.SignalProcess(context.WithoutCancel(ctx), id, info.ID, int(syscall.SIGHUP))
			return fault.New(fault.Interrupted, "interrupted")
		case err != nil:
			return err
		}
		if _, err := out.Write(left); err != nil {
			return err
		}
	}
	exit, err := service.ReadProcess(ctx, id, info.ID, 1, func(process.Frame) error { return nil })
	if err != nil {
		return err
	}
	return exitError(info.Argv[0], exit)
}
