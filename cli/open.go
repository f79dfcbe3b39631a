package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/browser"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/ports"

	"github.com/spf13/cobra"
)

// openOptions is one call of `aibox open`.
type openOptions struct {
	*cli
	local   int
	address string
	browser bool
	json    bool
}

func newOpenCommand(a *cli) *cobra.Command {
	o := openOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "open ID [PORT]",
		Short: "Open a port of a running sandbox on this machine",
		Long: `Make a port of a running sandbox reachable on this machine's loopback, such as that of
a dev server: HTTP, WebSockets and any other protocol over TCP. It stays open until
ctrl-c, or until the session ends. Servers on the sandbox's own loopback are reached,
too. The sandbox gets no route, and this works under every network policy.

Without a port, list the ports on which programs in the sandbox listen.

Only your own processes can connect. A page in your browser counts as one of them, so
the server in the sandbox is as exposed to other pages as any dev server on this
machine, and its pages run in your browser.`,
		Example: `  aibox open 0dq4f
  aibox open 0dq4f 3000 --browser
  aibox open 0dq4f 3000 --local 8080`,
		Args:              sessionAndPort,
		ValidArgsFunction: a.complete.sessionAndPort,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := o.checkList(cmd, args[0]); err != nil {
					return err
				}
				return o.list(cmd.Context(), args[0])
			}
			return o.run(cmd.Context(), args[0], args[1], cmd.Flags().Changed("local"))
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.local, "local", 0, "the `PORT` on this machine; 0 is any free one (default: the same number, or a free one)")
	flags.StringVar(&o.address, "address", "127.0.0.1", "the loopback `ADDRESS` on this machine, such as ::1")
	flags.BoolVar(&o.browser, "browser", false, "open it in your browser")
	flags.BoolVar(&o.json, "json", false, "print lines of JSON")
	return cmd
}

// sessionAndPort accepts a session id and perhaps a port.
func sessionAndPort(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 {
		return nil
	}
	return fault.New(fault.Usage, "%s takes a session id and a port", cmd.CommandPath()).
		Hint("`%s 0dq4f` lists the ports on which programs in the sandbox listen", cmd.CommandPath())
}

// checkList refuses flags for a port that the user has not named.
func (o *openOptions) checkList(cmd *cobra.Command, id string) error {
	for _, name := range []string{"local", "address", "browser"} {
		if cmd.Flags().Changed(name) {
			return fault.New(fault.Usage, "--%s is for opening a port, which is missing after the session id", name).
				Hint("`aibox open %s` lists the ports on which programs in the sandbox listen", id)
		}
	}
	return nil
}

// listeningPort is a port with the addresses on which programs listen.
type listeningPort struct {
	Port      uint16   `json:"port"`
	Addresses []string `json:"addresses"`
}

// portsOf groups sockets by their port.
func portsOf(listening []ports.Listening) []listeningPort {
	grouped := []listeningPort{}
	for _, l := range listening {
		if n := len(grouped); n == 0 || grouped[n-1].Port != l.Port {
			grouped = append(grouped, listeningPort{Port: l.Port})
		}
		last := &grouped[len(grouped)-1]
		last.Addresses = append(last.Addresses, l.Address.String())
	}
	return grouped
}

// list prints the ports on which programs in the sandbox listen.
func (o *openOptions) list(ctx context.Context, text string) error {
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	listening, err := service.Ports(ctx, found.ID)
	if err != nil {
		return err
	}
	all := portsOf(listening)
	if o.json {
		return printJSON(o.out, map[string]any{"session": found.ID, "ports": all})
	}
	if len(all) == 0 {
		fmt.Fprintf(o.err, "no program in the sandbox of %s listens on a port\n", found.ID)
		return nil
	}
	var rows [][]string
	for _, l := range all {
		rows = append(rows, []string{strconv.Itoa(int(l.Port)), strings.Join(l.Addresses, ", ")})
	}
	return o.overview("PORT\tADDRESSES", rows)
}

// run opens a port until ctx or the session ends.
func (o *openOptions) run(ctx context.Context, text, port string, localGiven bool) error {
	request, err := o.request(text, port, localGiven)
	if err != nil {
		return err
	}
	if o.json {
		o.printJSONLines()
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	opened, open := false, openedPort{openOptions: o, session: found.ID, request: request}
	err = service.OpenPort(ctx, found.ID, request, func(u ports.Update) error {
		opened = opened || u.Address != ""
		return open.show(ctx, u)
	})
	if errors.Is(err, context.Canceled) && opened {
		return nil // ctrl-c is the way to close it
	}
	return err
}

// request returns the request for a port of the session that text names.
func (o *openOptions) request(text, port string, localGiven bool) (ports.Request, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ports.Request{}, fault.New(fault.Usage, "%q is not a port: use a number from 1 to 65535", port).
			Hint("`aibox open %s` lists the ports on which programs in the sandbox listen", text)
	}
	request := ports.Request{Port: uint16(number), Local: ports.AnyLocal}
	if localGiven {
		if request.Local = o.local; o.local < 0 {
			return ports.Request{}, fault.New(fault.Usage, "--local %d is not a port: use a number from 1 to 65535, or 0 for a free one", o.local)
		}
	}
	address := o.address
	if address == "localhost" {
		address = "127.0.0.1"
	}
	if request.Address, err = netip.ParseAddr(address); err != nil {
		return ports.Request{}, fault.New(fault.Usage, "--address %q is not an IP address", o.address).Hint("use 127.0.0.1 or ::1")
	}
	return request, request.Check()
}

// openedPort prints what happens to an open port.
type openedPort struct {
	*openOptions
	session session.ID
	request ports.Request
}

func (p *openedPort) show(ctx context.Context, u ports.Update) error {
	switch {
	case u.Address != "":
		return p.showAddress(ctx, u.Address)
	case u.Notice != "" && p.json:
		return encodeJSON(p.out, u, "")
	case u.Notice != "":
		fmt.Fprintln(p.err, notice(u.Notice))
	case u.Counts != nil && p.json:
		return encodeJSON(p.out, u.Counts, "")
	case u.Counts != nil:
		fmt.Fprintf(p.err, "the session has ended: %s, %s sent, %s received\n",
			amount.Of(u.Counts.Connections, "connection"), amount.Bytes(u.Counts.Sent), amount.Bytes(u.Counts.Received))
	}
	return nil
}

func (p *openedPort) showAddress(ctx context.Context, address string) error {
	page := "http://" + address
	if p.json {
		err := encodeJSON(p.out, map[string]any{"session": p.session, "port": p.request.Port, "address": address, "url": page}, "")
		if err != nil {
			return err
		}
	} else {
		fmt.Fprintln(p.out, page)
		if _, local, _ := net.SplitHostPort(address); p.request.Local == ports.AnyLocal && local != strconv.Itoa(int(p.request.Port)) {
			fmt.Fprintf(p.err, "port %d of this machine is taken or privileged, so this is a free one\n", p.request.Port)
		}
		fmt.Fprintf(p.err, "leads to port %d in the sandbox of %s until ctrl-c\n", p.request.Port, p.session)
	}
	if !p.browser {
		return nil
	}
	if err := browser.Open(ctx, page); err != nil {
		p.report(err) // the port is open nevertheless
	}
	return nil
}
