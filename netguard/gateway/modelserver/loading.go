package modelserver

import (
	"aibox/internal/fault"
)

// Loading is the error of a model server, on this machine or named by the user, that is
// running but not ready: it reports that it is loading its model, or accepts connections
// and does not answer. The caller may try again later.
type Loading struct {
	Server   string // its name and address
	Reported bool   // it reports that itself
}

// Error describes the state of the server.
func (l *Loading) Error() string { return l.fault().Message }

// Loads reports whether the server itself reports that it is loading its model.
func (l *Loading) Loads() bool { return l.Reported }

// Unwrap returns the fault that describes the error.
func (l *Loading) Unwrap() error { return l.fault() }

func (l *Loading) fault() *fault.Fault {
	f := fault.New(fault.Environment, "%s takes connections and does not answer yet", l.Server)
	if l.Reported {
		f = fault.New(fault.Environment, "%s is still loading its model", l.Server)
	}
	return f.Hint("run it again when the server answers; its own log says how far it is").
		Hint("--inference takes another server or a provider by its name; `auto` uses no provider while a server of this machine starts")
}
