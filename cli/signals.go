package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// endSignals are the signals that ask aibox to end, except for ctrl-c, and then the signals in more. Those that
// the program was started with ignored are not among them, because Notify would receive them again: nohup
// ignores SIGHUP, and a script ignores SIGINT for a command in the background. SIGTERM is always among them.
func endSignals(more ...os.Signal) []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range append([]os.Signal{syscall.SIGHUP}, more...) {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// untilSignal returns a context that ends at the first signal that asks aibox to end, except for
// ctrl-c during ignoreInterrupts. It is for the whole program, and is never stopped: the process ends
// next, and each signal would need two switches of threads.
func (c *console) untilSignal(ctx context.Context) context.Context {
	ctx, _ = signal.NotifyContext(ctx, endSignals()...)
	ctx, cancel := context.WithCancel(ctx)
	c.interrupts = make(chan os.Signal, 1)
	if !signal.Ignored(os.Interrupt) { // see endSignals
		signal.Notify(c.interrupts, os.Interrupt)
	}
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
// the terminal, which sends ctrl-c to both. A program that is started meanwhile inherits only what aibox was
// started with.
func (c *console) ignoreInterrupts() (end func()) {
	if signal.Ignored(os.Interrupt) {
		return func() {}
	}
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
