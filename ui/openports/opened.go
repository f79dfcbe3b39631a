package openports

import (
	"context"
	"errors"
	"sync"

	"aibox/session"
	"aibox/session/ports"
)

// Opener opens ports; *manager.Manager has it.
type Opener interface {
	OpenPort(ctx context.Context, id session.ID, r ports.Request, visit func(ports.Update) error) error
}

// Opened holds the ports that the user has opened on the screens. They stay open until they
// are closed, their session ends or the UI ends. It is safe for concurrent use.
type Opened struct {
	ctx    context.Context //nolint:containedctx // it ends with the UI
	opener Opener

	mu      sync.Mutex
	held    map[place]*Held
	changed chan struct{} // closed and replaced at each change
}

// place is a port of a session.
type place struct {
	session session.ID
	port    uint16
}

// Held is an open port.
type Held struct {
	Address string // on this machine; empty until it is open
	Notice  string // the last message of aibox about it, escaped
	Err     error  // why it could not be opened, or was closed

	close context.CancelFunc
}

// NewOpened returns no ports. All are closed when ctx ends.
func NewOpened(ctx context.Context, opener Opener) *Opened {
	return &Opened{ctx: ctx, opener: opener, held: map[place]*Held{}, changed: make(chan struct{})}
}

// Open opens a port in the background, unless it is open.
func (o *Opened) Open(id session.ID, port uint16) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := place{id, port}
	if held := o.held[at]; held != nil && held.Err == nil {
		return
	}
	ctx, cancel := context.WithCancel(o.ctx)
	held := &Held{close: cancel}
	o.held[at] = held
	o.change()
	go func() {
		defer cancel()
		err := o.opener.OpenPort(ctx, id, ports.Request{Port: port, Local: ports.AnyLocal}, func(u ports.Update) error {
			o.update(held, u)
			return nil
		})
		o.end(at, held, err)
	}()
}

// Close closes a port.
func (o *Opened) Close(id session.ID, port uint16) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := place{id, port}
	if held := o.held[at]; held != nil {
		held.close()
		delete(o.held, at)
		o.change()
	}
}

// Of returns the ports of a session that are open or have failed.
func (o *Opened) Of(id session.ID) map[uint16]Held {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := map[uint16]Held{}
	for at, held := range o.held {
		if at.session == id {
			found[at.port] = *held
		}
	}
	return found
}

// Changed returns a channel that is closed at the next change.
func (o *Opened) Changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// change notifies those who wait for a change. o.mu is held.
func (o *Opened) change() {
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *Opened) update(held *Held, u ports.Update) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case u.Address != "":
		held.Address = u.Address
	case u.Notice != "":
		held.Notice = u.Notice
	default:
		return
	}
	o.change()
}

// end stores why a port is no longer open. It forgets a port whose session has ended.
func (o *Opened) end(at place, held *Held, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[at] != held { // closed by the user
		return
	}
	if err == nil || errors.Is(err, context.Canceled) {
		delete(o.held, at)
	} else {
		held.Address, held.Err = "", err
	}
	o.change()
}
