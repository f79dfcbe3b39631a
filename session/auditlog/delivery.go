package auditlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/session"
)

// Delivery sends the events of one audit log to the user's command: in order, and each
// at least once. It reads them from the log, so that none has to be kept in memory. A file
// next to the log has the number of the next event to deliver; its lock excludes other
// processes. It is not safe for concurrent use.
type Delivery struct {
	id   session.ID
	log  string // path of the log
	run  func(context.Context, Event) error
	held *flock.Lock
	next int
}

// The time that a command spends on delivering events, and the time that it waits for
// another process that delivers them. Later commands deliver the rest. The delivery of a
// single event may exceed the time.
const (
	deliveryTime = 3 * time.Second
	deliveryWait = 5 * time.Second
)

// deliveredPath returns the file with the number of the next event to deliver.
func deliveredPath(log string) string { return strings.TrimSuffix(log, ".jsonl") + ".delivered" }

// cursorSize is the size of the file in bytes. It is overwritten in place, which also works on
// a full disk.
const cursorSize = 11

func encodeCursor(next int) []byte { return fmt.Appendf(nil, "%-10d\n", next) }

// parseCursor returns the number in the content of the file; 0 if a power cut damaged it, so
// that events are repeated and not skipped.
func parseCursor(data []byte) int {
	next, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 31)
	if err != nil {
		return 0
	}
	return int(next)
}

// Deliver starts to deliver the log of a running session to run. The caller closes the
// delivery.
func Deliver(ctx context.Context, store session.Store, id session.ID, run func(context.Context, Event) error) (*Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryWait)
	defer cancel()
	return openDelivery(ctx, Log{Session: id, Path: store.AuditPath(id)}, run, 0)
}

// openDelivery waits until no other process delivers the log, or ctx ends. For a log that
// was never delivered, the first event is number from.
func openDelivery(ctx context.Context, log Log, run func(context.Context, Event) error, from int) (*Delivery, error) {
	held, err := flock.Wait(ctx, deliveredPath(log.Path), flock.Exclusive)
	if err != nil {
		return nil, err
	}
	d := &Delivery{id: log.Session, log: log.Path, run: run, held: held, next: from}
	data := make([]byte, cursorSize)
	n, err := held.File().ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, held.Close())
	}
	if n > 0 {
		d.next = parseCursor(data[:n])
	}
	if last := audit.LastNumber(log.Path); last >= 0 && d.next > last+1 { // a power failure has truncated the log
		d.next = last
	}
	if err := d.store(); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return d, nil
}

func (d *Delivery) store() error {
	_, err := d.held.File().WriteAt(encodeCursor(d.next), 0)
	return err
}

// Next returns the number of the next event to deliver.
func (d *Delivery) Next() int { return d.next }

// ErrMoved reports that a log was moved: its session was removed, and a later command
// delivers the rest from the archive.
var ErrMoved = errors.New("the session was removed")

// Pass runs the command for an event, unless the event was delivered before. If the command
// fails, the event still counts as delivered, and Pass returns the failure. If ctx ends
// first, the event is delivered again later.
func (d *Delivery) Pass(ctx context.Context, e audit.Event) error {
	if e.Seq < d.next {
		return nil
	}
	if _, err := os.Lstat(d.log); errors.Is(err, fs.ErrNotExist) {
		return ErrMoved
	}
	err := d.run(ctx, Event{d.id, e})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.next = e.Seq + 1
	_ = d.store() // otherwise the event is delivered again
	return err
}

// errLater reports that the time is over before all events were delivered.
var errLater = errors.New("events are delivered later")

// rest delivers the remaining events of the log; if the time is over first, it returns
// errLater. It returns the first failure of the command, with the number of the event.
func (d *Delivery) rest(ctx context.Context, until time.Time) (failure, err error) {
	err = audit.Read(d.log, func(e audit.Event) error {
		if e.Seq < d.next {
			return nil
		}
		if time.Now().After(until) {
			return errLater
		}
		err := d.Pass(ctx, e)
		if err != nil && failure == nil && ctx.Err() == nil {
			failure = fmt.Errorf("event %d: %w", e.Seq, err)
		}
		return ctx.Err()
	})
	return failure, err
}

