package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// endSignals are the signals that ask aibox to end, except for ctrl-c, and then the signals in more. SIGHUP is
// not among them if the program was started with it ignored, as nohup does: Notify would receive it again.
func endSignals(more ...os.Signal) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return append(signals, more...)
}

// untilSignal returns a context that ends at the first signal that asks aibox to end, except for
// ctrl-c during ignoreInterrupts. It is for the whole program, and is never stopped: the process ends
// next, and each signal would need two switches of threads.
func (c *console) untilSignal(ctx context.Context) context.Context {
	ctx, _ = signal.NotifyContext(ctx, endSignals()...)
	ctx, cancel := context.WithCancel(ctx)
	c.interrupts = make(chan os.Signal, 1)
	signal.Notify(c.interrupts, os.Interrupt)
	go func() { // without an interrupt it ends with the program
		<-c.interrupts
		cancel()
	}()
	return ctx
}

// untilNextSignal calls do with a context that has not ended even if ctx has, and that ends at the next
// signal that asks aibox to end.
func untilNextSignal(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), endSignals(os.Interrupt)...)
	defer stop()
	return interrupted(ctx, do(ctx))
}

// ignoreInterrupts keeps ctrl-c from ending aibox until end is called. It is for a program that has
// the terminal, which sends ctrl-c to both. A program that is started meanwhile does not inherit this.
func (c *console) ignoreInterrupts() (end func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt) // first, because an interrupt that nothing receives ends the process
	if c.interrupts != nil {
		signal.Stop(c.interrupts)
	}
	return func() {
		if c.interrupts != nil {
			signal.Notify(c.interrupts, os.Interrupt)
		}
		signal.Stop(ignored)
	}
}
