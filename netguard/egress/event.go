package egress

import (
	"net/netip"
	"time"

	"aibox/netguard"
)

// EventKind is what an Event reports.
type EventKind uint8

// The kinds of events.
const (
	Allowed EventKind = iota + 1 // a request or tunnel begins
	Refused                      // it was refused, or cut by a rule of the proxy
	Closed                       // an allowed one has ended
)

// Event is something that the proxy did. What the sandbox chose in it (Host, Method, Path)
// is raw; Method has at most 32 bytes, the others at most 1 KiB.
type Event struct {
	Kind        EventKind
	Time        time.Time
	Destination netguard.Destination // the zero value if the request names no valid one
	Host        string               // the canonical host, or what the request names instead
	Method      string               // CONNECT or that of the HTTP request
	Path        string               // of an HTTP request, without its query; empty for CONNECT
	Address     netip.Addr           // that was dialed or refused; may be invalid
	Rule        string               // the entry that decided, and its source
	Code        string               // why, as a word: a netguard.Reason's name or one of this package's
	Reason      string               // why, as a clause; for Closed, empty if either end closed it
	Command     string               // of Refused: that would allow it, as in the answer; may be empty
	Hint        string               // of Refused: what to do instead, as in the answer; may be empty
	Repeated    int                  // events like this one that were left out since the last

	// Of Closed only.
	AllowedID string // what Record returned for the Allowed event
	Up, Down  int64  // bytes from and to the sandbox, with what it left out
	Duration  time.Duration
}
