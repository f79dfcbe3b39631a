package egress

import (
	"net/netip"
	"time"

	"aibox/netguard"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Allowed EventKind = iota + 1 // a request or tunnel begins
	Refused                      // it was refused, or cut by a rule of the proxy
	Closed                       // an allowed one has ended
)

// Event reports an action of the proxy. Fields that the sandbox controls (Host, Method,
// Path) are raw; Method has at most 32 bytes, the others at most 1 KiB.
type Event struct {
	Kind        EventKind
	Time        time.Time
	Destination netguard.Destination // the zero value if the request names no valid one
	Host        string               // the canonical host, or the text that the request has instead
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
	AllowedID string // the result of Record for the Allowed event
	Up, Down  int64  // bytes from and to the sandbox, including those of events left out
	Duration  time.Duration
}
