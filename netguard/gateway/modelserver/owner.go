package modelserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"aibox/internal/fault"
	"aibox/internal/peer"
)

// Any user of a machine can listen on the ports at which model servers are searched for,
// and would receive the prompts. So a server on this machine that was found, or named by
// its kind, must run as a user who may see them. This is checked for each connection, by
// the owner of the process that has accepted it.

// Owner is the user that a server on this machine runs as.
type Owner struct {
	Address string // host and port, as called
	UID     int64  // -1 if unknown
	Name    string // the account's; empty when there is none
}

// unknownOwner is the UID of an owner that the system does not report.
const unknownOwner = -1

// overflowUID represents every user that a user namespace does not map.
const overflowUID = 65534

// String returns the server with its user, for a sentence: not escaped.
func (o Owner) String() string {
	switch {
	case o.UID == unknownOwner:
		return fmt.Sprintf("the server on %s (the system does not tell as which user it runs)", o.Address)
	case o.Name == "":
		return fmt.Sprintf("the server on %s (user id %d)", o.Address, o.UID)
	default:
		return fmt.Sprintf("the server on %s (%s, user id %d)", o.Address, o.Name, o.UID)
	}
}

// ownerOf returns the user at the other end of a connection within this machine.
func ownerOf(conn net.Conn, address string) Owner {
	uid, err := peer.Owner(conn)
	if err != nil {
		return Owner{Address: address, UID: unknownOwner}
	}
	return ownerBy(uid, address)
}

// listener returns the user who listens at an address of this machine. ok is false if there is
// none, and for an address of another machine.
func listener(address string) (o Owner, ok bool) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return Owner{}, false
	}
	uid, err := peer.Listener(at)
	if err != nil {
		return Owner{}, false
	}
	return ownerBy(uid, address), true
}

func ownerBy(uid uint32, address string) Owner {
	o := Owner{Address: address, UID: int64(uid)}
	if account, err := user.LookupId(strconv.FormatInt(o.UID, 10)); err == nil {
		o.Name = account.Username
	}
	return o
}

// trusted reports whether prompts may be sent to the owner without a question: this user;
// root, who can read them anyway; and for Ollama the system account that its installer
// makes, which only root can make.
func (o Owner) trusted(kind Kind) bool {
	switch o.UID {
	case unknownOwner, overflowUID:
		return false
	case int64(os.Getuid()), 0:
		return true
	}
	const firstUser = 1000 // UID_MIN of login.defs(5): lower ids are system accounts
	return kind == OllamaHost && o.Name == "ollama" && o.UID < firstUser
}

// admits reports whether prompts may go to a server of owner.
func (u Server) admits(owner Owner) bool {
	return u.AnyOwner || owner.trusted(u.Kind) || u.Admits != nil && owner.UID != unknownOwner && u.Admits(owner)
}

// foreignError refuses a server that another user runs.
type foreignError struct{ owner Owner }

func (e foreignError) Error() string { return e.fault().Message }

// fault names the server's owner, and the way to use the server nevertheless.
func (e foreignError) fault() *fault.Fault {
	f := fault.New(fault.Refused, "%s runs as another user of this machine, who would see your prompts", printable(e.owner.String()))
	if e.owner.UID == unknownOwner {
		f = fault.New(fault.Refused, "%s may belong to another user of this machine, who would see your prompts", printable(e.owner.String()))
	} else {
		f = f.Hint("aibox models   # on a terminal: asks whether you trust it, and remembers the answer")
	}
	return f.Hint("aibox run --inference http://%s …   # uses it regardless of its owner", printable(e.owner.Address))
}

// dial connects to the server, and refuses another user's server at its address. A proxy in
// the user's settings may belong to anyone, since it connects to a remote server.
func (u Server) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil || u.AnyOwner || !peer.Local(conn) {
		return conn, err
	}
	proxy, err := u.findProxy(&http.Request{URL: u.Base()})
	if err == nil && proxy != nil {
		return conn, nil
	}
	if owner := ownerOf(conn, address); !u.admits(owner) {
		return nil, errors.Join(foreignError{owner}, conn.Close())
	}
	return conn, nil
}

// hostPort returns the server's address.
func (u Server) hostPort() string {
	base := u.Base()
	port := base.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[base.Scheme]
	}
	return net.JoinHostPort(base.Hostname(), port)
}

// UntrustedOwner returns the server that value ("auto", "ollama") selects but that is not
// used because of its owner, so that the caller can ask about it. ok is false if there is
// none, or if another server is used instead. It takes at most half a second.
func UntrustedOwner(ctx context.Context, value string, env func(string) (string, bool), admits func(Owner) bool) (owner Owner, ok bool) {
	all := serversToProbe(env)
	switch value {
	case "auto", "":
	case "ollama":
		all = all[:1]
	default:
		return Owner{}, false
	}
	if !slices.ContainsFunc(all, localServer.mayBeForeign) {
		return Owner{}, false
	}
	local := detectLocal(ctx, all, env, admits)
	skipped := local.skipped
	if len(local.found) > 0 || local.loading != nil || len(skipped) == 0 || skipped[0].UID == unknownOwner {
		return Owner{}, false
	}
	return skipped[0], true
}

// mayBeForeign reports whether another user may listen at the server's address. It is a
// cheap check, without a request, of whether to check further.
func (l localServer) mayBeForeign() bool {
	root, err := url.Parse(l.root)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddrPort(root.Host)
	if err != nil {
		return true
	}
	if !address.Addr().IsLoopback() && !isLocalAddress(address.Addr()) {
		return false
	}
	uid, err := peer.Listener(address)
	return err == nil && int64(uid) != int64(os.Getuid())
}

// isLocalAddress reports whether an interface of this machine has the address.
func isLocalAddress(address netip.Addr) bool {
	all, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == address.Unmap()
	})
}

// OtherOwner returns the owner of a server on this machine that the user has named by its
// URL, if that is another user. ok is false for every other server.
func OtherOwner(ctx context.Context, u Server) (owner Owner, ok bool) {
	if !u.AnyOwner || u.URL == nil {
		return Owner{}, false
	}
	dialer := &net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", u.hostPort())
	if err != nil {
		return Owner{}, false // the next request reports it
	}
	defer conn.Close()
	if !peer.Local(conn) {
		return Owner{}, false
	}
	owner = ownerOf(conn, u.hostPort())
	return owner, !owner.trusted(u.Kind)
}
