package peer

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"aibox/internal/peer/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m) }

// listeners are the ways to listen on this machine, and the address to dial for each.
var listeners = map[string]struct{ network, listen, dial string }{
	"127.0.0.1":             {"tcp4", "127.0.0.1:0", "127.0.0.1"},
	"another loopback":      {"tcp4", "127.0.0.9:0", "127.0.0.9"},
	"every IPv4 address":    {"tcp4", "0.0.0.0:0", "127.0.0.1"},
	"::1":                   {"tcp6", "[::1]:0", "::1"},
	"every address, by v4":  {"tcp", "[::]:0", "127.0.0.1"},
	"every address, by v6":  {"tcp", "[::]:0", "::1"},
	"every IPv6 address":    {"tcp6", "[::]:0", "::1"},
	"mapped into IPv6":      {"tcp", "[::]:0", "::ffff:127.0.0.1"},
	"127.0.0.1 from itself": {"tcp4", "127.0.0.1:0", "127.0.0.1"},
}

var tables = map[string]table{"sock_diag": diag{}, "/proc/net": procfs{"/proc/net"}}

func TestOwnerOfALocalServerIsFound(t *testing.T) {
	for how, l := range listeners {
		for name, table := range tables {
			t.Run(how+" by "+name, func(t *testing.T) {
				listener, err := net.Listen(l.network, l.listen)
				must(t, err)
				defer listener.Close()
				_, port, _ := net.SplitHostPort(listener.Addr().String())
				conn, err := net.Dial("tcp", net.JoinHostPort(l.dial, port))
				must(t, err)
				defer conn.Close()
				here, there, err := ends(conn)
				must(t, err)
				if !Local(conn) {
					t.Fatal("it does not count as local")
				}
				// First before the connection is accepted, then after.
				expect(t, table, here, there, uint32(os.Getuid()))
				accepted, err := listener.Accept()
				must(t, err)
				defer accepted.Close()
				expect(t, table, here, there, uint32(os.Getuid()))
				if s, err := table.connected(there, here); err != nil || s.inode == 0 {
					t.Fatalf("the accepted socket is %+v, %v", s, err)
				}
			})
		}
	}
}

func expect(t *testing.T, table table, here, there netip.AddrPort, want uint32) {
	t.Helper()
	if uid, err := owner(table, here, there); err != nil || uid != want {
		t.Fatalf("owner %d, %v; want %d", uid, err, want)
	}
}

// A listener in a user namespace of subordinate ids has another uid on the host, so it is
// another user to the kernel.
func TestAnotherUsersServerIsNotUsed(t *testing.T) {
	address := peertest.Start(t).Address
	uid, err := Listener(address)
	if err != nil || uid == uint32(os.Getuid()) {
		t.Fatalf("the listener is %d, %v", uid, err)
	}
	conn, err := net.Dial("tcp", address.String())
	must(t, err)
	defer conn.Close()
	here, there, err := ends(conn)
	must(t, err)
	for name, table := range tables {
		if got, err := owner(table, here, there); err != nil || got != uid {
			t.Errorf("%s: owner %d, %v; want %d", name, got, err, uid)
		}
	}
	if got, err := Owner(conn); err != nil || got != uid {
		t.Errorf("the owner is %d, %v; want %d", got, err, uid)
	}
}

// The other user accepts the connection and closes its listening socket, and this user's
// server takes the port. The connection still belongs to the other user.
func TestAcceptedConnectionStaysWithItsAcceptor(t *testing.T) {
	here := netip.MustParseAddrPort("127.0.0.1:40000")
	there := netip.MustParseAddrPort("127.0.0.1:8080")
	accepted := socket{local: there, remote: here, uid: 1001, inode: 7}
	waiting := socket{local: there, remote: here}
	own := socket{local: there, listens: true, uid: 1000, inode: 8}
	for name, test := range map[string]struct {
		states []socket
		want   uint32
		fails  bool
	}{
		"accepted before":                {states: []socket{accepted}, want: 1001},
		"accepted while looking":         {states: []socket{waiting, accepted}, want: 1001},
		"waiting all the time":           {states: []socket{waiting, waiting}, want: 1000},
		"reset while looking":            {states: []socket{waiting}, fails: true},
		"never there, only the listener": {fails: true},
	} {
		uid, err := owner(&scripted{states: test.states, listening: own}, here, there)
		if test.fails != errors.Is(err, ErrUnknown) || !test.fails && uid != test.want {
			t.Errorf("%s: %d, %v", name, uid, err)
		}
	}
}

// scripted is a table that returns these results in turn.
type scripted struct {
	states    []socket
	listening socket
}

func (s *scripted) connected(_, _ netip.AddrPort) (socket, error) {
	if len(s.states) == 0 {
		return socket{}, ErrUnknown
	}
	next := s.states[0]
	s.states = s.states[1:]
	return next, nil
}

func (s *scripted) listener(netip.AddrPort) (socket, error) { return s.listening, nil }

func TestMissingConnectionHasNoOwner(t *testing.T) {
	here, there := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	for name, table := range tables {
		if uid, err := owner(table, here, there); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %d, %v", name, uid, err)
		}
	}
}

func TestUnreadableProcTablesGiveNoOwner(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(uid string) string {
		return "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 " + uid + " 0 12345 1\n"
	}
	address := netip.MustParseAddrPort("127.0.0.1:8080")
	for name, test := range map[string]struct {
		table string
		fails bool
	}{
		"one":       {head + line("1000"), false},
		"two users": {head + line("1000") + line("1001"), true},
		"garbage":   {head + "0: nonsense\n", true},
		"no uid":    {head + line("x"), true},
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "tcp"), []byte(test.table), 0o600))
		s, err := procfs{dir}.listener(address)
		if test.fails != errors.Is(err, ErrUnknown) || !test.fails && s.uid != 1000 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if _, err := (procfs{t.TempDir()}).listener(address); !errors.Is(err, ErrUnknown) {
		t.Errorf("without tables: %v", err)
	}
}

func FuzzProcTableLine(f *testing.F) {
	f.Add("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 12345 1")
	f.Fuzz(func(_ *testing.T, line string) { _, _ = readLine(line) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