// Close lets other processes deliver the log.
func (d *Delivery) Close() error { return d.held.Close() }

// awaitsDelivery reports whether the log has events that were not delivered. It must be
// fast, because commands check every log.
func (l Log) awaitsDelivery() bool {
	data, err := paths.ReadSmall(deliveredPath(l.Path), cursorSize)
	if err != nil {
		return false
	}
	last := audit.LastNumber(l.Path)
	return last < 0 || parseCursor(data) <= last
}

// deliver delivers the rest of a log, unless another process does.
func (l Log) deliver(ctx context.Context, command Command, until time.Time) error {
	once, cancel := context.WithCancel(ctx)
	cancel() // a single attempt to get the lock
	d, err := openDelivery(once, l, command.Run, 0)
	if err != nil {
		return nil //nolint:nilerr // it is delivered by another process, or was removed meanwhile
	}
	failure, err := d.rest(ctx, until)
	if err == nil && l.Removed {
		_ = os.Remove(deliveredPath(l.Path)) // no more events follow
	}
	_ = d.Close()
	if errors.Is(err, errLater) || ctx.Err() != nil {
		err = nil
	}
	if failure != nil {
		err = errors.Join(err, fmt.Errorf("%s: %s", l.Session, CommandFailure(failure)))
	}
	return err
}

// Append appends an event to the log of a session that no supervisor owns; see logTo.
func (c Command) Append(store session.Store, id session.ID, kind audit.Type, data any) error {
	path := store.AuditPath(id)
	log, err := audit.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(c.logTo(log, Log{Session: id, Path: path}, kind, data), log.Close())
}

// logTo appends an event to a log that this process opened for that, and delivers the log's
// undelivered events to the user's command. A failure of the command becomes an event, not
// an error.
func (c Command) logTo(log *audit.Log, of Log, kind audit.Type, data any) error {
	var d *Delivery
	if c.IsSet() {
		ctx, cancel := context.WithTimeout(context.Background(), deliveryWait)
		defer cancel()
		if d, _ = openDelivery(ctx, of, c.Run, log.Next()); d != nil { // otherwise the process that delivers the log also delivers the event
			defer d.Close()
		}
	}
	if _, err := log.Append(kind, data); err != nil || d == nil {
		return err
	}
	failure, err := d.rest(context.Background(), time.Now().Add(deliveryTime))
	if failure != nil {
		_, err := log.Append(audit.NoticeGiven, map[string]string{"text": CommandFailure(failure)})
		return err
	}
	if errors.Is(err, errLater) {
		return nil
	}
	return err
}

// RemoveKeepingLog removes a session that has ended, after its audit log was archived. The
// caller holds the session's lock. command receives the log's undelivered events and its
// last one.
func RemoveKeepingLog(ctx context.Context, store session.Store, id session.ID, command Command) error {
	log := Log{Session: id, Path: store.AuditPath(id)}
	var d *Delivery
	if _, err := os.Lstat(log.Path); err == nil && command.IsSet() {
		wait, cancel := context.WithTimeout(ctx, deliveryWait)
		defer cancel()
		if d, _ = openDelivery(wait, log, command.Run, audit.LastNumber(log.Path)+1); d != nil { // otherwise a later repair delivers it
			defer d.Close()
		}
	}
	if _, err := Archive(store, id); err != nil {
		return err
	}
	if d != nil {
		d.log = archivedPath(store, id)
		if _, err := d.rest(ctx, time.Now().Add(deliveryTime)); err == nil { // the log is closed, so the failure cannot be logged
			_ = os.Remove(deliveredPath(d.log))
		}
	}
	return store.Remove(ctx, id)
}

// removeDelivered removes the file with the number of the next event.
func (l Log) removeDelivered() error {
	err := os.Remove(deliveredPath(l.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
